/** The time that is left, said aloud at one minute and at ten seconds. */
import { h, html, useEffect, useRef, useState } from "../vendor/preact.js";
import { saveNow } from "../lab/saving.js";
import { inClock, say } from "../lab/words.js";

const TICK_MS = 500;
const LAST_SECONDS = 3;
/** @type {Record<string, string>} */
const WORDS = { may_go_on: "may_go_on_in", waiting: "waiting_until", check: "answer_within", confirm: "answer_within", transfer: "answer_within" };
const TOLD = /** @type {const} */ ([[60, "one_minute_left"], [10, "ten_seconds_left"]]);

/**
 * @typedef {{ purpose: string, stage_id: string | null, ends_at: string | null, left_ms: number | null }} Timer
 * @param {{ me: { now: string, timers: Timer[], waiting: any }, onEnd: () => void }} props `onEnd`: a time is up.
 */
export function Clock({ me, onEnd }) {
  // Browsers' clocks are wrong.
  const since = useRef({ now: "", at: 0 });
  if (since.current.now !== me.now) since.current = { now: me.now, at: performance.now() };
  const { waiting } = me;
  const wait = waiting?.until ? [{ purpose: "waiting", stage_id: waiting.stage_id, ends_at: waiting.until, left_ms: null }] : [];
  const confirm = waiting?.confirm_until ? [{ purpose: "confirm", stage_id: waiting.stage_id, ends_at: waiting.confirm_until, left_ms: null }] : [];
  return html`<div class="clock">
    ${[...me.timers, ...wait, ...confirm].map((timer) => h(Left, { key: `${timer.purpose}/${timer.stage_id}/${timer.ends_at}`, timer, timeAt: () => Date.parse(me.now) + performance.now() - since.current.at, onEnd }))}
  </div>`;
}

/** @param {{ timer: Timer, timeAt: () => number, onEnd: () => void }} props */
function Left({ timer, timeAt, onEnd }) {
  const seconds = secondsLeft(timer, timeAt());
  const [, tick] = useState(0);
  const [told, setTold] = useState("");
  const before = useRef(seconds);
  useEffect(() => {
    if (timer.ends_at === null) return undefined;
    const turn = setInterval(() => {
      const left = secondsLeft(timer, timeAt());
      if (left === before.current) return;
      const passed = TOLD.find(([mark]) => left <= mark && before.current > mark);
      if (passed && left > 0) setTold(say(passed[1]));
      // What is entered until then counts, as far as the lab has it.
      if (left <= LAST_SECONDS && timer.purpose !== "may_go_on") saveNow();
      if (left === 0) onEnd();
      before.current = left;
      tick(left);
    }, TICK_MS);
    return () => clearInterval(turn);
  });
  const words = WORDS[timer.purpose] ?? "time_left";
  if (timer.purpose === "may_go_on" && seconds === 0) return null;
  return html`<p class=${timer.ends_at === null ? "time held" : "time"}>
    <span role="timer" aria-live="off" translate=${false}>${say(words, { time: inMinutes(seconds) })}</span>
    <span class="hidden" role="status" aria-live="polite">${timer.purpose === "may_go_on" ? "" : told}</span>
  </p>`;
}

/** @param {Timer} timer @param {number} now */
function secondsLeft(timer, now) {
  const left = timer.ends_at === null ? timer.left_ms ?? 0 : Date.parse(timer.ends_at) - now;
  return Math.max(0, Math.ceil(left / 1000));
}

/** @param {number} seconds */
function inMinutes(seconds) {
  const minutes = Math.floor(seconds / 60);
  const rest = inClock(seconds % 60, 2);
  if (minutes < 60) return `${inClock(minutes, 1)}:${rest}`;
  return `${inClock(Math.floor(minutes / 60), 1)}:${inClock(minutes % 60, 2)}:${rest}`;
}
