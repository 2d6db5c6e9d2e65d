/** One member: what they do now, their way, and what can be done. */
import { h, html, useState } from "../vendor/preact.js";
import { withQuery } from "./address.js";
import { post } from "./api.js";
import { actOn, askFirst } from "./confirm.js";
import { LookThrough } from "./look_through.js";
import { Dot, saidOf } from "./marks.js";
import { Answers, Replies, Story } from "./member_story.js";
import { doesWait, isIn, roundOf } from "./placing.js";
import { Choice, Dialog, Press, Switch } from "./ui.js";
import { lasting, t, word } from "./words.js";

/** @typedef {{ experiment: any, board: import("./board_state.js").BoardState, member: import("./placing.js").Member, group: import("./placing.js").Group }} Props */

/** @param {Props} props */
export function MemberPanel(props) {
  const { board, member, group } = props;
  void board.drawn.value;
  const [view, setView] = useState("story");
  const stages = board.about.stages;
  /** @type {[string, string][]} */
  const views = [["story", t("Story")], ["answers", t("Answers")], ...(member.player === "agent" ? [/** @type {[string, string]} */ (["drafts", t("Replies")])] : [])];
  const at = member.status === "completed" ? stages.length : stages.findIndex((/** @type {any} */ one) => one.id === member.stage);
  return html`<p class="c-small">${member.path}</p>
    <h2>${h(Dot, { member, group })} ${member.avatar} ${member.name || member.path}</h2>
    <p class="c-small">${[word(member.kind === "mediator" ? "mediator" : member.player), member.arm, ""].filter(Boolean).join(" · ")} <a href=${withQuery({ member: "", cohort: group.id })}>${group.name}</a></p>
    <p class="c-now">${nowOf(member, group, stages)}</p>
    <ol class="c-way" aria-label=${t("The way through the stages")}>${stages.map((/** @type {any} */ one, /** @type {number} */ index) => html`<li class=${index < at ? "c-done" : index === at ? "c-at" : ""} title=${one.name}><span class="hidden">${one.name}${index === at ? `, ${t("now")}` : ""}</span></li>`)}</ol>
    ${h(MemberActs, props)}
    ${h(Switch, { label: t("Show"), value: view, options: views, onChoose: setView })}
    ${view === "story" ? h(Story, props) : view === "answers" ? h(Answers, props) : h(Replies, props)}`;
}

/** What a member does now, as a sentence. @param {import("./placing.js").Member} member @param {import("./placing.js").Group} group @param {any[]} stages */
function nowOf(member, group, stages) {
  if (!isIn(member)) return word(member.status);
  const stage = stages.find((one) => one.id === member.stage)?.name ?? member.stage ?? "";
  const what = doesWait(member, group) ? t("waits for the others") : saidOf(member, group);
  const round = roundOf(member);
  return `${stage}: ${what}${round === null ? "" : `, ${t("round {number}", { number: round })}`}${member.since ? `, ${lasting(Date.now() - Date.parse(member.since))}` : ""}`;
}

/** @param {Props} props */
function MemberActs({ board, member, group }) {
  void board.drawn.value;
  const [shown, setShown] = useState("");
  const name = member.name || member.path;
  const to = (/** @type {string} */ verb, /** @type {string} */ done) => actOn(`/members/${member.id}/${verb}`, undefined, done);
  const isPerson = member.player === "person";
  if (!isIn(member) && member.status !== "expected") return null;
  const say = () => askFirst({ title: t("Message to {name}", { name }), text: t("Only {name} reads it, until they have closed it.", { name }), act: t("Send"), fields: [["text", t("Your words")]], run: (values, key) => post(`/members/${member.id}/message`, { text: values.text }, key) });
  const goOn = () => askFirst({ title: t("Continue for {name}?", { name }), text: t("As if the time was up: what is saved counts where it fits, a conversation is left, an open move is missing and may fail a game. A wait ends for the whole group."), act: t("Continue"), needsReason: true, run: (values) => post(`/members/${member.id}/advance`, values) });
  const remove = () => askFirst({ title: t("Remove {name}?", { name }), text: t("They are out for good. The others are not told why."), act: t("Remove"), needsReason: true, run: (values) => post(`/members/${member.id}/remove`, values) });
  const transfer = () => setShown("move");
  return html`<div class="c-acts">
    ${isPerson && isIn(member) ? html`${h(Press, { icon: "message", onPress: say, children: t("Message") })}${h(Press, { icon: "eye", onPress: () => setShown("look"), children: t("Look through") })}` : null}
    ${member.status === "in_progress" ? html`${h(Press, { icon: "bell", onPress: () => to("check", t("{name} is asked whether they are there.", { name })), children: t("Check") })}${h(Press, { icon: "pause", onPress: () => to("pause", t("{name} is paused.", { name })), children: t("Pause") })}` : null}
    ${member.status === "paused" ? h(Press, { icon: "play", onPress: () => to("resume", t("{name} goes on.", { name })), children: t("Resume") }) : null}
    ${member.status === "in_progress" && member.kind === "participant" ? h(Press, { icon: "step", onPress: goOn, children: t("Continue") }) : null}
    ${member.status === "in_progress" && isPerson ? h(Press, { icon: "arrow", onPress: transfer, children: t("Move") }) : null}
    ${h(Press, { kind: "danger", icon: "trash", onPress: remove, children: t("Remove") })}
    ${shown === "look" ? h(LookThrough, { member, onClose: () => setShown("") }) : null}
    ${shown === "move" ? h(Move, { board, member, group, onClose: () => setShown("") }) : null}</div>`;
}

/** @param {{ board: import("./board_state.js").BoardState, member: import("./placing.js").Member, group: import("./placing.js").Group, onClose: () => void }} props */
function Move({ board, member, group, onClose }) {
  const others = [...board.groups.values()].filter((one) => one.id !== group.id && !one.isEnded);
  const [to, setTo] = useState(others[0]?.id ?? "");
  const [error, setError] = useState("");
  async function offer() {
    try {
      await post(`/members/${member.id}/transfer`, { cohort_id: to });
      onClose();
    } catch (wrong) {
      setError(wrong instanceof Error ? wrong.message : String(wrong));
    }
  }
  return h(Dialog, { title: t("Move {name}", { name: member.name || member.path }), onClose, children: html`<p>${t("The participant is offered a place in another group, and has a minute to answer.")}</p>
    ${error ? html`<p class="notice error" role="alert">${error}</p>` : null}
    ${others.length ? h(Choice, { label: t("To"), isHidden: false, value: to, options: others.map((one) => /** @type {[string, string]} */ ([one.id, one.name])), onChoose: setTo }) : html`<p>${t("There is no other group.")}</p>`}
    <div class="c-acts">${h(Press, { kind: "primary", isDisabled: to === "", onPress: offer, children: t("Offer the place") })}${h(Press, { onPress: onClose, children: t("Cancel") })}</div>` });
}
