/** The one-time code of the address. It leaves the address before anything else runs: import this module first. */

const fragment = new URLSearchParams(location.hash.slice(1));

/** The code with which a terminal signs a browser in; null without one. */
export const code = fragment.get("code");

if (code !== null) history.replaceState(null, "", location.pathname + location.search);
