/** One group: who is in it and who waits, its conversations, and what can be done. */
import { h, html, useState } from "../vendor/preact.js";
import { AddAgent } from "./add_agent.js";
import { ask } from "./address.js";
import { get, post } from "./api.js";
import { ChooseBox } from "./choosing.js";
import { act, actOn, askFirst, change } from "./confirm.js";
import { Dot, saidOf } from "./marks.js";
import { isIn } from "./placing.js";
import { Copy, Loaded, Press, useLoaded } from "./ui.js";
import { t } from "./words.js";

/** @typedef {{ experiment: any, board: import("./board_state.js").BoardState, group: import("./placing.js").Group }} Props */

/** @param {Props} props */
export function GroupPanel(props) {
  const { experiment, board, group } = props;
  void board.drawn.value;
  const [isAdding, setAdding] = useState(false);
  const members = board.membersOf.get(group.id) ?? [];
  const stageOf = (/** @type {string | null} */ id) => board.about.stages.find((/** @type {any} */ one) => one.id === id)?.name ?? "";
  const lock = () => actOn(`/cohorts/${group.id}/${group.isLocked ? "unlock" : "lock"}`, undefined, group.isLocked ? t("People may join again.") : t("No one joins it any more.")).then(() => board.read());
  const hasArms = board.about.treatments.length > 1;
  return html`${group.path === group.name ? null : html`<p class="c-small">${group.path}</p>`}<h2>${group.name}</h2>
    <p class="c-small">${[hasArms ? group.arm : "", group.isEnded ? t("ended") : t("running"), group.isLocked ? t("locked") : "", t("{count} open seat|{count} open seats", { count: members.filter((one) => one.status === "expected").length })].filter(Boolean).join(" · ")}</p>
    <div class="c-acts">${group.isEnded ? null : html`${h(Press, { icon: "lock", onPress: lock, children: group.isLocked ? t("Unlock") : t("Lock") })}
      ${h(Press, { icon: "plus", onPress: () => setAdding(true), children: t("Add an agent") })}${h(GroupActs, { board, group, members })}`}
      ${group.joinCode ? h(Copy, { text: `${location.origin}/join/${group.joinCode}`, children: t("Link of this group") }) : null}</div>
    <h3>${h(ChooseBox, { ids: members.filter(isIn).map((one) => one.id), label: t("Choose all of the group") })} ${t("Members")}</h3>
    <ul class="c-members">${members.map((one) => html`<li class="c-with-box">${isIn(one) ? h(ChooseBox, { ids: [one.id], label: t("Choose {name}", { name: one.name || one.path }) }) : html`<span class="c-box"></span>`}<button type="button" class="c-member" onClick=${() => ask({ member: one.id, cohort: "" })}>${h(Dot, { member: one, group })}<span>${one.avatar} ${one.name || one.path}</span><span class="c-small">${stageOf(one.stage)} · ${saidOf(one, group)}</span></button></li>`)}</ul>
    ${h(Conversations, { experiment, group })}
    ${isAdding ? h(AddAgent, { board, group, onClose: () => setAdding(false) }) : null}`;
}

/** What is done with the whole group. @param {{ board: import("./board_state.js").BoardState, group: import("./placing.js").Group, members: import("./placing.js").Member[] }} props */
function GroupActs({ board, group, members }) {
  const path = `/cohorts/${group.id}`;
  const { name } = group;
  const rename = () => askFirst({ title: t("Rename {name}", { name }), text: t("The name is for you and the data. Participants do not read it."), act: t("Rename"), fields: [["name", t("Name")]], run: async (values) => (await change("PATCH", path, { name: values.name }), await board.read()) });
  const end = () => askFirst({ title: t("End {name}?", { name }), text: t("The group is locked, and all who have not come to the end are removed. This cannot be undone."), act: t("End it"), needsReason: true, run: (values) => post(`${path}/end`, values) });
  const addSeats = () => askFirst({ title: t("Add seats to {name}", { name }), text: t("People take them by joining, and begin on the first stage."), act: t("Add"), fields: [["count", t("How many")]], run: async (values, key) => (await post(`${path}/seats`, { count: Number(values.count) }, key), await board.read()) });
  const isPaused = members.some((one) => one.status === "paused");
  return html`${h(Press, { icon: "plus", onPress: addSeats, children: t("Add seats") })}${h(Press, { icon: "pause", onPress: () => act(() => post(`${path}/pause`, {}), t("{name} is paused.", { name })), children: t("Pause the group") })}
    ${isPaused ? h(Press, { icon: "play", onPress: () => act(() => post(`${path}/resume`, {}), t("{name} goes on.", { name })), children: t("Resume the group") }) : null}
    ${h(Press, { kind: "bare", onPress: rename, children: t("Rename") })}${h(Press, { kind: "danger", icon: "stop", onPress: end, children: t("End the group") })}`;
}

/** @param {{ experiment: any, group: import("./placing.js").Group }} props */
function Conversations({ experiment, group }) {
  const loaded = useLoaded(() => get(`/cohorts/${group.id}/threads`), [group.id]);
  const speak = (/** @type {string} */ id) => askFirst({ title: t("Speak as the lab"), text: t("All who are in the conversation read it, as a line of the lab. No agent is asked for a reply to it."), act: t("Say it"), fields: [["text", t("Your words")]], run: (values, key) => post(`/threads/${id}/messages`, { text: values.text, client_message_id: key }) });
  return html`<h3><a href=${`/console/e/${experiment.id}/threads?cohort=${group.id}`}>${t("Conversations")}</a></h3>${h(Loaded, { of: loaded, show: ({ threads }) => threads.length === 0 ? html`<p class="c-small">${t("No conversation has begun.")}</p>`
    : html`<ul class="c-members">${threads.map((/** @type {any} */ one) => html`<li class="c-acts"><a href=${`/console/e/${experiment.id}/threads/${one.id}`}>${one.stage_id}${one.scope === "group" ? "" : ` · ${one.scope}`}</a>
      <span class="c-small">${t("{count} message|{count} messages", { count: one.messages })}</span>${one.ended_at === null ? h(Press, { icon: "message", onPress: () => speak(one.id), children: t("Speak as the lab") }) : null}</li>`)}</ul>` })}`;
}
