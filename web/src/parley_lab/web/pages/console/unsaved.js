/** Unsaved text: it stays while one moves about in the console, and the browser asks before it is lost. */
import { signal, useState } from "../vendor/preact.js";
import { signIn } from "./session.js";

/**
 * @typedef {{ text: string, saved: string, tag: string | null }} Text `tag`: of the version that is saved.
 * @typedef {{ shown: import("@preact/signals").Signal<Text>, set: (values: Partial<Text>) => void }} Held
 */

/** @type {Map<string, Held>} */
const texts = new Map();
/** @type {import("@preact/signals").Signal<ReadonlySet<string>>} */
const unsaved = signal(new Set());

/** Another experimenter who signs in here does not see the text. @param {string} place */
const keyOf = (place) => `${signIn.value?.experimenter ?? ""} ${place}`;

/** Whether something is entered there that is not saved. @param {string} place */
export const isUnsaved = (place) => unsaved.value.has(keyOf(place));

/** The file of an experiment, which two pages change. @param {string} id */
export const fileOf = (id) => `file ${id}`;

/**
 * The text of a place: what was entered there and is not saved, else what is saved. All pages that are open or come later share it.
 * @param {string} place @param {string} saved @param {string | null} [tag]
 * @returns {Text & { set: (values: Partial<Text>) => void, newest: () => Text }}
 */
export function useText(place, saved, tag = null) {
  const [{ shown, set }] = useState(() => heldAt(place, { text: saved, saved, tag }));
  return { ...shown.value, set, newest: () => shown.peek() };
}

/** The text that is entered there and not saved; null without one. @param {string} place */
export const unsavedText = (place) => (isUnsaved(place) ? (texts.get(keyOf(place))?.shown.peek().text ?? null) : null);

/** @param {string} place @param {Text} stored @returns {Held} */
function heldAt(place, stored) {
  const key = keyOf(place);
  const found = texts.get(key);
  if (found && unsaved.peek().has(key)) return found;
  const shown = signal(stored);
  const made = {
    shown,
    set(/** @type {Partial<Text>} */ values) {
      shown.value = { ...shown.peek(), ...values };
      if (texts.get(key) === made) mark(key, shown.peek().text !== shown.peek().saved);
    },
  };
  texts.set(key, made);
  return made;
}

/** @param {string} key @param {boolean} isChanged */
function mark(key, isChanged) {
  const before = unsaved.peek();
  if (before.has(key) === isChanged) return;
  unsaved.value = new Set(isChanged ? [...before, key] : [...before].filter((one) => one !== key));
  // Some browsers keep no page in memory that listens to this.
  if (before.size === 0) addEventListener("beforeunload", askFirst);
  if (unsaved.peek().size === 0) removeEventListener("beforeunload", askFirst);
}

/** @param {BeforeUnloadEvent} event */
const askFirst = (event) => event.preventDefault();
