/** What is being entered: kept in this browser at once, at the lab a moment later. */
import { isForNow, waitAfter } from "./api.js";
import { forget, recall, remember } from "./memory.js";

const WAIT_MS = 800;
const HURRIED_WAIT_MS = 100;
const HURRY_MS = 2000;
const AGAIN_MS = 5000;
const LONGEST_HAND_OVER_MS = 1000;

/** How to leave to another tab what each form has not saved yet. @type {Set<() => void>} */
const waits = new Set();
/** @type {Set<Promise<void>>} */
const underWay = new Set();
/** How to send what each form waits to send. @type {Set<() => void>} */
const sends = new Set();
let hurriedUntil = 0;

/**
 * Keeps the values of one form. What the browser still holds is newer than what the lab has.
 * @template Values
 * @param {string} key
 * @param {((values: Values) => Promise<any>) | undefined} save
 */
export function keeper(key, save) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  let [isOver, isSending] = [false, false];
  /** @type {(() => void) | null} */
  let sendNow = null;
  let notBefore = 0;

  /** @param {Values} values @param {number} wait */
  function later(values, wait) {
    clearTimeout(waiting);
    sendNow = () => later(values, 0);
    waiting = setTimeout(() => {
      sendNow = null;
      // Of two that are on their way at once, the older one may arrive last.
      if (isSending) return later(values, WAIT_MS);
      const sending = send(values).finally(() => underWay.delete(sending));
      underWay.add(sending);
    }, Math.max(wait, notBefore - performance.now()));
  }

  /** @param {Values} values */
  async function send(values) {
    isSending = true;
    try {
      await save?.(values);
      if (recall(key) === JSON.stringify(values)) forget(key);
    } catch (error) {
      if (!isForNow(error)) return;
      notBefore = performance.now() + waitAfter(error, 0);
      if (!isOver && recall(key) === JSON.stringify(values)) later(values, AGAIN_MS);
    } finally {
      isSending = false;
    }
  }

  function stop() {
    isOver = true;
    clearTimeout(waiting);
    waits.delete(stop);
    sends.delete(hurry);
  }
  waits.add(stop);
  const hurry = () => sendNow?.();
  sends.add(hurry);

  return {
    /** What the lab lacks. @returns {Values | null} */
    unsaved() {
      try {
        return JSON.parse(recall(key) ?? "null");
      } catch {
        return null;
      }
    },
    /** Save what the lab lacks: it was entered without a network, or in another tab. */
    catchUp() {
      const values = this.unsaved();
      if (save && values !== null) later(values, WAIT_MS);
    },
    /** @param {Values} values */
    keep(values) {
      remember(key, JSON.stringify(values));
      if (save && !isOver) later(values, performance.now() < hurriedUntil ? HURRIED_WAIT_MS : WAIT_MS);
    },
    /** The answer is given. */
    drop() {
      stop();
      forget(key);
    },
  };
}

/** The time on the page is almost up: send what waits, and what is entered from now on, at once. */
export function saveNow() {
  hurriedUntil = performance.now() + HURRY_MS;
  for (const send of [...sends]) send();
}

/** From here on another tab saves, which finds in the browser's memory what was entered here; wait for what is sent. */
export async function handOver() {
  for (const stop of [...waits]) stop();
  await Promise.race([Promise.allSettled([...underWay]), new Promise((wake) => setTimeout(wake, LONGEST_HAND_OVER_MS))]);
}
