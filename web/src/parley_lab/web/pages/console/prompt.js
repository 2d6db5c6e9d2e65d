/** What a model is shown, as messages. */
import { h, html } from "../vendor/preact.js";
import { Copy } from "./ui.js";
import { inDigits, t, word } from "./words.js";

/** All of a prompt as one text. @param {any} prompt @returns {string} */
export const textOf = (prompt) => prompt.messages.map((/** @type {any} */ one) => `## ${one.role}\n\n${one.content}`).join("\n\n");

/** @param {{ prompt: any }} props */
export function Prompt({ prompt }) {
  const text = textOf(prompt);
  return html`<div class="c-prompt"><p class="c-small">${prompt.was_sent ? t("Sent exactly so.") : t("Not sent yet: as it would be now.")} ${t("{number} characters", { number: inDigits(text.length) })}${prompt.left_out ? html` · ${t("{count} old message is left out|{count} old messages are left out", { count: prompt.left_out })}` : null} ${h(Copy, { text, children: t("Copy") })}</p>
    ${prompt.messages.map((/** @type {any} */ one) => html`<section><h3>${word(one.role)}</h3><pre tabindex="0" aria-label=${word(one.role)}>${one.content}</pre></section>`)}
    ${prompt.reply_schema ? html`<details><summary>${t("The form of the reply")}</summary><pre tabindex="0" aria-label=${t("The form of the reply")}>${JSON.stringify(prompt.reply_schema, null, 2)}</pre></details>` : null}</div>`;
}
