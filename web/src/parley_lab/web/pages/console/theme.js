/** Light or dark, where it is not left to the system. */

const KEPT = "parley.theme";

/** @returns {string} empty: as the system */
export function chosenTheme() {
  try {
    return localStorage.getItem(KEPT) ?? "";
  } catch {
    return "";
  }
}

/** @param {string} theme */
export function chooseTheme(theme) {
  try {
    localStorage.setItem(KEPT, theme);
  } catch {
    // It is as chosen until the page is loaded again.
  }
  show(theme);
}

/** @param {string} theme */
function show(theme) {
  document.documentElement.style.colorScheme = theme || "light dark";
}

show(chosenTheme());
