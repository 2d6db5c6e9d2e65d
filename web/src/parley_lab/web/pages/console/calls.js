/** Calls of models: how many by status, and each attempt. */
import { h, html } from "../vendor/preact.js";
import { ask, asked, withQuery } from "./address.js";
import { get, query } from "./api.js";
import { DraftPanel } from "./draft.js";
import { useList } from "./lists.js";
import { Choice, Empty, Loaded, Press, Rows, State, useLoaded } from "./ui.js";
import { atTime, inDigits, t, word } from "./words.js";

const BARS = 60;

/** @param {import("./experiment.js").PageProps} props */
export default function Calls({ id, experiment, board }) {
  void board.drawn.value;
  const [status, order, minutes, member] = [asked("status"), asked("order"), asked("minutes") || (experiment.status === "ended" ? "all" : "60"), asked("of")];
  const loaded = useList(`/experiments/${id}/calls${query({ status, order, member })}`, "calls");
  const activity = useLoaded(() => get(`/experiments/${id}/activity${query({ minutes: minutes === "all" ? null : minutes, buckets: BARS })}`), [id, minutes]);
  const draft = asked("draft");
  return html`<div class="c-filters">
      ${h(Choice, { label: t("Time"), value: minutes, options: [["60", t("the last hour")], ["360", t("six hours")], ["720", t("twelve hours")], ["all", t("from the start on")]], onChoose: (one) => ask({ minutes: one }, { isReplacing: true }) })}
      ${h(Choice, { label: t("Status"), value: status, options: [["", t("all calls")], ["failed", t("failed")]], onChoose: (one) => ask({ status: one }, { isReplacing: true }) })}
      ${h(Choice, { label: t("Order"), value: order, options: [["", t("the newest first")], ["oldest", t("the oldest first")]], onChoose: (one) => ask({ order: one }, { isReplacing: true }) })}
      ${member ? h(Press, { kind: "bare", icon: "close", onPress: () => ask({ of: "" }), children: t("only of {name}", { name: nameOf(board.members.get(member), loaded.data?.found) }) }) : null}
      ${h(Press, { onPress: async () => void (await Promise.all([loaded.again(), activity.again()])), children: t("Read again") })}</div>
    ${activity.data ? h(Bars, { found: activity.data }) : null}
    <div class=${draft ? "c-beside" : ""}><div class="c-beside-main">${h(Loaded, { of: loaded, show: ({ found: calls, hasMore }) => calls.length === 0 ? h(Empty, { children: html`<p>${status || member ? t("No call is like this.") : t("No model was called.")}</p>` })
      : html`${h(Rows, { caption: t("Calls of models"), isCompact: true, columns: [t("member"), t("status"), t("begun"), t("purpose"), t("model"), t("tokens"), t("milliseconds"), t("error")], rows: calls.map(asRow) })}
        ${hasMore ? html`<p>${h(Press, { onPress: loaded.more, children: t("Show more") })}</p>` : null}` })}</div>
    ${draft ? h(DraftPanel, { key: draft, id: draft }) : null}</div>`;
}

/** The name of a member, from the board or else from their calls. @param {import("./placing.js").Member | undefined} member @param {any[]} [calls] @returns {string} */
const nameOf = (member, calls) => (member ? [member.path, member.name].filter(Boolean).join(" ") : (calls?.[0]?.member ?? "…"));

/** @param {any} one */
const asRow = (one) => [
  html`<a href=${withQuery({ draft: one.draft_id })}>${one.member}</a>`, h(State, { state: one.status, children: word(one.status) }), atTime(one.started_at), word(one.purpose), one.model ?? "",
  one.tokens_in === null ? "" : `${inDigits(one.tokens_in)} + ${inDigits(one.tokens_out ?? 0)}`, one.milliseconds === null ? "" : inDigits(one.milliseconds), one.error ?? "",
];

/** @param {{ found: any }} props */
function Bars({ found }) {
  const sums = found.buckets.map((/** @type {any} */ one) => {
    const all = Object.values(one.calls).reduce((sum, count) => sum + count, 0);
    return { ok: one.calls.ok ?? 0, failed: all - (one.calls.ok ?? 0) };
  });
  const most = Math.max(1, ...sums.map((/** @type {any} */ one) => one.ok + one.failed));
  const count = sums.reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + one.ok + one.failed, 0);
  const bars = sums.flatMap((/** @type {any} */ one, /** @type {number} */ index) => [
    h("rect", { class: "c-calls-ok", x: index, width: 0.8, y: 10 - (10 * one.ok) / most, height: (10 * one.ok) / most }),
    h("rect", { class: "c-calls-failed", x: index, width: 0.8, y: 10 - (10 * (one.ok + one.failed)) / most, height: (10 * one.failed) / most }),
  ]);
  return html`<figure class="c-chart c-calls">${h("svg", { role: "img", "aria-label": t("{count} call in this time|{count} calls in this time", { count }), viewBox: `0 0 ${BARS} 10`, preserveAspectRatio: "none" }, bars)}<figcaption>${t("{count} call in this time|{count} calls in this time", { count })} · ${atTime(found.since)} – ${atTime(found.until)}</figcaption></figure>`;
}
