import { h, html } from "parley/preact.js";
import { Asked } from "parley/questions.js";
import { Head } from "parley/ui.js";
import { say } from "parley/words.js";

/** @param {import("parley/page.js").StageProps} stage */
export default function RankingPage(stage) {
  const { view } = stage.page;
  const textOf = (/** @type {string} */ id) => view.candidates.find((/** @type {any} */ one) => one.id === id)?.text ?? id;
  const isOver = stage.page.answer !== null;
  return html`<article>
    ${h(Head, { view })}
    ${view.candidates.length === 0 ? html`<p>${say("nobody_to_rank")}</p>` : null}
    ${isOver && view.ranking.length > 0
      ? html`<section><h2>${say("your_order")}</h2><ol>${view.ranking.map((/** @type {string} */ id) => html`<li key=${id}>${textOf(id)}</li>`)}</ol></section>`
      : null}
    ${h(Asked, { stage })}
  </article>`;
}
