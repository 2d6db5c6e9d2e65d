/** What is being entered: kept in this browser at once, at the lab a moment later. */
import { Unreachable } from "./api.js";
import { forget, recall, remember } from "./memory.js";

const WAIT_MS = 800;
const AGAIN_MS = 5000;

/**
 * Keeps the values of one form. What the browser still holds is newer than what the lab has.
 * @template Values
 * @param {string} key
 * @param {((values: Values) => Promise<any>) | undefined} save
 */
export function keeper(key, save) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  let isOver = false;

  /** @param {Values} values @param {number} wait */
  function later(values, wait) {
    clearTimeout(waiting);
    waiting = setTimeout(() => void send(values), wait);
  }

  /** @param {Values} values */
  async function send(values) {
    try {
      await save?.(values);
      if (recall(key) === JSON.stringify(values)) forget(key);
    } catch (error) {
      if (error instanceof Unreachable && !isOver && recall(key) === JSON.stringify(values)) later(values, AGAIN_MS);
    }
  }

  return {
    /** What the lab lacks. @returns {Values | null} */
    unsaved() {
      try {
        return JSON.parse(recall(key) ?? "null");
      } catch {
        return null;
      }
    },
    /** @param {Values} values */
    keep(values) {
      remember(key, JSON.stringify(values));
      if (save) later(values, WAIT_MS);
    },
    /** The answer is given. */
    drop() {
      isOver = true;
      clearTimeout(waiting);
      forget(key);
    },
  };
}
