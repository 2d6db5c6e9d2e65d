/** One experiment: its name and state, what can be done with it, and its pages. */
import { h, html, useEffect, useRef, useState } from "../vendor/preact.js";
import { go } from "./address.js";
import { get, inWords, isMissing } from "./api.js";
import { Board } from "./board.js";
import { BoardState } from "./board_state.js";
import { messageAll } from "./choosing.js";
import { Acts, act, askFirst, change, tell } from "./confirm.js";
import { homeOf } from "./home.js";
import { Lazy } from "./lazy.js";
import { followOne } from "./live.js";
import { Dialog, Empty, Go, Head, Loaded, Press, State, Switch, useLoaded } from "./ui.js";
import { fileOf, isUnsaved } from "./unsaved.js";
import { t, word } from "./words.js";

/** @typedef {{ id: string, experiment: any, board: BoardState, rest: string[], again: () => Promise<void> }} PageProps */

/** @type {Record<string, () => Promise<{ default: any }>>} */
const PAGES = {
  threads: () => import("./threads.js"),
  calls: () => import("./calls.js"),
  file: () => import("./file.js"),
  see: () => import("./see.js"),
  arena: () => import("./arena_editor.js"),
  results: () => import("./results.js"),
  data: () => import("./data.js"),
};

const OF_DRAFTS = ["file", "see", "arena"];
/** The pages that show what happens as it happens. The others are there sooner without the board, which may be long. */
const LIVE = ["", "threads"];

/** @param {{ id: string, rest: string[] }} props */
export default function Experiment({ id, rest }) {
  const [board] = useState(() => new BoardState(id));
  const loaded = useLoaded(() => get(`/experiments/${id}`), [id]);
  const status = board.status.value;
  const isLive = LIVE.includes(rest[0] ?? "");
  const wasLive = useRef(false);
  wasLive.current ||= isLive;
  // The board is followed from the first page on that needs it, and until then only the state of the experiment.
  useEffect(() => (wasLive.current ? board.follow() : followOne(id, (one) => void (board.status.value = one), loaded.again)), [wasLive.current]);
  // What the board hears of the experiment itself is read with it: why it is paused, when it ended. The board may have
  // heard of the end before the first answer comes, which is older.
  const told = loaded.data?.status;
  useEffect(() => void (told !== undefined && status !== null && status !== told && loaded.again()), [status, told]);
  if (isMissing(loaded.error)) return html`<div class="notice error" role="alert"><p>${inWords(loaded.error)}</p><p><a href="/console">${t("Show all experiments")}</a></p></div>`;
  return h(Loaded, { of: loaded, show: (experiment) => html`${h(Top, { experiment, again: loaded.again })}${h(Tabs, { id, here: rest[0] ?? "", isDraft: experiment.status === "draft" })}
    ${h(Shown, { id, experiment, board, rest, again: loaded.again })}${h(Acts, {})}` });
}

/** @param {PageProps} props */
function Shown(props) {
  const [page = ""] = props.rest;
  if (page === "") return h(Board, props);
  if (!(page in PAGES)) return h(Empty, { children: html`<p>${t("There is no such page.")}</p>` });
  return h(Lazy, { key: page, load: PAGES[page], props });
}

/** @param {{ id: string, here: string, isDraft: boolean }} props */
function Tabs({ id, here, isDraft }) {
  /** @type {[string, string][]} */
  const all = [["", t("Board")], ["threads", t("Conversations")], ["calls", t("Calls")], ["file", t("File")], ["see", t("See as")], ["arena", t("Arena")], ["results", t("Results")], ["data", t("Data")]];
  const shown = all.filter(([page]) => (page === "" || page in PAGES) && (isDraft ? OF_DRAFTS.includes(page) : page !== "arena"));
  const nav = useRef(/** @type {HTMLElement | null} */ (null));
  // On a phone some tabs are beyond the edge.
  useEffect(() => nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [here]);
  return html`<nav class="c-tabs" ref=${nav} aria-label=${t("Pages of the experiment")}>
    ${shown.map(([page, name]) => html`<a href=${`/console/e/${id}${page && `/${page}`}`} aria-current=${page === here ? "page" : undefined}>${name}</a>`)}</nav>`;
}

