import { h, html } from "parley/preact.js";
import { Asked } from "parley/questions.js";
import { Head, Text } from "parley/ui.js";
import { say } from "parley/words.js";

/** @param {import("parley/page.js").StageProps} stage */
export default function TermsPage(stage) {
  const { view } = stage.page;
  return html`<article>
    ${h(Head, { view })}
    ${h(Text, { text: view.lines.join("\n") })}
    ${stage.page.record === "process" ? html`<p class="hint">${say("records_process")}</p>` : null}
    ${view.accepted === null ? null : html`<p><strong>${view.box}</strong> ${say(view.accepted ? "agree" : "do_not_agree")}</p>`}
    ${h(Asked, { stage })}
  </article>`;
}
