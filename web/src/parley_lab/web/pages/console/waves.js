/** Waves: the agents that were asked about one thing at once, and what became of each. Pure rules. */

/**
 * @typedef {{ id: string, name: string, trigger: string, wave: number, state: string, purpose: string, message: string | null, after: number,
 *   began: string | null, ready: string | null, ended: string | null }} Lane
 *   `trigger`: what it answers; `message`: the id of the one that came of it; `after`: the number of the newest message that it knew.
 * @typedef {{ lanes: Lane[] }} Wave
 */

/** A draft of the lab as a lane. @param {any} draft @returns {Lane} */
export const laneOf = (draft) => ({
  id: draft.id, name: draft.name || draft.member, trigger: draft.trigger_key ?? "", wave: draft.wave, state: draft.state, purpose: draft.purpose, message: draft.message_id,
  after: draft.as_of_seq ?? 0, began: draft.began_at ?? draft.created_at, ready: draft.finished_at, ended: draft.closed_at,
});

/**
 * The waves by the message beside which they are shown: the one that came of it, else the newest one that it knew.
 * @param {Lane[]} lanes @returns {{ spoken: Map<string, Wave>, silent: Map<number, Wave[]> }}
 */
export function waves(lanes) {
  /** @type {Map<string, Wave>} */
  const found = new Map();
  for (const lane of lanes) {
    const key = `${lane.trigger} ${lane.wave}`;
    const wave = found.get(key) ?? { lanes: [] };
    wave.lanes.push(lane);
    found.set(key, wave);
  }
  const [spoken, silent] = [new Map(), new Map()];
  for (const wave of found.values()) {
    const message = wave.lanes.find((one) => one.message !== null)?.message;
    const after = Math.max(...wave.lanes.map((one) => one.after));
    if (message) spoken.set(message, wave);
    else silent.set(after, [...(silent.get(after) ?? []), wave]);
  }
  return { spoken, silent };
}

/**
 * Where a lane begins, is ready and ends, as shares of the time that its wave took.
 * @param {Lane} lane @param {Wave} wave @returns {{ from: number, ready: number, to: number } | null} null: it was not begun.
 */
export function span(lane, wave) {
  const times = wave.lanes.flatMap((one) => [one.began, one.ready, one.ended]).flatMap((one) => (one === null ? [] : [Date.parse(one)]));
  if (lane.began === null || times.length === 0) return null;
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const share = (/** @type {string | null} */ at) => (at === null ? 1 : (Date.parse(at) - first) / Math.max(1, last - first));
  return { from: share(lane.began), ready: share(lane.ready ?? lane.ended), to: share(lane.ended) };
}
