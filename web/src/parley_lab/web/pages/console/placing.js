/** Where on the board a member is, and how their mark is filled: pure rules. */

/**
 * @typedef {object} Member
 * @property {string} id @property {string} path @property {string} name @property {string} avatar
 * @property {"participant" | "mediator"} kind @property {"person" | "agent" | "script"} player
 * @property {string} status @property {string | null} stage @property {readonly string[]} way The stages they go through, in order. @property {string} group @property {string | null} arm
 * @property {string | null} since Since when they are on their stage. @property {string | null} goneAt
 * @property {string | null} ask What is asked now, such as `round:7/move`. @property {boolean} isThinking Whether a model is called for them.
 *
 * @typedef {object} Group
 * @property {string} id @property {string} path @property {string} name @property {string | null} arm @property {boolean} isEnded
 * @property {boolean} isAlone Whether it is one person on the way to a group. @property {boolean} isLocked @property {string} joinCode @property {number} seq Of the newest event that is in it. @property {Set<string>} unlocked The stages that are open.
 *
 * @typedef {"here" | "waits" | "gone" | "paused" | "open" | "through" | "out"} Fill
 */

const STILL_IN = new Set(["in_progress", "attention_check", "transfer_pending", "paused"]);
const WAITS = new Set(["in_progress", "attention_check", "transfer_pending"]);
export const THROUGH = "through";
export const OUT = "out";

/** @param {Member} member */
export const isIn = (member) => STILL_IN.has(member.status);

/** The column of a member: a stage, or what comes after them. @param {Member} member @param {string} first The first stage. */
export function columnOf(member, first) {
  if (member.status === "completed") return THROUGH;
  if (member.status === "expected") return member.stage ?? first;
  return isIn(member) ? (member.stage ?? THROUGH) : OUT;
}

/** How the mark of a member is filled. @param {Member} member @param {Group | undefined} group @returns {Fill} */
export function fillOf(member, group) {
  if (member.status === "expected") return "open";
  if (member.status === "completed") return "through";
  if (!isIn(member)) return "out";
  if (member.status === "paused") return "paused";
  if (member.goneAt !== null) return "gone";
  return doesWait(member, group) ? "waits" : "here";
}

/** Whether a member has come to a stage that is not open for their group. @param {Member} member @param {Group | undefined} group */
export const doesWait = (member, group) => isIn(member) && member.stage !== null && group !== undefined && WAITS.has(member.status) && !group.unlocked.has(member.stage);

/** The room that is next on the way of a member, the one where they are included. @param {Member} member @param {readonly string[]} rooms The stages of the rooms. */
export const roomOf = (member, rooms) => (member.stage === null ? undefined : member.way.slice(member.way.indexOf(member.stage)).find((stage) => rooms.includes(stage)));

/** The round of a game in which a member is asked now; null outside of rounds. @param {Member} member */
export function roundOf({ ask }) {
  const found = /^round:(\d+)\//.exec(ask ?? "");
  return found === null ? null : Number(found[1]);
}

/** The rounds in which members are asked now: `7`, or `5–7` where some are behind; null outside of rounds. @param {readonly Member[]} members @returns {string | null} */
export function roundsOf(members) {
  const rounds = members.filter(isIn).map(roundOf).filter((round) => round !== null);
  const [least, most] = [Math.min(...rounds), Math.max(...rounds)];
  return rounds.length === 0 ? null : least === most ? String(least) : `${least}–${most}`;
}

/** Since when the group waits: the longest wait of its members; null where no one waits. @param {Group} group @param {Member[]} members */
export function waitingSince(group, members) {
  const since = members.filter((one) => one.kind === "participant" && doesWait(one, group) && one.since !== null).map((one) => Date.parse(/** @type {string} */ (one.since)));
  return since.length === 0 ? null : Math.min(...since);
}

/** What the figures above the board say. @param {Iterable<Member>} members @param {ReadonlyMap<string, Group>} groups */
export function figures(members, groups) {
  const found = { people: 0, agents: 0, waits: 0, longest: /** @type {number | null} */ (null), gone: 0, open: 0, through: 0, out: 0 };
  for (const member of members) {
    if (member.kind === "mediator") continue;
    const group = groups.get(member.group);
    const fill = fillOf(member, group);
    if (fill === "open") found.open += 1;
    else if (fill === "through") found.through += 1;
    else if (fill === "out") found.out += 1;
    else if (member.player === "person") found.people += 1;
    else found.agents += 1;
    if (fill === "gone") found.gone += 1;
    if (doesWait(member, group)) {
      found.waits += 1;
      const since = member.since === null ? null : Date.parse(member.since);
      if (since !== null && (found.longest === null || since < found.longest)) found.longest = since;
    }
  }
  return found;
}

/**
 * The groups that are shown, in their order.
 * @param {Group[]} groups @param {(group: Group) => Member[]} membersOf @param {{ only: string, order: string, find: string }} wanted
 * @param {(group: Group) => number} changedAt
 */
export function chosen(groups, membersOf, { only, order, find }, changedAt) {
  const sought = find.trim().toLowerCase();
  const fits = (/** @type {string} */ text) => text.toLowerCase().includes(sought);
  const isFound = (/** @type {Group} */ group) => sought === "" || fits(group.name) || fits(group.path) || membersOf(group).some((one) => fits(one.name) || fits(one.path) || fits(one.status.replaceAll("_", " ")));
  const found = groups.filter((group) => isFound(group) && isShown(group, membersOf(group), only));
  if (order === "wait") return sorted(found, (group) => waitingSince(group, membersOf(group)) ?? Infinity);
  if (order === "change") return sorted(found, (group) => -changedAt(group));
  return found;
}

/** @param {Group} group @param {Member[]} members @param {string} only */
function isShown(group, members, only) {
  if (only === "going") return members.some(isIn);
  if (only === "waiting") return waitingSince(group, members) !== null;
  if (only === "people") return members.some((one) => one.player === "person" && one.status !== "expected");
  if (only === "locked") return group.isLocked;
  return true;
}

/** @template T @param {T[]} list @param {(one: T) => number} by @returns {T[]} */
const sorted = (list, by) => [...list].sort((one, other) => by(one) - by(other));
