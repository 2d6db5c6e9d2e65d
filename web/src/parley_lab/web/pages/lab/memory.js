/** What this browser remembers between page loads. Private windows may refuse; then it is kept for this page alone. */

/** @type {Map<string, string>} */
const kept = new Map();

/** Whether this browser keeps anything: else a place is lost with the page. */
export function keepsData() {
  try {
    localStorage.setItem("parley.probe", "1");
    localStorage.removeItem("parley.probe");
    return true;
  } catch {
    return false;
  }
}

/** @param {string} key @returns {string | null} */
export function recall(key) {
  try {
    return localStorage.getItem(key) ?? kept.get(key) ?? null;
  } catch {
    return kept.get(key) ?? null;
  }
}

/** @param {string} key @param {string} value */
export function remember(key, value) {
  kept.set(key, value);
  try {
    localStorage.setItem(key, value);
  } catch {
    // Kept for this page.
  }
}

/** Forget all whose key begins like this. @param {string} beginning */
export function forgetAll(beginning) {
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(beginning)) forget(key);
  } catch {
    // They were never there.
  }
  for (const key of [...kept.keys()]) if (key.startsWith(beginning)) kept.delete(key);
}

/** @param {string} key */
export function forget(key) {
  kept.delete(key);
  try {
    localStorage.removeItem(key);
  } catch {
    // It was never there.
  }
}
