/** What the documents of participants begin with: their words, and the place where the page goes. */
import { render } from "../vendor/preact.js";
import { speakAtOnce } from "../lab/words.js";

const inDocument = (/** @type {string} */ id) => JSON.parse(document.getElementById(id)?.textContent ?? "{}");

/** @param {(lab: any) => any} show the page, given what the document says of the lab */
export function start(show) {
  const lab = inDocument("lab");
  speakAtOnce(lab.language, inDocument("words"));
  const root = /** @type {HTMLElement} */ (document.getElementById("page"));
  root.replaceChildren();
  render(show(lab), root);
}
