/** How the pages of an experiment look: one colour, a logo and own words, as the experiment file says. */
import { html } from "../vendor/preact.js";
import { sayInstead } from "./words.js";

/**
 * @typedef {{ logo: string | null, logo_text: string, words: Record<string, string>,
 *   accent: { light: string, on_light: string, dark: string, on_dark: string } | null }} Appearance
 */

/** @param {Appearance} appearance */
export function takeOn({ accent, words }) {
  sayInstead(words);
  if (accent === null) return;
  const style = document.documentElement.style;
  style.setProperty("--accent-light", accent.light);
  style.setProperty("--on-accent-light", accent.on_light);
  style.setProperty("--accent-dark", accent.dark);
  style.setProperty("--on-accent-dark", accent.on_dark);
}

/** @param {{ appearance: Appearance | null }} props */
export function Logo({ appearance }) {
  return appearance?.logo ? html`<img class="logo" src=${appearance.logo} alt=${appearance.logo_text} />` : null;
}
