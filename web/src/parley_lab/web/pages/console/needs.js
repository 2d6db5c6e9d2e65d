/** Needs you: open alerts, each with what helps. */
import { h, html, useEffect } from "../vendor/preact.js";
import { ask } from "./address.js";
import { all, post } from "./api.js";
import { act, askFirst, change } from "./confirm.js";
import { Icon } from "./icons.js";
import { Press, useLoaded } from "./ui.js";
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
  if (alerts.length === 0) return null;
  return html`<section class="c-needs" aria-labelledby="c-needs"><h2 id="c-needs">${h(Icon, { name: "bell" })} ${t("Needs you")} <span class="c-pill c-warns">${alerts.length}</span></h2>
    <ul role="status">${alerts.slice(-SHOWN).reverse().map((/** @type {any} */ one) => h(Alert, { key: one.id, one, experiment, again: loaded.again }))}</ul></section>`;
}

/** @param {{ one: any, experiment: any, again: () => Promise<void> }} props */
function Alert({ one, experiment, again }) {
  const done = () => act(async () => (await post(`/alerts/${one.id}/resolve`), await again()), "");
  return html`<li><strong>${word(one.type)}</strong><span class="c-needs-text">${one.text} <span class="c-small">${atTime(one.created_at)}</span></span>
    <span class="c-acts">${h(Remedy, { one, experiment, again })}
      ${one.member_id ? h(Press, { onPress: () => ask({ member: one.member_id, cohort: "" }), children: one.member }) : null}
      ${h(Press, { icon: "check", onPress: done, children: t("Done") })}</span></li>`;
}

/** What helps against an alert. @param {{ one: any, experiment: any, again: () => Promise<void> }} props */
function Remedy({ one, experiment, again }) {
  if (one.type === "help" && one.member_id) return h(Press, { icon: "message", onPress: () => answer(one, again), children: t("Answer") });
  if (["model_failed", "answers_missing", "work_failed"].includes(one.type)) {
    return h(Press, { onPress: () => act(() => post(`/experiments/${experiment.id}/retry-failed`), t("Those who failed are asked again.")), children: t("Retry the failed") });
  }
  if (one.type === "calls_spent") return h(Press, { onPress: () => raise(experiment), children: t("Raise the limit") });
  return null;
}

/** An alert that is answered within a second is in no hint of the stream: the list is read again. @param {any} alert @param {() => Promise<void>} again */
function answer(alert, again) {
  askFirst({
    title: t("Answer {member}", { member: alert.member }),
    text: alert.text,
    act: t("Send"),
    fields: [["text", t("Your words")]],
    run: async (values) => (await post(`/members/${alert.member_id}/message`, { text: values.text }), await post(`/alerts/${alert.id}/resolve`), await again()),
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
