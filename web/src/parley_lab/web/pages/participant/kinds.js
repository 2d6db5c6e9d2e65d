/** The pages of the kinds: each kind's own, where its folder has one, else the page that is made from its forms. */
import { LONGEST_WAIT_MS } from "../lab/api.js";
import { learn } from "../lab/words.js";
import GenericPage from "./generic.js";

/**
 * @typedef {{ default: (stage: import("../lab/page.js").StageProps) => any,
 *   showsItself?: import("../lab/page.js").ShowsItself }} KindModule
 */

/** @type {Map<string, KindModule>} */
const loaded = new Map();
/** @type {Map<string, Promise<KindModule>>} */
const loading = new Map();
let failures = 0;

/**
 * The module of the kind's page, and with it the kind's own words. Once it is loaded, `loadedPage` has it; if that fails,
 * it can be asked for again.
 * @param {string} kind @param {{ kinds: string[], spoken: Record<string, string[]>, assets: string }} lab
 * @returns {Promise<KindModule>}
 */
export function loadPage(kind, lab) {
  const found = loading.get(kind) ?? fetchPage(kind, lab);
  loading.set(kind, found);
  return found;
}

/** @param {string} kind @param {{ kinds: string[], spoken: Record<string, string[]>, assets: string }} lab */
async function fetchPage(kind, lab) {
  // Some browsers remember an address whose script did not come.
  const again = failures > 0 ? `?again=${failures}` : "";
  const page = lab.kinds.includes(kind) ? import(`${lab.assets}/kinds/${kind}/page.js${again}`) : { default: GenericPage };
  const words = lab.spoken[kind] && learn(`${lab.assets}/kinds/${kind}/words`, lab.spoken[kind]);
  const isLate = new Promise((_, fail) => setTimeout(() => fail(new Error(`The page of ${kind} does not come.`)), LONGEST_WAIT_MS));
  try {
    const [found] = await Promise.race([Promise.all([page, words]), /** @type {Promise<never>} */ (isLate)]);
    loaded.set(kind, found);
    return found;
  } catch (error) {
    failures += 1;
    loading.delete(kind);
    throw error;
  }
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
