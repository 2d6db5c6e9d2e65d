/** One conversation: what was said, and beside each message the agents that were asked. */
import { h, html, useState } from "../vendor/preact.js";
import { asked, withQuery } from "./address.js";
import { all, get, post } from "./api.js";
import { askFirst } from "./confirm.js";
import { DraftPanel } from "./draft.js";
import { useNews } from "./lists.js";
import { Steps } from "./replay.js";
import { Figure, Loaded, Press, State, useLoaded } from "./ui.js";
import { laneOf, span, waves } from "./waves.js";
import { inDigits, lasting, t, word } from "./words.js";

/** So many messages are drawn at first; the figures are those of all. */
const A_PAGE = 100;
const MOST_AT_ONCE = 1000;
const TOGETHER_MS = 300;
/** After every message that there can be. */
const LAST = 2 ** 31 - 1;

/** @param {import("./experiment.js").PageProps & { thread: string }} props */
export function Transcript({ id, experiment, board, thread }) {
  const [most, setMost] = useState(A_PAGE);
  /** How many messages the replay shows; null: there is none. */
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const loaded = useLoaded(async () => {
    const [messages, drafts] = await Promise.all([saidIn(thread), all(`/threads/${thread}/drafts`, "drafts")]);
    return { messages, drafts };
  }, [thread]);
  useNews(loaded, TOGETHER_MS, (soon) => board.hear((_, event) => void (event.data?.thread_id === thread && soon())), [thread]);
  const draft = asked("draft");
  return h(Loaded, { of: loaded, show: ({ messages, drafts }) => {
    const shown = at === null ? messages : messages.slice(0, at);
    return html`<div class=${draft ? "c-beside" : ""}><div class="c-beside-main">
      ${h(Top, { id, isRunning: experiment.status === "running", messages, drafts, thread })}
      ${at === null ? null : h(Steps, { end: messages.length, at, setAt, title: t("Message {number} of {all}", { number: inDigits(at), all: inDigits(messages.length) }), children: null })}
      ${messages.length === 0 ? null : html`<p>${h(Press, { icon: "play", onPress: () => setAt(at === null ? 0 : null), children: at === null ? t("Replay") : t("Show all messages") })}</p>`}
      ${shown.length > most ? html`<p>${h(Press, { onPress: () => setMost(most + A_PAGE), children: t("Show earlier messages") })}</p>` : null}
      ${h(Messages, { messages: shown.slice(-most), begun: messages[0]?.created_at, lanes: drafts.map(laneOf) })}</div>
    ${draft ? h(DraftPanel, { key: draft, id: draft }) : null}</div>`;
  } });
}

/** All messages of a conversation, read from its end. @param {string} thread @returns {Promise<any[]>} */
async function saidIn(thread) {
  /** @type {any[]} */
  let messages = [];
  for (let before = LAST; before > 1; before = messages[0].seq) {
    const page = (await get(`/threads/${thread}/messages?limit=${MOST_AT_ONCE}&before_seq=${before}`)).messages;
    if (page.length === 0) break;
    messages = [...page, ...messages];
  }
  return messages;
}

/** @param {{ id: string, isRunning: boolean, messages: any[], drafts: any[], thread: string }} props */
function Top({ id, isRunning, messages, drafts, thread }) {
  const shares = new Map();
  for (const one of messages.filter(({ member_id: author }) => author !== null)) shares.set(one.member_id, { name: one.author || one.member, isPerson: one.author_kind === "person", count: (shares.get(one.member_id)?.count ?? 0) + 1 });
  const calls = drafts.reduce((sum, one) => sum + one.calls, 0);
  const written = messages.filter((one) => one.draft_id !== null).length;
  const lasted = messages.length > 1 ? Date.parse(messages[messages.length - 1].created_at) - Date.parse(messages[0].created_at) : 0;
  const speak = () => askFirst({ title: t("Speak as the lab"), text: t("All who are in the conversation read it, as a line of the lab. No agent is asked for a reply to it."), act: t("Say it"), fields: [["text", t("Your words")]], run: (values, key) => post(`/threads/${thread}/messages`, { text: values.text, client_message_id: key }) });
  return html`<p class="c-trail"><a href=${`/console/e/${id}/threads`}>${t("Conversations")}</a></p>
    <dl class="c-figures">${h(Figure, { name: t("messages"), value: inDigits(messages.length) })}${h(Figure, { name: t("calls"), value: inDigits(calls) })}
      ${written ? h(Figure, { name: t("calls a message"), value: inDigits(calls / written, 1) }) : null}${lasted ? h(Figure, { name: t("lasted"), value: lasting(lasted) }) : null}</dl>
    ${isRunning ? html`<p>${h(Press, { icon: "message", onPress: speak, children: t("Speak as the lab") })}</p>` : null}
    <div class="c-shares" role="list" aria-label=${t("Messages of each author")}>${[...shares.values()].sort((one, other) => other.count - one.count).map((one) => html`<span role="listitem" class=${one.isPerson ? "c-person" : "c-agent"} style=${`flex-grow:${one.count}`}><b>${one.name}</b> ${one.count}</span>`)}</div>`;
}

/** @param {{ messages: any[], begun: string, lanes: import("./waves.js").Lane[] }} props */
function Messages({ messages, begun, lanes }) {
  const { spoken, silent } = waves(lanes);
  return html`<ol class="c-talk">${messages.map((one) => html`<li key=${one.id}><div class="c-said"><p class="c-author"><strong>${one.author || one.member || t("the lab")}</strong> <span class=${`c-small ${one.author_kind === "person" ? "c-person-word" : "c-agent-word"}`}>${one.member_id ? word(one.author_kind) : ""}</span> <span class="c-small">${lasting(Date.parse(one.created_at) - Date.parse(begun))}</span></p>
      <p class="c-text">${one.text}</p>${one.explanation ? html`<p class="c-small c-why">${one.explanation}</p>` : null}</div>
    <div class="c-waves">${spoken.has(one.id) ? h(Lanes, { wave: /** @type {import("./waves.js").Wave} */ (spoken.get(one.id)), title: "" }) : null}
      ${(silent.get(one.seq) ?? []).map((wave) => h(Lanes, { wave, title: t("asked after this, no one spoke") }))}</div></li>`)}</ol>`;
}

/** @param {{ wave: import("./waves.js").Wave, title: string }} props */
function Lanes({ wave, title }) {
  return html`<div class="c-wave">${title ? html`<p class="c-small">${title}</p>` : null}${wave.lanes.map((lane) => {
    const at = span(lane, wave);
    return html`<a class="c-lane" href=${withQuery({ draft: lane.id })} aria-current=${asked("draft") === lane.id ? "true" : undefined}><span>${lane.name}</span>
      <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="c-lane-all" width="100" height="8" />${at ? html`<rect class=${lane.message === null ? "c-lane-lost" : "c-lane-thinks"} x=${100 * at.from} width=${Math.max(1, 100 * (at.ready - at.from))} height="8" /><rect class="c-lane-kept" x=${100 * at.ready} width=${Math.max(0, 100 * (at.to - at.ready))} height="8" />` : null}</svg>
      ${h(State, { state: lane.state, children: word(lane.state) })}</a>`;
  })}</div>`;
}
