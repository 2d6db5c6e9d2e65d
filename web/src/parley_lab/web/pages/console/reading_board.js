/** The board as it is read from the lab: rows without names of fields, whose values refer to lists by index. */
import { get } from "./api.js";

/** @typedef {import("./placing.js").Member} Member */
/** @typedef {import("./placing.js").Group} Group */
/**
 * @typedef {{ experiment: any, stages: { id: string, name: string, kind: string }[], treatments: string[], personas: string[], progress: any,
 *   groups: Group[], members: Member[], cursor: string }} BoardRead
 */

/** @param {string} id @returns {Promise<BoardRead>} */
export async function readBoard(id) {
  return boardOf(await get(`/experiments/${id}/board`));
}

/** @param {any} board @returns {BoardRead} */
export function boardOf(board) {
  const stages = board.stages.map((/** @type {any} */ one) => ({ id: one.id, kind: one.kind, name: one.title || one.id }));
  const groups = board.cohorts.map((/** @type {any[]} */ row) => groupOf(named(board.cohort_columns, row), board, stages));
  const ways = board.ways.map((/** @type {number[]} */ way) => way.map((index) => stages[index].id));
  return {
    experiment: board.experiment,
    stages,
    treatments: board.treatments,
    personas: board.personas,
    progress: board.progress,
    groups,
    members: board.members.map((/** @type {any[]} */ row) => memberOf(named(board.columns, row), board, ways, groups)),
    cursor: board.cursor,
  };
}

/** @param {string[]} columns @param {any[]} row @returns {any} */
const named = (columns, row) => Object.fromEntries(columns.map((column, index) => [column, row[index]]));

/** @param {any[]} list @param {number | null} index */
const at = (list, index) => (index === null ? null : (list[index] ?? null));

/** @param {any} one @param {any} board @param {{ id: string }[]} stages @returns {Group} */
const groupOf = (one, board, stages) => ({
  id: one.id, path: one.path, name: one.name || one.path, arm: at(board.treatments, one.treatment), isEnded: one.status === "ended", isLocked: one.locked, isAlone: one.alone,
  joinCode: one.join_code, seq: one.stream_seq, unlocked: new Set(one.unlocked.map((/** @type {number} */ index) => stages[index].id)),
});

/** @param {any} one @param {any} board @param {string[][]} ways @param {Group[]} groups @returns {Member} */
const memberOf = (one, board, ways, groups) => ({
  id: one.id, path: one.path, name: one.name, avatar: one.avatar, kind: one.kind, player: one.player, status: one.status,
  way: at(ways, one.way) ?? [], stage: at(at(ways, one.way) ?? [], one.position), group: groups[one.cohort].id,
  arm: at(board.treatments, one.treatment), since: one.since, goneAt: one.gone_at, ask: one.ask, isThinking: one.draft === "thinking",
});
