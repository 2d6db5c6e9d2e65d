import { h, html } from "parley/preact.js";
import { Asked } from "parley/questions.js";
import { Head } from "parley/ui.js";
import { ownWords, say } from "parley/words.js";

/** @param {import("parley/page.js").StageProps} stage */
export default function RevealPage(stage) {
  const { view } = stage.page;
  return html`<article>
    ${h(Head, { view })}
    ${view.items.length === 0 ? html`<p>${say("nothing_known")}</p>` : null}
    ${view.items.map((/** @type {any} */ item, /** @type {number} */ index) => html`<section key=${index}>
      <h2>${item.title}</h2>
      ${item.show === "result"
        ? h(Lines, { lines: item.result })
        : html`<ul class="cards">${item.answers.map((/** @type {any} */ one, /** @type {number} */ at) => html`<li key=${at}>
            ${item.answers.length > 1 ? html`<h3 translate=${one.name == null}>${one.name ?? say("your_answers")}</h3>` : null}
            ${h(Lines, { lines: one.lines })}</li>`)}</ul>`}
    </section>`)}
    ${h(Asked, { stage })}
  </article>`;
}

/** @param {{ lines: any[] }} props */
function Lines({ lines }) {
  if (lines.length === 0) return html`<p class="hint">${say("nothing_known")}</p>`;
  return html`<dl class="answers">${lines.map((line) => html`<div><dt>${ownWords(line.label, line.label_words)}</dt>
    <dd>${ownWords(line.value, line.value_words)}${line.is_correct === null ? null : html` <strong class=${line.is_correct ? "right" : "wrong"}>${say(line.is_correct ? "is_right" : "is_wrong")}</strong>`}</dd></div>`)}</dl>`;
}
