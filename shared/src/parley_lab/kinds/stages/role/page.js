import { h, html } from "parley/preact.js";
import { Asked } from "parley/questions.js";
import { Head, Text } from "parley/ui.js";
import { say } from "parley/words.js";

/** @param {import("parley/page.js").StageProps} stage */
export default function RolePage(stage) {
  const { view } = stage.page;
  return html`<article>
    ${h(Head, { view })}
    ${view.role
      ? html`<section class="card"><p class="hint">${say("your_role")}</p><h2>${view.role.name}</h2>${h(Text, { text: view.role.lines.join("\n") })}</section>`
      : view.is_drawn
        ? html`<p>${say("no_role")}</p>`
        : null}
    ${h(Asked, { stage })}
  </article>`;
}
