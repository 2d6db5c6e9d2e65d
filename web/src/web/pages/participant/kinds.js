/** The pages of the kinds: each kind's own, where its folder has one, else the page that is made from its forms. */
import GenericPage from "./generic.js";

/**
 * @typedef {{ default: (stage: import("../lab/page.js").StageProps) => any,
 *   showsItself?: import("../lab/page.js").ShowsItself }} KindModule
 */

/** @type {Map<string, KindModule>} */
const loaded = new Map();

/**
 * The module of the kind's page. Once it is loaded, `loadedPage` has it.
 * @param {string} kind @param {{ kinds: string[], assets: string }} lab @returns {Promise<KindModule>}
 */
export async function loadPage(kind, lab) {
  const known = loaded.get(kind);
  if (known) return known;
  const found = lab.kinds.includes(kind) ? await import(`${lab.assets}/kinds/${kind}/page.js`) : { default: GenericPage };
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
