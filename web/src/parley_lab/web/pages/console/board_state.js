/** The data of the board: a record for each member and group, read once and changed by the events of the stream. */
import { signal } from "../vendor/preact.js";
import { isMissing } from "./api.js";
import { listen } from "./live.js";
import { readBoard } from "./reading_board.js";

/** @typedef {import("./placing.js").Member} Member */
/** @typedef {import("./placing.js").Group} Group */

/** The board is drawn at most so often, whatever happens. */
const DRAWN_MS = 100;
/** The board is read again for what no event says, once for many. */
const READ_AGAIN_MS = 400;
/** Until the next try to read a board that could not be read. */
const BEGIN_AGAIN_MS = 2000;
const SECONDS_KEPT = 60;

/** @type {Record<string, string>} What a member's status is after an event, where the event says all of it. */
const STATUS_AFTER = { "member.paused": "paused", "member.resumed": "in_progress", "member.checked": "attention_check", "member.check_passed": "in_progress", "member.transfer_offered": "transfer_pending", "member.transfer_withdrawn": "in_progress" };
const OUTCOMES = new Set(["left", "removed", "failed", "declined", "screened_out", "released", "attention_failed", "dropped_out", "transfer_declined", "transfer_timed_out"]);
/** What changes nothing that the board shows but figures. */
const QUIET = /^(alert\.|message\.|thread\.|answer|draft\.|stage\.updated|member\.(messaged|viewed|profile_changed|stayed_away))/;

export class BoardState {
  /** @param {string} id of the experiment */
  constructor(id) {
    this.id = id;
    /** @type {Map<string, Member>} */
    this.members = new Map();
    /** @type {Map<string, Group>} */
    this.groups = new Map();
    /** @type {Map<string, Member[]>} */
    this.membersOf = new Map();
    /** @type {Map<string, number>} */
    this.changedAt = new Map();
    /** @type {any} What was read of the experiment: its stages, treatments, personas, progress. */
    this.about = null;
    this.perSecond = new Array(SECONDS_KEPT).fill(0);
    /** Changes with each drawing. */
    this.drawn = signal(0);
    /** @type {import("@preact/signals").Signal<string | null>} */
    this.status = signal(null);
    /** @type {import("@preact/signals").Signal<unknown>} */
    this.error = signal(null);
    /** @type {Set<(type: string, event: any) => void>} */
    this.ears = new Set();
    this.second = 0;
    this.timers = { draw: 0, read: 0, tick: 0 };
  }

  /** Read the board and follow it, until the answer is called. @returns {() => void} */
  follow() {
    let stop = () => {};
    let isOver = false;
    const begin = async () => {
      const cursor = await this.read();
      if (isOver) return;
      if (cursor === null && !isMissing(this.error.value)) this.later(begin, BEGIN_AGAIN_MS);
      if (cursor === null) return;
      // Hints have no cursor: those from before the stream was open, or while it was cut, come with another reading.
      stop = listen(`/experiments/${this.id}/stream?of=board`, cursor, { onEvent: (type, event) => this.apply(type, event), onBack: async () => (await this.read()) ?? cursor, onLive: () => this.readSoon() });
    };
    void begin();
    this.timers.tick = setInterval(() => this.tick(), 1000);
    return () => {
      isOver = true;
      stop();
      clearTimeout(this.timers.read);
      clearTimeout(this.timers.draw);
      clearInterval(this.timers.tick);
    };
  }

  /** Read the whole board anew. @returns {Promise<string | null>} The cursor to follow from; null where it could not be read. */
  async read() {
    /** @type {[string, any][]} What was read may be older than what comes while it is on its way. */
    const meanwhile = [];
    const stop = this.hear((type, event) => void meanwhile.push([type, event]));
    try {
      const board = await readBoard(this.id);
      stop();
      this.take(board);
      for (const [type, event] of meanwhile) this.apply(type, event);
      this.error.value = null;
      return board.cursor;
    } catch (error) {
      stop();
      this.error.value = error;
      return null;
    }
  }

