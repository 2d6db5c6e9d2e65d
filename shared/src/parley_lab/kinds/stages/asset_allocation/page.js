import { h, html, useState } from "parley/preact.js";
import { Asked } from "parley/questions.js";
import { Head } from "parley/ui.js";
import { say } from "parley/words.js";

/** @param {import("parley/page.js").StageProps} stage */
export default function AllocationPage(stage) {
  const { view, forms } = stage.page;
  const [entered, setEntered] = useState(/** @type {Record<string, any>} */ ({}));
  const isAsked = forms.length > 0;
  // What is typed may be no number yet.
  const numberOf = (/** @type {string} */ name) => (typeof entered[name] === "number" ? entered[name] : null);
  const first = isAsked ? numberOf("share") : view.assets[0].share;
  const shares = view.assets.length === 2
    ? [first, first === null ? null : 100 - first]
    : view.assets.map((/** @type {any} */ asset) => (isAsked ? numberOf(asset.id) : asset.share));
  return html`<article>
    ${h(Head, { view })}
    <p>${view.is_usual_question ? say("divide_money") : view.question}</p>
    <ul class="cards shares">${view.assets.map((/** @type {any} */ asset, /** @type {number} */ index) => html`<li key=${asset.id}>
      <p class="sum"><span>${asset.name}</span> <strong>${shares[index] === null ? "–" : `${shares[index]} %`}</strong></p>
      <meter min="0" max="100" value=${shares[index] ?? 0} aria-label=${asset.name}></meter></li>`)}</ul>
    ${h(Asked, { stage, onChange: setEntered })}
  </article>`;
}
