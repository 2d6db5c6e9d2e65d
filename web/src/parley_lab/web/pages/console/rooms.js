/** People who have no group yet, since groups are made of those who are there: on their way, present, passed over. */
import { h, html } from "../vendor/preact.js";
import { ask } from "./address.js";
import { get } from "./api.js";
import { Dot } from "./marks.js";
import { isIn, roomOf } from "./placing.js";
import { useLoaded } from "./ui.js";
import { lasting, t } from "./words.js";

/** @typedef {import("./placing.js").Member} Member */

/** The groups that the file makes of people who are there: where they meet, and how many each needs. @param {string} id @returns {Promise<{ at: string, people: number }[]>} */
async function roomsOf(id) {
  const { cohorts } = await get(`/experiments/${id}/file`);
  return cohorts.filter((/** @type {any} */ one) => one.made === "when_together").flatMap((/** @type {any} */ one) => [one.at].flat().map((at) => ({
    at, people: one.seats.filter((/** @type {any} */ seat) => seat.open).reduce((/** @type {number} */ sum, /** @type {any} */ seat) => sum + (seat.count ?? 1), 0),
  })));
}

/** @param {{ board: import("./board_state.js").BoardState }} props */
export function Rooms({ board }) {
  void board.drawn.value;
  const alone = [...board.groups.values()].filter((one) => one.isAlone);
  const loaded = useLoaded(async () => (alone.length ? roomsOf(board.id) : []), [alone.length > 0]);
  const members = alone.flatMap((group) => board.membersOf.get(group.id) ?? []).filter(isIn);
  if (members.length === 0 || !loaded.data?.length) return null;
  const rooms = loaded.data.map((room) => room.at);
  return html`<section class="c-rooms" aria-label=${t("People without a group")}>${loaded.data.map((room) => h(Room, { key: room.at, room, board, members: members.filter((one) => roomOf(one, rooms) === room.at) }))}</section>`;
}

/** @param {{ room: { at: string, people: number }, board: import("./board_state.js").BoardState, members: Member[] }} props */
function Room({ room, board, members }) {
  const name = board.about.stages.find((/** @type {any} */ one) => one.id === room.at)?.name ?? room.at;
  const there = members.filter((one) => one.stage === room.at);
  const parts = [
    [t("on their way"), members.filter((one) => one.stage !== room.at)],
    [t("present"), there.filter((one) => one.goneAt === null)],
    [t("passed over, no open page"), there.filter((one) => one.goneAt !== null)],
  ];
  return html`<div class="c-room"><p><strong>${name}</strong> <span class="c-small">${t("a group needs {count} person|a group needs {count} people", { count: room.people })}</span></p>
    <dl>${parts.map(([said, whom]) => html`<div><dt>${said} (${whom.length})</dt><dd>${/** @type {Member[]} */ (whom).map((one) => h(Waiting, { key: one.id, board, one }))}</dd></div>`)}</dl></div>`;
}

/** One person, with how long they are where they are. @param {{ board: import("./board_state.js").BoardState, one: Member }} props */
function Waiting({ board, one }) {
  const wait = one.since === null ? "" : lasting(Date.now() - Date.parse(one.since));
  return html`<button type="button" class="c-waiting-one" onClick=${() => ask({ member: one.id, cohort: "" })}>${h(Dot, { member: one, group: board.groups.get(one.group) })} ${one.name || one.path} <span class="c-small">${wait}</span></button>`;
}
