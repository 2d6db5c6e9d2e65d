/** Needs you: open alerts, each with what helps. */
import { h, html, useEffect, useRef, useState } from "../vendor/preact.js";
import { AddAgent } from "./add_agent.js";
import { ask } from "./address.js";
import { all, get, post } from "./api.js";
import { chime, isChimeOn, setChime } from "./chime.js";
import { act, askFirst, change } from "./confirm.js";
import { Icon } from "./icons.js";
import { Dialog, Loaded, Press, useLoaded } from "./ui.js";
import { atTime, t, word } from "./words.js";

const SHOWN = 20;
const TOGETHER_MS = 300;
const OF_AN_ALERT = /^(alert\.|member\.(asked_for_help|failed|attention_failed|gone|returned|rejoined|revived)|experiment\.|cohort\.)/;

/** @param {{ experiment: any, board: import("./board_state.js").BoardState }} props */
export function Needs({ experiment, board }) {
  const loaded = useLoaded(() => all(`/experiments/${experiment.id}/alerts?is_open=true`, "alerts", 500), [experiment.id]);
  const alerts = loaded.data ?? [];
  useEffect(() => {
    let timer = 0;
    const stop = board.hear((type) => {
      if (!OF_AN_ALERT.test(type)) return;
      clearTimeout(timer);
      timer = setTimeout(loaded.again, TOGETHER_MS);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [experiment.id]);
  useEffect(() => {
    document.title = alerts.length ? `(${alerts.length}) ${experiment.name}` : experiment.name;
  }, [alerts.length]);
  useChime(loaded.data);
  if (alerts.length === 0) return null;
  return html`<section class="c-needs" aria-labelledby="c-needs"><div class="c-needs-head"><h2 id="c-needs">${h(Icon, { name: "bell" })} ${t("Needs you")} <span class="c-pill c-warns">${alerts.length}</span></h2>${h(Sound, {})}</div>
    <ul role="status">${alerts.slice(-SHOWN).reverse().map((/** @type {any} */ one) => h(Alert, { key: one.id, one, experiment, board, again: loaded.again }))}</ul></section>`;
}

/** Sound once for alerts that were not there before. @param {any[] | null} alerts null: not read yet. */
function useChime(alerts) {
  const known = useRef(/** @type {Set<string> | null} */ (null));
  useEffect(() => {
    if (alerts === null) return;
    const before = known.current;
    known.current = new Set(alerts.map((one) => one.id));
    if (before !== null && alerts.some((one) => !before.has(one.id))) chime();
  }, [alerts]);
}

/** Whether new alerts sound. */
function Sound() {
  const [isOn, setOn] = useState(isChimeOn());
  function toggle() {
    setChime(!isOn);
    setOn(!isOn);
  }
  return h(Press, { kind: "bare", isPressed: isOn, onPress: toggle, children: t("Sound") });
}

/** @typedef {{ one: any, experiment: any, board: import("./board_state.js").BoardState, again: () => Promise<void> }} OneAlert */

/** @param {OneAlert} props */
function Alert({ one, experiment, board, again }) {
  const done = () => act(async () => (await post(`/alerts/${one.id}/resolve`), await again()), "");
  return html`<li><strong>${word(one.type)}</strong><span class="c-needs-text">${one.text} <span class="c-small">${atTime(one.created_at)}</span></span>
    <span class="c-acts">${h(Remedy, { one, experiment, board, again })}
      ${one.member_id ? h(Press, { onPress: () => ask({ member: one.member_id, cohort: "" }), children: one.member }) : null}
      ${h(Press, { icon: "check", onPress: done, children: t("Done") })}</span></li>`;
}

/** The alerts of a seat that no one plays. */
const WITHOUT_A_PLAYER = ["no_stand_in", "agent_screened_out", "attention_missed"];

/** What helps against an alert. @param {OneAlert} props */
function Remedy({ one, experiment, board, again }) {
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  if (one.type === "help" && one.member_id) return h(Press, { icon: "message", onPress: () => answer(one, again), children: t("Answer") });
  if (["model_failed", "answers_missing", "work_failed"].includes(one.type)) {
    return h(Press, { onPress: () => act(() => post(`/experiments/${experiment.id}/retry-failed`), t("Those who failed are asked again.")), children: t("Retry the failed") });
  }
  if (one.type === "calls_spent") return h(Press, { onPress: () => raise(experiment), children: t("Raise the limit") });
  if (one.type === "key_paused") return html`${h(Press, { onPress: () => setOpen(true), children: t("Show the key") })}${isOpen ? h(RefusedKeys, { id: experiment.id, onClose: close }) : null}`;
  const group = board.groups.get(one.cohort_id);
  if (WITHOUT_A_PLAYER.includes(one.type) && group && !group.isEnded) return html`${h(Press, { icon: "plus", onPress: () => setOpen(true), children: t("Add an agent") })}${isOpen ? h(AddAgent, { board, group, onClose: close }) : null}`;
  return null;
}

/** The keys that are refused, as they are now. @param {{ id: string, onClose: () => void }} props */
function RefusedKeys({ id, onClose }) {
  const loaded = useLoaded(() => get(`/experiments/${id}`), [id]);
  return h(Dialog, { title: t("Refused keys"), onClose, children: h(Loaded, { of: loaded, show: ({ paused_keys: keys }) => keys.length === 0 ? html`<p>${t("No key is refused now.")}</p>`
    : html`<dl class="c-answers">${keys.map((/** @type {any} */ one) => html`<dt>${one.key}</dt><dd>${one.reason}<br /><span class="c-small">${t("refused since {time}; asked for {member}; {count} answer waits|refused since {time}; asked for {member}; {count} answers wait", { time: atTime(one.paused_at), member: one.asked ?? "–", count: one.answers })}</span></dd>`)}</dl>
      <p>${t("Set a valid key where the lab runs. The lab tries it every half a minute, and the answers go on by themselves.")}</p>` }) });
}

/** An alert that is answered within a second is in no hint of the stream: the list is read again. @param {any} alert @param {() => Promise<void>} again */
function answer(alert, again) {
  askFirst({
    title: t("Answer {member}", { member: alert.member }),
    text: alert.text,
    act: t("Send"),
    fields: [["text", t("Your words")]],
    run: async (values, key) => (await post(`/members/${alert.member_id}/message`, { text: values.text }, key), await post(`/alerts/${alert.id}/resolve`), await again()),
  });
}

/** @param {any} experiment */
function raise(experiment) {
  askFirst({
    title: t("Raise the limit of calls"),
    text: t("Real models may then be called so often in all. The experiment goes on."),
    act: t("Raise and resume"),
    fields: [["calls", t("Calls in all")]],
    run: async (values) => (await change("PUT", `/experiments/${experiment.id}/max-calls`, { calls: Number(values.calls) }), await post(`/experiments/${experiment.id}/resume`)),
  });
}
