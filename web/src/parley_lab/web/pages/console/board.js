/** The board: who is where, who waits, who needs help. */
import { h, html, useEffect, useState } from "../vendor/preact.js";
import { ask, asked, go } from "./address.js";
import { AddGroups } from "./add_groups.js";
import { get, query } from "./api.js";
import { ByArm } from "./arms.js";
import { ChooseBox, ChosenActs } from "./choosing.js";
import { act } from "./confirm.js";
import { Matrix } from "./matrix.js";
import { Needs } from "./needs.js";
import { Rooms } from "./rooms.js";
import { Panel } from "./panel.js";
import { chosen, figures, isIn } from "./placing.js";
import { IS_DEMO } from "./templates.js";
import { Choice, Empty, Failure, Field, Figure, Loading, Press, Switch } from "./ui.js";
import { inDigits, lasting, t } from "./words.js";

const TYPING_MS = 200;
/** More groups than these are shown by arm at first. */
const MANY_GROUPS = 160;

/** @param {import("./experiment.js").PageProps} props */
export function Board({ experiment, board }) {
  void board.drawn.value;
  const [isAdding, setAdding] = useState(false);
  const [find, setFind] = useState(asked("find"));
  useEffect(() => {
    const timer = setTimeout(() => find !== asked("find") && ask({ find }, { isReplacing: true }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [find]);
  const { error } = board;
  const isShown = asked(IS_DEMO) !== "" && experiment.status === "ended" && asked("member") === "" && asked("cohort") === "";
  useEffect(() => void (isShown && go(`/console/e/${experiment.id}/results`, { isReplacing: true })), [isShown]);
  if (board.about === null) return error.value ? h(Failure, { error: error.value, onAgain: () => board.read() }) : h(Loading, {});
  const rows = asked("rows") || (board.groups.size > MANY_GROUPS ? "arms" : "groups");
  const wanted = { only: asked("only"), order: asked("sort"), find: asked("find") };
  const membersOf = (/** @type {import("./placing.js").Group} */ group) => board.membersOf.get(group.id) ?? [];
  const groups = chosen([...board.groups.values()].filter((one) => !one.isAlone), membersOf, wanted, (group) => board.changedAt.get(group.id) ?? 0);
  const isOpen = asked("member") !== "" || asked("cohort") !== "";
  return html`${error.value ? h(Failure, { error: error.value, onAgain: () => board.read() }) : null}
    ${h(Figures, { board })}${h(Needs, { experiment, board })}${h(ChosenActs, { experiment, board })}${h(Rooms, { board })}
    <div class=${isOpen ? "c-beside" : ""}><div class="c-beside-main">
      <div class="c-filters" role="search">
        ${h(Field, { label: t("Find a group or member"), isHidden: true, placeholder: t("Find a group or member"), type: "search", value: find, onInput: setFind })}
        ${board.about.treatments.length > 1 ? h(Switch, { label: t("Rows"), value: rows, options: [["groups", t("groups")], ["arms", t("arms")]], onChoose: (one) => ask({ rows: one }, { isReplacing: true }) }) : null}
        ${h(Choice, { label: t("Show"), value: wanted.only, options: [["", t("all groups")], ["going", t("going on")], ["waiting", t("waiting")], ["people", t("with people")], ["locked", t("locked")]], onChoose: (only) => ask({ only }, { isReplacing: true }) })}
        ${h(Choice, { label: t("Order"), value: wanted.order, options: [["", t("in order")], ["wait", t("longest wait")], ["change", t("latest change")]], onChoose: (sort) => ask({ sort }, { isReplacing: true }) })}
        ${wanted.find || wanted.only ? h(ChooseShown, { ids: groups.flatMap(membersOf).filter(isIn).map((one) => one.id) }) : null}
        ${experiment.status === "running" ? h(Press, { icon: "plus", onPress: () => setAdding(true), children: t("Add groups") }) : null}
        ${h(Legend, {})}</div>
      ${board.groups.size === 0
        ? h(Empty, { children: html`<p>${t("There are no groups yet. People make them when they come: give them the link.")}</p>` })
        : groups.length === 0 && wanted.find ? h(ByExternalId, { experiment, sought: wanted.find.trim() })
        : rows === "arms" ? h(ByArm, { board, groups }) : h(Matrix, { board, groups })}</div>
    ${isOpen ? h(Panel, { experiment, board }) : null}${isAdding ? h(AddGroups, { experiment, board, onClose: () => setAdding(false) }) : null}</div>`;
}

/** @param {{ board: import("./board_state.js").BoardState }} props */
function Figures({ board }) {
  void board.drawn.value;
  const found = figures(board.members.values(), board.groups);
  const { progress } = board.about;
  const longest = found.longest === null ? "" : t("the longest {time}", { time: lasting(Date.now() - found.longest) });
  const speed = board.perSecond.reduce((sum, one) => sum + one, 0);
  return html`<dl class="c-figures">
    ${h(Figure, { name: t("take part"), value: inDigits(found.people + found.agents), more: html`<i class="c-dot c-person"></i> ${t("{count} person|{count} people", { count: found.people })} <i class="c-dot c-agent"></i> ${t("{count} agent|{count} agents", { count: found.agents })}` })}
    ${h(Figure, { name: t("wait for others"), value: inDigits(found.waits), more: longest })}
    ${found.gone ? h(Figure, { name: t("gone"), value: inDigits(found.gone), more: t("no open page"), tone: "c-warns" }) : null}
    ${h(Figure, { name: t("open seats"), value: inDigits(found.open), more: t("{count} group|{count} groups", { count: board.groups.size }) })}
    ${h(Figure, { name: t("through"), value: inDigits(found.through), more: t("{number} out", { number: found.out }) })}
    ${h(Figure, { name: t("messages"), value: inDigits(progress.messages), more: t("{count} event in a minute|{count} events in a minute", { count: speed }) })}
    ${h(Figure, { name: t("calls of models"), value: inDigits(progress.model_calls), more: costOf(progress) })}</dl>`;
}

/** What the calls have cost, and how many are allowed. @param {any} progress */
function costOf({ cost, unpriced_calls: unpriced, max_calls: most }) {
  return [cost ? `${inDigits(Number(cost), 4)} $` : "", unpriced && cost ? t("{count} without a price", { count: unpriced }) : "", most ? t("at most {most}", { most }) : ""].filter(Boolean).join(" · ");
}

/** No group fits: perhaps it is the external id of a person, which the board does not have. @param {{ experiment: any, sought: string }} props */
function ByExternalId({ experiment, sought }) {
  const look = () => act(async () => {
    const { members } = await get(`/experiments/${experiment.id}/members${query({ external_id: sought })}`);
    if (members.length === 0) throw new Error(t("No person has this external id."));
    ask({ find: "", member: members[0].id, cohort: "" });
  }, "");
  return h(Empty, { children: html`<p>${t("No group is like this.")}</p><p>${h(Press, { onPress: look, children: t("Look for the external id {id}", { id: sought }) })}</p>` });
}

/** Choose all members of the groups that are shown. @param {{ ids: string[] }} props */
const ChooseShown = ({ ids }) => html`<label class="c-choose">${h(ChooseBox, { ids, label: t("Choose all members who are shown") })} ${t("choose the {count} shown", { count: ids.length })}</label>`;

function Legend() {
  const mark = (/** @type {string} */ of, /** @type {string} */ said) => html`<span><i class=${`c-dot ${of}`}></i> ${said}</span>`;
  return html`<p class="c-legend">${mark("c-person", t("person"))}${mark("c-agent", t("agent"))}${mark("c-mediator", t("mediator"))}${mark("c-person c-waits", t("waits"))}${mark("c-person c-gone", t("gone"))}${mark("c-person c-open", t("open"))}</p>`;
}
