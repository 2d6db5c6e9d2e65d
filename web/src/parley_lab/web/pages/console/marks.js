/** Marks of members: shape says who plays, fill how it is. */
import { html } from "../vendor/preact.js";
import { fillOf } from "./placing.js";
import { t } from "./words.js";

/** @param {import("./placing.js").Member} member */
export const shapeOf = ({ kind, player }) => (kind === "mediator" ? "c-mediator" : player === "person" ? "c-person" : "c-agent");

/** @param {{ member: import("./placing.js").Member, group: import("./placing.js").Group | undefined, isChosen?: boolean }} props */
export function Dot({ member, group, isChosen = false }) {
  return html`<i class=${`c-dot ${shapeOf(member)} c-${fillOf(member, group)}${isChosen ? " c-chosen" : ""}${member.isThinking ? " c-thinking" : ""}`} data-member=${member.id} title=${`${member.name || member.path}: ${saidOf(member, group)}`}></i>`;
}

/** how a member is, in a word. @param {import("./placing.js").Member} member @param {import("./placing.js").Group | undefined} group */
export function saidOf(member, group) {
  const fill = fillOf(member, group);
  const said = { here: t("takes part"), waits: t("waits"), gone: t("gone"), paused: t("paused"), open: t("open seat"), through: t("through"), out: t("out") };
  return said[fill];
}

/** What a cell says without its marks. @param {import("./placing.js").Member[]} members @param {import("./placing.js").Group} group */
export function inNumbers(members, group) {
  if (members.length === 0) return t("no one");
  const waits = members.filter((one) => fillOf(one, group) === "waits").length;
  const said = t("{count} member|{count} members", { count: members.length });
  return waits === 0 ? said : `${said}, ${t("{count} waits|{count} wait", { count: waits })}`;
}