  /** @param {import("./reading_board.js").BoardRead} board */
  take(board) {
    this.about = board;
    this.status.value = board.experiment.status;
    this.groups = new Map(board.groups.map((one) => [one.id, one]));
    this.members = new Map();
    this.membersOf = new Map();
    for (const member of board.members) this.keep(member);
    this.draw();
  }

  /** @param {Member} member */
  keep(member) {
    this.members.set(member.id, member);
    const others = this.membersOf.get(member.group);
    if (others) others.push(member);
    else this.membersOf.set(member.group, [member]);
  }

  /** Take one event or hint of the stream. @param {string} type @param {any} event */
  apply(type, event) {
    const group = this.groups.get(event.cohort_id);
    // After a cut some events come again, and what was read knows those before it.
    if (group && event.stream_seq <= group.seq) return;
    if (group) group.seq = event.stream_seq;
    if (event.cohort_id) {
      this.perSecond[this.second] += 1;
      this.changedAt.set(event.cohort_id, Date.parse(event.at));
    }
    if (!this.changes(type, event, group)) this.readSoon();
    for (const hear of this.ears) hear(type, event);
    this.draw();
  }

  /** Change what the event is about. @param {string} type @param {any} event @param {Group | undefined} group @returns {boolean} false: read the board again. */
  changes(type, { data, at, subject_id: subject }, group) {
    if (type === "message.created" && this.about) this.about.progress.messages += 1;
    if (QUIET.test(type)) return true;
    if (type === "experiment.changed") return Boolean((this.status.value = data.status));
    if (type === "progress.changed") return Boolean(Object.assign(this.about.progress, data));
    if (type === "drafts.changed") {
      for (const [id, state] of Object.entries(data.members)) {
        const one = this.members.get(id);
        if (one) one.isThinking = state === "thinking";
      }
      return true;
    }
    if (group && type === "stage.unlocked") return Boolean(group.unlocked.add(data.stage_id));
    const member = this.members.get(data?.member_id ?? subject);
    return member !== undefined && group !== undefined && moves(member, type, { data, at });
  }

  /** Read the board again, once for all that comes until then. */
  readSoon() {
    this.later(() => this.read(), READ_AGAIN_MS);
  }

  /** Do this after a time, unless something is to be read before. @param {() => Promise<unknown>} read @param {number} ms */
  later(read, ms) {
    if (this.timers.read) return;
    this.timers.read = setTimeout(() => {
      this.timers.read = 0;
      void read();
    }, ms);
  }

  draw() {
    if (this.timers.draw) return;
    this.timers.draw = setTimeout(() => {
      this.timers.draw = 0;
      this.drawn.value += 1;
    }, DRAWN_MS);
  }

  tick() {
    this.second = (this.second + 1) % SECONDS_KEPT;
    this.perSecond[this.second] = 0;
    if (!document.hidden && this.status.value === "running") this.draw();
  }

  /** Hear each event, too. @param {(type: string, event: any) => void} ear @returns {() => void} */
  hear(ear) {
    this.ears.add(ear);
    return () => void this.ears.delete(ear);
  }
}

/** @param {Member} member @param {string} type @param {any} event @returns {boolean} whether the event says all of it */
function moves(member, type, { data, at }) {
  if (type === "member.moved") {
    Object.assign(member, { stage: data.to_stage_id, since: at, ask: null, status: data.to_stage_id === null && member.kind === "participant" ? "completed" : member.status });
    return true;
  }
  if (type === "member.gone" || type === "member.returned") {
    member.goneAt = type === "member.gone" ? at : null;
    return true;
  }
  if (type === "ask.opened") return Boolean((member.ask = data.key));
  if (type === "ask.answered") {
    if (member.ask === data.key) member.ask = null;
    return true;
  }
  const outcome = type.slice("member.".length);
  const status = STATUS_AFTER[type] ?? (OUTCOMES.has(outcome) ? outcome : undefined);
  if (status === undefined) return false;
  Object.assign(member, { status, goneAt: OUTCOMES.has(outcome) ? null : member.goneAt });
  // The seat of a person who is out may be free again: no event has its new row.
  return !(OUTCOMES.has(outcome) && member.player === "person");
}
