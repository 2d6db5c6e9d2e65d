import { h, html, useState } from "parley/preact.js";
import { Asked } from "parley/questions.js";
import { Head, Name } from "parley/ui.js";
import { say } from "parley/words.js";

/** @param {import("parley/page.js").StageProps} stage */
export default function ProfilePage(stage) {
  const { view, forms } = stage.page;
  const [entered, setEntered] = useState(/** @type {Record<string, any>} */ ({}));
  const text = (/** @type {string} */ name) => (forms.length > 0 && entered[name] !== undefined ? String(entered[name]).trim() : view[name]);
  const shown = { name: text("name"), avatar: text("avatar"), pronouns: text("pronouns") };
  return html`<article>
    ${h(Head, { view })}
    <figure class="preview">
      <figcaption class="hint">${say("others_see_you")}</figcaption>
      <p class="author" role="status">${h(Name, { profile: shown })}</p>
    </figure>
    ${h(Asked, { stage, onChange: setEntered })}
  </article>`;
}
