/** Images, sound, films and links beside texts. */
import { html } from "../vendor/preact.js";
import { say } from "./words.js";

/** @typedef {{ type: "image" | "sound" | "film" | "link", address: string, alt: string, caption: string }} Medium */

/** @param {{ media: Medium[] }} props */
export function Media({ media }) {
  return html`${media.map(
    (one) => html`<figure class="medium">${content(one)}${one.caption ? html`<figcaption>${one.caption}</figcaption>` : null}</figure>`,
  )}`;
}

/** @param {Medium} medium */
function content({ type, address, alt }) {
  switch (type) {
    case "image":
      return html`<img src=${address} alt=${alt} />`;
    case "sound":
      return html`<audio controls preload="metadata" src=${address} aria-label=${alt}></audio>`;
    case "film":
      return html`<video controls preload="metadata" src=${address} aria-label=${alt}></video>`;
    default:
      return html`<a href=${address} target="_blank" rel="noopener noreferrer">${alt} <span class="optional">${say("in_a_new_tab")}</span></a>`;
  }
}

/** The image of an option. @param {{ image?: { address: string, alt: string } }} props */
export function OptionImage({ image }) {
  return image ? html`<img class="option-image" src=${image.address} alt=${image.alt} />` : null;
}
