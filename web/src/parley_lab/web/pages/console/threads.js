/** Conversations: the list of all, or one with what was said and what agents would have said. */
import { h, html } from "../vendor/preact.js";
import { ask, asked } from "./address.js";
import { query } from "./api.js";
import { useList, useNews } from "./lists.js";
import { Choice, Empty, Field, Loaded, Press, State } from "./ui.js";
import { Transcript } from "./transcript.js";
import { atTime, t } from "./words.js";

const TOGETHER_MS = 1000;
/** One does not choose from more groups than these in a list: the panel of a group leads here, too. */
const MOST_GROUPS = 500;

/** @param {import("./experiment.js").PageProps} props */
export default function Threads(props) {
  const thread = props.rest[1];
  return thread ? h(Transcript, { key: thread, ...props, thread }) : h(List, props);
}

/** @param {import("./experiment.js").PageProps} props */
function List({ id, experiment, board }) {
  void board.drawn.value;
  const [stage, cohort, state, q] = [asked("stage"), asked("cohort"), asked("state"), asked("q")];
  const loaded = useList(`/experiments/${id}/threads${query({ stage, cohort, state, q })}`, "threads");
  useNews(loaded, TOGETHER_MS, (soon) => board.hear((type) => void (/^(thread|message)\./.test(type) && soon())), [board]);
  return html`<div class="c-filters" role="search">
      ${h(Field, { label: t("Find words"), isHidden: true, placeholder: t("Find words"), type: "search", value: q, onInput: (words) => ask({ q: words }, { isReplacing: true }) })}
      ${h(Choice, { label: t("Stage"), value: stage, options: [["", t("all stages")], ...stagesOf(board)], onChoose: (one) => ask({ stage: one }, { isReplacing: true }) })}
      ${h(Choice, { label: t("Group"), value: cohort, options: [["", t("all groups")], ...groupsOf(board, cohort)], onChoose: (one) => ask({ cohort: one }, { isReplacing: true }) })}
      ${h(Choice, { label: t("State"), value: state, options: [["", t("all conversations")], ["open", t("going on")], ["ended", t("ended")]], onChoose: (one) => ask({ state: one }, { isReplacing: true }) })}</div>
    ${h(Loaded, { of: loaded, show: ({ found: threads, hasMore }) => threads.length === 0 ? h(Empty, { children: html`<p>${q || state || stage || cohort ? t("No conversation is like this.") : t("No conversation has begun yet.")}</p>` })
      : html`<ul class="c-list">${threads.map((/** @type {any} */ one) => html`<li class="c-line" key=${one.id}><div class="c-line-name"><a href=${`/console/e/${experiment.id}/threads/${one.id}`}>${one.stage || one.stage_id} · ${one.cohort}${one.scope === "group" ? "" : ` · ${one.scope}`}</a>
        <span class="c-small">${[one.author, one.last_words].filter(Boolean).join(": ")}</span></div><span class="c-small">${t("{count} message|{count} messages", { count: one.messages })}</span>
        <span class="c-small">${atTime(one.opened_at)}</span>${h(State, { state: one.ended_at ? "ended" : "running", children: one.ended_at ? t("ended") : t("going on") })}</li>`)}</ul>${hasMore ? html`<p>${h(Press, { onPress: loaded.more, children: t("Show more") })}</p>` : null}` })}`;
}

/** @typedef {import("./board_state.js").BoardState} BoardState */

/** @param {BoardState} board @returns {[string, string][]} */
const stagesOf = (board) => (board.about?.stages ?? []).map((/** @type {any} */ one) => [one.id, one.name]);

/** The groups to choose from; of very many only the chosen one. @param {BoardState} board @param {string} chosen @returns {[string, string][]} */
function groupsOf(board, chosen) {
  const shown = board.groups.size > MOST_GROUPS ? [board.groups.get(chosen)] : [...board.groups.values()].filter((one) => !one.isAlone);
  return shown.flatMap((one) => (one ? [[one.id, one.name]] : []));
}
