/** Conversations: the list of all, or one with what was said and what agents would have said. */
import { h, html } from "../vendor/preact.js";
import { ask, asked } from "./address.js";
import { query } from "./api.js";
import { useList, useNews } from "./lists.js";
import { Choice, Empty, Field, Loaded, Press, State } from "./ui.js";
import { Transcript } from "./transcript.js";
import { atTime, t } from "./words.js";

const TOGETHER_MS = 1000;

/** @param {import("./experiment.js").PageProps} props */
export default function Threads(props) {
  const thread = props.rest[1];
  return thread ? h(Transcript, { key: thread, ...props, thread }) : h(List, props);
}

/** @param {import("./experiment.js").PageProps} props */
function List({ id, experiment, board }) {
  const [stage, state, q] = [asked("stage"), asked("state"), asked("q")];
  const loaded = useList(`/experiments/${id}/threads${query({ stage, state, q })}`, "threads");
  useNews(loaded, TOGETHER_MS, (soon) => board.hear((type) => void (/^(thread|message)\./.test(type) && soon())), [board]);
  return html`<div class="c-filters" role="search">
      ${h(Field, { label: t("Find words"), isHidden: true, placeholder: t("Find words"), type: "search", value: q, onInput: (words) => ask({ q: words }, { isReplacing: true }) })}
      ${h(Choice, { label: t("State"), value: state, options: [["", t("all conversations")], ["open", t("going on")], ["ended", t("ended")]], onChoose: (one) => ask({ state: one }, { isReplacing: true }) })}</div>
    ${h(Loaded, { of: loaded, show: ({ found: threads, hasMore }) => threads.length === 0 ? h(Empty, { children: html`<p>${q || state || stage ? t("No conversation is like this.") : t("No conversation has begun yet.")}</p>` })
      : html`<ul class="c-list">${threads.map((/** @type {any} */ one) => html`<li class="c-line" key=${one.id}><div class="c-line-name"><a href=${`/console/e/${experiment.id}/threads/${one.id}`}>${one.stage || one.stage_id} · ${one.cohort}${one.scope === "group" ? "" : ` · ${one.scope}`}</a>
        <span class="c-small">${[one.author, one.last_words].filter(Boolean).join(": ")}</span></div><span class="c-small">${t("{count} message|{count} messages", { count: one.messages })}</span>
        <span class="c-small">${atTime(one.opened_at)}</span>${h(State, { state: one.ended_at ? "ended" : "running", children: one.ended_at ? t("ended") : t("going on") })}</li>`)}</ul>${hasMore ? html`<p>${h(Press, { onPress: loaded.more, children: t("Show more") })}</p>` : null}` })}`;
}
