/** What the documents of participants begin with: their words, and the place where the page goes. */
import { render } from "../vendor/preact.js";
import { speakAtOnce } from "../lab/words.js";

/** The code of the link by which the participant joined: both documents have it in their address, but for `/take`. */
export const code = decodeURIComponent(location.pathname.split("/")[2] ?? "");

/** What the participant's token is remembered under; another study in this browser has one of its own. */
export const placeKey = code ? `parley.token.${code}` : "parley.token";

const inDocument = (/** @type {string} */ id) => JSON.parse(document.getElementById(id)?.textContent ?? "{}");

/** @param {(lab: any) => any} show the page, given what the document says of the lab */
export function start(show) {
  const lab = inDocument("lab");
  speakAtOnce(lab.language, inDocument("words"));
  const root = /** @type {HTMLElement} */ (document.getElementById("page"));
  root.replaceChildren();
  render(show(lab), root);
  import("../lab/translated.js").then((translated) => translated.watchTranslation(), () => {});
}
