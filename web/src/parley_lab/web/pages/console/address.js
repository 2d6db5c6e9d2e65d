/** The address says what is shown: reload, back and links work. */
import { signal } from "../vendor/preact.js";

const HOME = "/console";

/** Where the browser is. */
export const address = signal(new URL(location.href));

addEventListener("popstate", () => void (address.value = new URL(location.href)));
addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey && !event.defaultPrevented;
  if (!link || !isPlain || link.target || link.hasAttribute("download") || !isOurs(link)) return;
  event.preventDefault();
  go(link.pathname + link.search);
});

/** @param {HTMLAnchorElement} link */
const isOurs = (link) => link.origin === location.origin && link.hash === "" && (link.pathname === HOME || link.pathname.startsWith(`${HOME}/`));

/** @param {string} to @param {{ isReplacing?: boolean }} [how] `isReplacing`: back does not lead here. */
export function go(to, { isReplacing = false } = {}) {
  if (isReplacing) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  const before = address.value.pathname;
  address.value = new URL(location.href);
  if (before !== address.value.pathname) scrollTo(0, 0);
}

/** One value of the query. @param {string} name */
export const asked = (name) => address.value.searchParams.get(name) ?? "";

/** Change values of the query; an empty one is left out. @param {Record<string, string>} values @param {{ isReplacing?: boolean }} [how] */
export function ask(values, how) {
  go(withQuery(values), how);
}

/** The address with these values of the query. @param {Record<string, string>} values */
export function withQuery(values) {
  const next = new URL(address.value);
  for (const [name, value] of Object.entries(values)) {
    if (value === "") next.searchParams.delete(name);
    else next.searchParams.set(name, value);
  }
  return next.pathname + next.search;
}

/** The parts of the path below `/console`. */
export const parts = () => address.value.pathname.split("/").slice(2).filter(Boolean).map(decodeURIComponent);
