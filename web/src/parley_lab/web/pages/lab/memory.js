/** What this browser remembers between page loads. Private windows may refuse; then it is kept for this page alone. */

/** Texts that the browser refuses to keep. Another tab may clear all others: a copy here would be older than its text. @type {Map<string, string>} */
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
  const own = kept.get(key);
  if (own !== undefined) return own;
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** @param {string} key @param {string} value */
export function remember(key, value) {
  try {
    localStorage.setItem(key, value);
    kept.delete(key);
  } catch {
    kept.set(key, value);
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
