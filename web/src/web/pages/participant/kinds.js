/** The pages of the kinds: each kind's own, where its folder has one, else the page that is made from its forms. */
import { learn } from "../lab/words.js";
import GenericPage from "./generic.js";

/**
 * @typedef {{ default: (stage: import("../lab/page.js").StageProps) => any,
 *   showsItself?: import("../lab/page.js").ShowsItself }} KindModule
 */

/** @type {Map<string, KindModule>} */
const loaded = new Map();

/**
 * The module of the kind's page, and with it the kind's own words. Once it is loaded, `loadedPage` has it.
 * @param {string} kind @param {{ kinds: string[], spoken: Record<string, string[]>, assets: string }} lab
 * @returns {Promise<KindModule>}
 */
export async function loadPage(kind, lab) {
  const known = loaded.get(kind);
  if (known) return known;
  const page = lab.kinds.includes(kind) ? import(`${lab.assets}/kinds/${kind}/page.js`) : { default: GenericPage };
  const [found] = await Promise.all([page, lab.spoken[kind] && learn(`${lab.assets}/kinds/${kind}/words`, lab.spoken[kind])]);
  loaded.set(kind, found);
  return found;
}

/** @param {string} kind @returns {KindModule | null} */
export const loadedPage = (kind) => loaded.get(kind) ?? null;

/**
 * Whether the page shows this event without being read anew, as the kind says (`showsItself` of its module).
 * @param {any} page @param {string} type @param {any} event
 */
export function showsItself(page, type, event) {
  return page !== null && page.view !== null && (loadedPage(page.kind)?.showsItself?.(page, type, event) ?? false);
}
