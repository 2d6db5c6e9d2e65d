/** The board as it is read from the lab. */
import { all, get } from "./api.js";

/** @typedef {import("./placing.js").Member} Member */
/** @typedef {import("./placing.js").Group} Group */
/**
 * @typedef {{ experiment: any, stages: { id: string, name: string, kind: string }[], treatments: any[], personas: any[], progress: any,
 *   groups: Group[], members: Member[], cursor: string }} BoardRead
 */

/** @param {string} id @returns {Promise<BoardRead>} */
export async function readBoard(id) {
  const [experiment, document, cohorts, members] = await Promise.all([
    get(`/experiments/${id}`),
    get(`/experiments/${id}/file`),
    all(`/experiments/${id}/cohorts`, "cohorts"),
    all(`/experiments/${id}/members`, "members"),
  ]);
  const named = (/** @type {any} */ one) => ({ id: one.id, kind: one.kind, name: one.name || one.profile?.name || one.title || one.id });
  return {
    experiment,
    stages: document.stages.map(named),
    treatments: (document.treatments ?? []).map(named),
    personas: (document.personas ?? []).map(named),
    progress: experiment.progress,
    groups: cohorts.map(groupOf),
    members: members.map(memberOf),
    cursor: "",
  };
}

/** @param {any} one @returns {Group} */
const groupOf = (one) => ({ id: one.id, path: one.path, name: one.name || one.path, arm: one.treatment_id, isEnded: one.status === "ended", isLocked: one.locked, openSeats: one.open_seats, joinCode: one.join_code, unlocked: null });

/** @param {any} one @returns {Member} */
const memberOf = (one) => ({
  id: one.id, path: one.path, name: one.profile.name, avatar: one.profile.avatar, kind: one.kind, player: one.player, status: one.status,
  stage: one.stage_id, group: one.cohort_id, arm: one.treatment_id, since: one.arrived_at, goneAt: one.gone_at,
});
