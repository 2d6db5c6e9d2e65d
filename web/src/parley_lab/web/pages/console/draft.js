/** One draft: what an agent would have said, what it was shown, and each attempt at its model. */
import { h, html, useEffect, useRef, useState } from "../vendor/preact.js";
import { ask } from "./address.js";
import { get } from "./api.js";
import { Prompt } from "./prompt.js";
import { Copy, Figure, Loaded, Press, State, Switch, useLoaded } from "./ui.js";
import { inDigits, t, word } from "./words.js";

/** @param {{ id: string }} props */
export function DraftPanel({ id }) {
  const ref = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => ref.current?.focus({ preventScroll: true }), []);
  const close = () => ask({ draft: "" });
  const onKey = (/** @type {KeyboardEvent} */ event) => event.key === "Escape" && close();
  const loaded = useLoaded(() => get(`/drafts/${id}`), [id]);
  return html`<aside class="c-panel" ref=${ref} tabindex="-1" aria-label=${t("Draft")} onKeyDown=${onKey}>
    <span class="c-panel-close">${h(Press, { kind: "bare", icon: "close", label: t("Close"), onPress: close, children: null })}</span>
    ${h(Loaded, { of: loaded, show: (draft) => h(Draft, { id, draft }) })}</aside>`;
}

/** @param {{ id: string, draft: any }} props */
function Draft({ id, draft }) {
  const [view, setView] = useState("prompt");
  const attempts = draft.attempts ?? [];
  const last = attempts.at(-1);
  const sum = (/** @type {string} */ name) => attempts.reduce((/** @type {number} */ all, /** @type {any} */ one) => all + (one[name] ?? 0), 0);
  return html`<p class="c-small">${draft.path}</p><h2>${draft.name || draft.member}</h2>
    <p>${h(State, { state: draft.state, children: word(draft.state) })} <span class="c-small">${word(draft.purpose)}</span></p>
    <dl class="c-figures">${h(Figure, { name: t("model"), value: last?.model_returned ?? last?.model_asked ?? "–" })}${h(Figure, { name: t("attempts"), value: inDigits(attempts.length) })}
      ${h(Figure, { name: t("took"), value: `${inDigits(sum("milliseconds") / 1000)} s` })}${h(Figure, { name: t("tokens"), value: `${inDigits(sum("tokens_in"))} + ${inDigits(sum("tokens_out"))}` })}</dl>
    ${draft.reason ? html`<p class="c-small">${word(draft.reason)}</p>` : null}
    ${saidIn(draft.reply, "text") ? html`<blockquote class="c-would"><span class="c-small">${draft.state === "published" ? t("said") : t("would have said")}</span><br />${saidIn(draft.reply, "text")}</blockquote>` : null}
    ${saidIn(draft.reply, "explanation") ? html`<p class="c-small c-why">${saidIn(draft.reply, "explanation")}</p>` : null}
    ${h(Switch, { label: t("Show"), value: view, options: [["prompt", t("What it was shown")], ["reply", t("Reply ({count} attempt)|Reply ({count} attempts)", { count: attempts.length })]], onChoose: setView })}
    ${view === "prompt" ? h(PromptOf, { id }) : html`${attempts.map((/** @type {any} */ one, /** @type {number} */ index) => h(Attempt, { one, index }))}`}`;
}

/** A part of a reply that is a text; a reply may be of any kind. @param {any} reply @param {string} part */
function saidIn(reply, part) {
  const found = reply?.[part] ?? (part === "text" ? (reply?.message ?? reply?.response) : undefined);
  return typeof found === "string" ? found : "";
}

/** @param {{ id: string }} props */
function PromptOf({ id }) {
  const loaded = useLoaded(() => get(`/drafts/${id}/prompt`), [id]);
  return h(Loaded, { of: loaded, show: (prompt) => h(Prompt, { prompt }) });
}

/** @param {{ one: any, index: number }} props */
function Attempt({ one, index }) {
  const raw = typeof one.raw === "string" ? one.raw : one.raw ? JSON.stringify(one.raw, null, 2) : "";
  return html`<section class="c-attempt"><h3>${t("Attempt {number}", { number: index + 1 })} ${h(State, { state: one.status, children: word(one.status) })}</h3>
    ${one.error ? html`<p class="c-wrong-text">${one.error}</p>` : null}
    <p class="c-small">${[one.model_returned ?? one.model_asked, one.endpoint, one.milliseconds === null ? "" : `${inDigits(one.milliseconds)} ms`, one.cost ? `${one.cost} $` : ""].filter(Boolean).join(" · ")}</p>
    ${raw ? html`<pre class="c-raw" tabindex="0" aria-label=${t("Raw reply")}>${raw}</pre>${h(Copy, { text: raw, children: t("Copy") })}` : null}
    ${one.parsed ? html`<details><summary>${t("As it was read")}</summary><pre class="c-raw" tabindex="0" aria-label=${t("As it was read")}>${JSON.stringify(one.parsed, null, 2)}</pre></details>` : null}</section>`;
}
