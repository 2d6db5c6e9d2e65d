import { Asked } from "parley/questions.js";
import { h, html } from "parley/preact.js";
import { Details, Head, Text } from "parley/ui.js";
import { ownWords, say } from "parley/words.js";

/** @param {import("parley/page.js").StageProps} stage */
export default function InterviewPage(stage) {
  const { view } = stage.page;
  const isNotInForm = (/** @type {any} */ one) => stage.page.forms.every((/** @type {any} */ form) => form.key !== one.key);
  const background = [view.context, view.treatment, view.role_description].filter((one) => one !== "");
  return html`<article>
    ${h(Head, { view })}
    ${view.role ? html`<p>${say("your_role")}: <strong>${view.role}</strong></p>` : null}
    ${background.length > 0 ? h(Details, { summary: say("more_information"), isOpen: true, children: h(Text, { text: background.join("\n\n") }) }) : null}
    ${h(Lines, { view })}
    ${view.questions.filter(isNotInForm).map((/** @type {any} */ one) => html`<div key=${one.key} class="asked" role="status">${h(Text, { text: one.text })}</div>`)}
    ${h(Asked, { stage })}
  </article>`;
}

/** @param {{ view: any }} props */
function Lines({ view }) {
  if (view.transcript.length === 0) return null;
  return html`<section><h2>${say("messages")}</h2>
    <div class="log" role="log" tabindex="0" aria-label=${say("messages")}>
      ${view.transcript.map((/** @type {any} */ line) => html`<article class=${line.read_out ? "message read-out" : line.role === view.role ? "message own" : "message"}>
        <p class="author">${ownWords(line.role, line.role_words)}${line.to ? ` → ${line.to}` : ""}${line.role === view.role ? html` <span class="you">${say("you")}</span>` : null}</p>
        <p class="said">${ownWords(line.text, line.text_words)}</p></article>`)}
    </div></section>`;
}