/** @param {{ experiment: any, again: () => Promise<void> }} props */
function Top({ experiment, again }) {
  const { id, name, status, model_mode: mode } = experiment;
  const [isLinked, setLinked] = useState(false);
  const [isInviting, setInviting] = useState(false);
  const to = (/** @type {string} */ verb, /** @type {string} */ done) => act(async () => (await change("POST", `/experiments/${id}/${verb}`), await again()), done);
  async function start() {
    if (isUnsaved(fileOf(id))) return tell(t("The file has changes that are not saved. Save or discard them, then start."), true);
    if (await to("start", t("It runs."))) go(`/console/e/${id}`);
  }
  const archive = () => act(async () => (await change("PATCH", `/experiments/${id}`, { is_archived: !experiment.is_archived }), await again()), experiment.is_archived ? t("It is in the list again.") : t("It is archived."));
  async function copy() {
    await act(async () => go(homeOf(await change("POST", `/experiments/${id}/fork`, {}))), t("This is a draft of its own."));
  }
  return html`${h(Head, { title: name, trail: html`<a href="/console">${t("Experiments")}</a> / ${experiment.study}`, children: html`
    ${h(State, { state: status, children: word(status) })}
    ${status === "draft" ? h(Switch, { label: t("Models"), value: mode, options: [["mock", t("mock")], ["real", t("real models")]], onChoose: (one) => void act(async () => (await change("PATCH", `/experiments/${id}`, { model_mode: one }), await again()), "") }) : html`<span class="c-pill">${word(mode)}</span>`}
    ${status === "draft" ? h(Press, { kind: "primary", icon: "play", onPress: start, children: t("Start") }) : null}
    ${status === "running" || status === "paused" ? h(Press, { icon: "link", onPress: () => setLinked(true), children: t("Link") }) : null}
    ${status !== "ended" ? h(Press, { icon: "list", onPress: () => setInviting(true), children: t("Guests") }) : null}
    ${status === "running" || status === "paused" ? h(Press, { icon: "message", onPress: () => messageAll(experiment), children: t("Message to all") }) : null}
    ${status === "running" ? h(Press, { icon: "pause", onPress: () => to("pause", t("It is paused.")), children: t("Pause") }) : null}
    ${status === "paused" ? h(Press, { kind: "primary", icon: "play", onPress: () => to("resume", t("It goes on.")), children: t("Resume") }) : null}
    ${status === "running" || status === "paused" ? h(Press, { icon: "stop", onPress: () => end(experiment, again), children: t("End") }) : null}
    ${status === "ended" ? h(Go, { to: `/console/e/${id}/data`, icon: "download", children: t("Data") }) : null}
    ${h(Press, { kind: "bare", icon: "copy", onPress: copy, children: t("Copy") })}
    ${status === "draft" || status === "ended" ? h(Press, { kind: "bare", onPress: archive, children: experiment.is_archived ? t("Bring back") : t("Archive") }) : null}
    ${status === "draft" || status === "ended" ? h(Press, { kind: "bare", icon: "trash", onPress: () => remove(experiment), children: t("Delete") }) : null}` })}
    ${h(Why, { experiment })}${status === "draft" ? h(Unsaved, { id }) : null}
    ${isInviting ? h(Dialog, { title: t("Guest list"), onClose: () => setInviting(false), children: h(Lazy, { load: () => import("./guests.js"), props: { experiment } }) }) : null}
    ${isLinked ? h(Dialog, { title: t("The link for people"), onClose: () => setLinked(false), children: h(Lazy, { load: () => import("./link.js"), props: { experiment } }) }) : null}`;
}

/** That the lab does not have what was typed. @param {{ id: string }} props */
function Unsaved({ id }) {
  return isUnsaved(fileOf(id)) ? html`<p class="c-small">${t("The file has changes that are not saved.")} <a href=${`/console/e/${id}/file`}>${t("Open the file")}</a></p>` : null;
}

/** Why an experiment does not go on. @param {{ experiment: any }} props */
function Why({ experiment }) {
  /** @type {Record<string, string>} */
  const reasons = { calls_spent: t("It may make no more calls of models. Raise the limit, then resume."), key_refused: t("A key was refused. Set a valid key, then resume."), lab_stopped: t("The process that ran it was stopped. Resume to go on.") };
  const why = experiment.status === "paused" ? reasons[experiment.pause_reason] : undefined;
  const keys = experiment.paused_keys ?? [];
  return html`${why ? html`<p class="notice warning">${why}</p>` : null}
    ${keys.map((/** @type {any} */ one) => html`<p class="notice warning">${t("The key {key} is refused: {reason} {count} answer waits for it.|The key {key} is refused: {reason} {count} answers wait for it.", { key: one.key, reason: one.reason, count: one.answers })}</p>`)}`;
}

/** @param {any} experiment @param {() => Promise<void>} again */
function end(experiment, again) {
  askFirst({
    title: t("End {name}?", { name: experiment.name }),
    text: t("Conversations close, members who have not finished are removed, and nothing more happens. The data stay. This cannot be undone."),
    act: t("End it"),
    needsReason: true,
    run: async (values) => (await change("POST", `/experiments/${experiment.id}/end`, values), await again()),
  });
}

/** @param {any} experiment */
function remove(experiment) {
  askFirst({
    title: t("Delete {name}?", { name: experiment.name }),
    text: t("The experiment and all its data are deleted. Nothing of it can be had back."),
    act: t("Delete it"),
    needsReason: true,
    run: async (values) => (await change("DELETE", `/experiments/${experiment.id}?reason=${encodeURIComponent(values.reason)}`), go("/console", { isReplacing: true })),
  });
}
