/** Going through a form row by row: which fields are shown now, and for how long. */
import { html, useEffect, useState } from "../vendor/preact.js";
import { forget, recall, remember } from "./memory.js";
import { saveNow } from "./saving.js";
import { say } from "./words.js";

/** @typedef {{ questions: string[][], seconds: number | null, pause_seconds: number }} Turns */

/**
 * The row that is shown. Which one it is, this browser remembers; `first` says it where it does not.
 * @param {Turns | null} turns @param {string} key @param {() => number} first
 */
export function useTurn(turns, key, first) {
  const place = `${key}:turn`;
  const count = turns?.questions.length ?? 0;
  const [at, setAt] = useState(() => Math.max(0, Math.min(Number(recall(place) ?? first()), count - 1)));
  const pause = turns?.pause_seconds ?? 0;
  const [isPaused, setPaused] = useState(pause > 0);
  useEffect(() => {
    if (!isPaused) return undefined;
    const end = setTimeout(() => setPaused(false), 1000 * pause);
    return () => clearTimeout(end);
  }, [at, isPaused]);
  return {
    at,
    count,
    isPaused,
    isLast: at >= count - 1,
    names: turns ? turns.questions[at] ?? [] : null,
    next() {
      saveNow();
      remember(place, String(at + 1));
      setAt(at + 1);
      setPaused(pause > 0);
      scrollTo(0, 0);
    },
    drop: () => forget(place),
  };
}

/**
 * How far one is, and the end of the time for a row.
 * @param {{ turn: ReturnType<typeof useTurn>, seconds: number | null, onTimeUp: () => void }} props
 */
export function Turn({ turn, seconds, onTimeUp }) {
  useEffect(() => {
    if (seconds === null || turn.isPaused) return undefined;
    const end = setTimeout(onTimeUp, 1000 * seconds);
    return () => clearTimeout(end);
  }, [turn.at, turn.isPaused]);
  const values = { number: turn.at + 1, count: turn.count };
  return html`<p class="hint" role="status">${say("row_of", values)}</p>
    <progress max=${turn.count} value=${turn.at} aria-label=${say("row_of", values)}></progress>`;
}
