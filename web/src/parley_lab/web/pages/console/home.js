/** The experiments of the experimenter: what each is, what its state is, and whether it needs you. */
import { h, html, useEffect, useRef, useState } from "../vendor/preact.js";
import { ask, asked, go } from "./address.js";
import { query } from "./api.js";
import { Lazy } from "./lazy.js";
import { useList, useNews } from "./lists.js";
import { followAll } from "./live.js";
import { Acts } from "./confirm.js";
import { runDemo } from "./templates.js";
import { Choice, Dialog, Empty, Field, Head, Loaded, Press, State } from "./ui.js";
import { ago, inDigits, t, word } from "./words.js";

const TYPING_MS = 250;
/** Several changes at once are read once. */
const TOGETHER_MS = 500;

/** What is asked of the list: the address has it. */
const wanted = () => ({ name: asked("q"), status: asked("state"), study: asked("study"), sort: asked("sort"), is_archived: asked("archived") === "1" });

/** Where an experiment is opened: a draft on its file, everything else on its board. @param {{ id: string, status: string }} experiment */
export const homeOf = ({ id, status }) => `/console/e/${id}${status === "draft" ? "/file" : ""}`;

export function Home() {
  const asking = wanted();
  const list = useList(`/experiments${query(asking)}`, "experiments");
  const studies = useStudies(list.data?.found ?? []);
  useNews(list, TOGETHER_MS, followAll, []);
  const isEmpty = list.data?.found.length === 0 && asking.name === "" && asking.status === "" && asking.study === "" && !asking.is_archived;
  return html`${h(Head, { title: t("Experiments"), children: isEmpty ? null : h(Press, { kind: "primary", icon: "plus", onPress: () => ask({ new: "1" }), children: t("New experiment") }) })}
    ${isEmpty ? null : h(Filters, { studies })}
    ${h(Loaded, { of: list, show: (data) => (isEmpty ? h(First, {}) : h(List, { experiments: data.found })) })}
    ${list.data?.hasMore ? html`<p>${h(Press, { onPress: list.more, children: t("Show more") })}</p>` : null}
    ${asked("new") ? h(Dialog, { title: t("New experiment"), isWide: true, onClose: () => ask({ new: "" }), children: h(Lazy, { load: () => import("./new.js"), props: {} }) }) : null}${h(Acts, {})}`;
}

/** The studies of several experiments that have been shown here, and the one that is asked for. @param {any[]} experiments @returns {string[]} */
function useStudies(experiments) {
  const known = useRef(/** @type {Set<string>} */ (new Set()));
  for (const { study, name } of experiments) if (study !== name) known.current.add(study);
  return [...new Set([...known.current, asked("study")])].filter(Boolean).sort();
}

/** @param {{ studies: string[] }} props */
function Filters({ studies }) {
  const { name, status, study, sort, is_archived: isArchived } = wanted();
  const [typed, setTyped] = useState(name);
  useEffect(() => {
    const timer = setTimeout(() => typed !== name && ask({ q: typed }, { isReplacing: true }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return html`<div class="c-filters" role="search">
    ${h(Field, { label: t("Find an experiment"), isHidden: true, placeholder: t("Find an experiment"), value: typed, onInput: setTyped, type: "search" })}
    ${h(Choice, { label: t("State"), value: status, options: [["", t("all states")], ["draft", t("draft")], ["running", t("running")], ["paused", t("paused")], ["ended", t("ended")]], onChoose: (state) => ask({ state }, { isReplacing: true }) })}
    ${studies.length ? h(Choice, { label: t("Study"), value: study, options: [["", t("all studies")], ...studies.map((one) => /** @type {[string, string]} */ ([one, one]))], onChoose: (one) => ask({ study: one }, { isReplacing: true }) }) : null}
    ${h(Choice, { label: t("Order"), value: sort, options: SORTS.map(([key, said]) => /** @type {[string, string]} */ ([key, t(said)])), onChoose: (order) => ask({ sort: order }, { isReplacing: true }) })}
    ${h(Press, { kind: "bare", isPressed: isArchived, onPress: () => ask({ archived: isArchived ? "" : "1" }, { isReplacing: true }), children: t("Archived") })}</div>`;
}

/** @type {[string, string][]} */
const SORTS = [["", "the newest first"], ["oldest", "the oldest first"], ["name", "by name"]];

/** A lab without experiments. */
function First() {
  return html`${h(Empty, { children: html`<p>${t("There are no experiments yet.")}</p>
    <p class="c-acts">${h(Press, { kind: "primary", icon: "play", onPress: runDemo, children: t("Run the demo") })}</p>
    <p class="c-small">${t("Eight agents talk about a plan. The mock speaks for them: it costs nothing and takes a few seconds.")}</p>
    <p><a href="/console?new=1">${t("Or begin with a file or a template")}</a></p>` })}`;
}

/** @param {{ experiments: any[] }} props */
function List({ experiments }) {
  if (experiments.length === 0) return h(Empty, { children: html`<p>${t("No experiment is like this.")}</p><p>${h(Press, { onPress: () => go("/console"), children: t("Show all") })}</p>` });
  return html`<ul class="c-list">${experiments.map((one) => h(Line, { key: one.id, one }))}</ul>`;
}

/** @param {{ one: any }} props */
function Line({ one }) {
  const { counts } = one;
  return html`<li class="c-line"><div class="c-line-name"><a href=${homeOf(one)}>${one.name}</a>
      <span class="c-small">${[one.study !== one.name ? one.study : "", t("made {when}", { when: ago(one.created_at) })].filter(Boolean).join(" · ")}</span></div>
    ${h(State, { state: one.status, children: word(one.status) })}<span class="c-pill">${word(one.model_mode)}</span>
    ${counts && one.status !== "draft" ? h(Counts, { one }) : null}
    ${one.alerts_open ? html`<span class="c-pill c-warns">${t("{count} alert|{count} alerts", { count: one.alerts_open })}</span>` : null}</li>`;
}

/** @param {{ one: any }} props */
function Counts({ one }) {
  const { people, agents, through, out, open_seats: open } = one.counts;
  const all = Math.max(1, people + agents + through + out + open);
  const said = [people && t("{count} person|{count} people", { count: people }), agents && t("{count} agent|{count} agents", { count: agents }), through && t("{number} through", { number: through }), out && t("{number} out", { number: out }), one.messages && t("{count} message|{count} messages", { count: one.messages }), one.cost && `${inDigits(one.cost, 4)} $`].filter(Boolean);
  return html`<span class="c-counts"><span class="c-small">${said.join(" · ")}</span>
    <progress max=${all} value=${through} aria-label=${t("{number} of {all} are through", { number: through, all: inDigits(all) })}></progress></span>`;
}
