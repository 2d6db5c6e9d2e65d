/** Going through a form row by row: which fields are shown now, and for how long. */
import { h, html, useEffect, useRef, useState } from "../vendor/preact.js";
import { Form } from "./form.js";
import { forget, recall, remember } from "./memory.js";
import { saveNow } from "./saving.js";
import { say } from "./words.js";

/**
 * @typedef {{ questions: string[][], seconds: number | null, pause_seconds: number }} Turns
 * @typedef {{ of: (fields: [string, any][]) => [string, any][], isPaused: boolean, label?: string, next?: () => void, drop: () => void,
 *   head: (onTimeUp: () => void) => any }} Shown What a form shows of its fields: those of one row, below how far one is. `next`
 *   shows the next row; the last one has none.
 */

/** Whether nothing is entered. @param {any} value @returns {boolean} */
const isEmpty = (value) => !value || (typeof value === "object" && Object.values(value).every(isEmpty));

/**
 * The lab saves every field of the rows that lie behind, with null where it was left empty, and of the row that is shown what is entered.
 * So the first row that lacks a field is the one to go on with.
 * @param {any} answer @param {string[][]} rows @param {number} at
 */
const savedOf = (answer, rows, at) =>
  Object.fromEntries([
    ...rows.slice(0, at).flat().map((name) => [name, answer?.[name] ?? null]),
    ...(rows[at] ?? []).map((name) => [name, answer?.[name]]).filter(([, value]) => value === 0 || !isEmpty(value)),
  ]);

/**
 * A form of which one row is shown at a time. Which one it is, this browser remembers; else it is the first that the lab lacks.
 * @param {any} props those of a form, with the `turns`
 */
export function InTurns({ turns, ...form }) {
  const place = `${form.draftKey}:turn`;
  const { questions, seconds, pause_seconds: pause } = /** @type {Turns} */ (turns);
  const count = questions.length;
  const lacking = () => questions.findIndex((row) => row.some((name) => (form.saved ?? {})[name] === undefined));
  const firstToGoOnWith = () => (lacking() < 0 ? count - 1 : lacking());
  const [at, setAt] = useState(() => Math.max(0, Math.min(Number(recall(place) ?? firstToGoOnWith()), count - 1)));
  const reached = useRef(at);
  const onSave = form.onSave && ((/** @type {any} */ answer) => form.onSave(savedOf(answer, questions, reached.current)));
  const [isPaused, setPaused] = useState(pause > 0);
  const isStopped = form.isDisabled === true;
  useTime(isPaused ? pause : null, { row: at, isStopped }, () => setPaused(false));

  function next() {
    reached.current = at + 1;
    saveNow();
    remember(place, String(at + 1));
    setAt(at + 1);
    setPaused(pause > 0);
    scrollTo(0, 0);
  }
  const isLast = at >= count - 1;
  const head = (/** @type {() => void} */ onTimeUp) => h(HowFar, { at, count, seconds: isPaused ? null : seconds, isStopped, onTimeUp });
  const of = (/** @type {[string, any][]} */ fields) => (isPaused ? [] : fields.filter(([name]) => questions[at]?.includes(name)));
  return h(Form, { ...form, onSave, turn: { of, isPaused, head, drop: () => forget(place), ...(isLast ? {} : { next, label: say("next_row") }) } });
}

/**
 * How far one is, and the end of the time for a row.
 * @param {{ at: number, count: number, seconds: number | null, isStopped: boolean, onTimeUp: () => void }} props
 */
function HowFar({ at, count, seconds, isStopped, onTimeUp }) {
  // What is entered until then counts.
  useTime(seconds, { row: at, isStopped }, onTimeUp);
  const words = say("row_of", { number: at + 1, count });
  return html`<p class="hint" role="status">${words}</p>
    <progress max=${count} value=${at} aria-label=${words}></progress>`;
}

/**
 * Call `onEnd` after so many seconds of a row. The clock stops while `isStopped`, and goes on with the rest.
 * @param {number | null} seconds null: there is no limit now. @param {{ row: number, isStopped: boolean }} how @param {() => void} onEnd
 */
function useTime(seconds, { row, isStopped }, onEnd) {
  const latest = useRef(onEnd);
  latest.current = onEnd;
  const left = useRef({ row: -1, ms: 0 });
  useEffect(() => {
    if (seconds === null) return undefined;
    if (left.current.row !== row) left.current = { row, ms: 1000 * seconds };
    if (isStopped) return undefined;
    const begun = performance.now();
    const end = setTimeout(() => latest.current(), left.current.ms);
    return () => {
      clearTimeout(end);
      left.current.ms -= performance.now() - begun;
    };
  }, [row, seconds, isStopped]);
}
