/** A replay, step by step, of a game or a conversation: played at a pace, or stepped through by buttons and keys. */
import { h, html, useEffect, useState } from "../vendor/preact.js";
import { Press } from "./ui.js";
import { inDigits, t } from "./words.js";

const FASTEST_MS = 100;
const SLOWEST_MS = 1000;
/** So many rounds are seen at once. */
const SEEN = 30;
const SIDES = ["a", "b"];

/** @typedef {import("./tables.js").Row} Row */

/** One move, with the letter that the player used and what replaced it. @param {{ row: Row, side: string }} props */
export function Move({ row, side }) {
  const [action, letter, flag] = [row[`action_${side}`], row[`letter_${side}`], row[`flag_${side}`]];
  return html`<span class=${`c-move c-move-${action || "none"}${flag ? " c-flagged" : ""}`}>${action || "–"}</span>${letter && action && letter !== action ? html` <span class="c-small">(${letter})</span>` : null}${flag ? html` <span class="c-wrong-text">${t("flagged: {flag}", { flag })}</span>` : null}`;
}

/**
 * Something that happened step by step, played at a pace, or stepped through by buttons and keys.
 * @param {{ end: number, at: number, setAt: (at: number) => void, title: string, children: any }} props `at`: how many steps are over; 0 is before the first one.
 */
export function Steps({ end, at, setAt, title, children }) {
  const [isPlaying, setPlaying] = useState(false);
  const [pace, setPace] = useState(500);
  useEffect(() => {
    if (!isPlaying) return undefined;
    if (at >= end) return void setPlaying(false);
    const timer = setTimeout(setAt, pace, at + 1);
    return () => clearTimeout(timer);
  }, [isPlaying, at, pace]);

  /** By hand, which stops the play. @param {number} to */
  function step(to) {
    setPlaying(false);
    setAt(Math.min(end, Math.max(0, to)));
  }
  function toggle() {
    if (!isPlaying && at >= end) setAt(0);
    setPlaying(!isPlaying);
  }
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    // A slider has these keys for itself, a button the space.
    const isOther = event.target instanceof HTMLInputElement || (event.key === " " && event.target instanceof HTMLButtonElement);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: end }[event.key];
    if (isOther || event.ctrlKey || event.metaKey || event.altKey || (to === undefined && event.key !== " ")) return;
    event.preventDefault();
    if (to === undefined) toggle();
    else step(to);
  };
  return html`<section class="c-card c-replay" role="group" tabindex="0" aria-label=${t("Replay")} onKeyDown=${onKey}>
    <div class="c-acts">${h(Press, { onPress: () => step(0), isDisabled: at === 0, children: t("First") })}${h(Press, { icon: "back", onPress: () => step(at - 1), isDisabled: at === 0, children: t("Back") })}
      ${h(Press, { kind: "primary", icon: isPlaying ? "pause" : "play", onPress: toggle, children: isPlaying ? t("Pause") : t("Play") })}
      ${h(Press, { icon: "step", onPress: () => step(at + 1), isDisabled: at === end, children: t("Forward") })}${h(Press, { onPress: () => step(end), isDisabled: at === end, children: t("Last") })}
      <label class="c-range"><span>${t("{milliseconds} ms a step", { milliseconds: inDigits(pace) })}</span><input type="range" min=${FASTEST_MS} max=${SLOWEST_MS} step="100" value=${pace} onInput=${(/** @type {any} */ event) => setPace(Number(event.currentTarget.value))} /></label></div>
    <p class="c-small">${t("Arrow keys step, Home and End lead to the ends, and the space bar plays and pauses.")}</p>
    <label class="c-range c-rounds"><span>${title}</span><input type="range" min="0" max=${end} value=${at} onInput=${(/** @type {any} */ event) => step(Number(event.currentTarget.value))} /></label>
    ${typeof children === "function" ? children(isPlaying) : children}</section>`;
}

/**
 * `at`: how many rounds are over; 0 is before the first one.
 * @param {{ rows: Row[], names: string[], at: number, setAt: (at: number) => void }} props
 */
export function Replay({ rows, names, at, setAt }) {
  const title = t("Round {number} of {all}", { number: inDigits(at), all: inDigits(rows.length) });
  return h(Steps, { end: rows.length, at, setAt, title, children: (/** @type {boolean} */ isPlaying) => html`${SIDES.map((side, index) => h(Lane, { rows, side, name: names[index], at }))}
    <p class="hidden" aria-live=${isPlaying ? "off" : "polite"}>${at ? inWords(rows[at - 1], names) : ""}</p>` });
}

/** A round in words. @param {Row} row @param {string[]} names */
const inWords = (row, names) => SIDES.map((side, index) => `${names[index]}: ${row[`action_${side}`] || t("no move")}, ${t("{count} point|{count} points", { count: Number(row[`points_${side}`]) || 0 })}`).join("; ");

/** The last moves of a player, and what they have earned so far. @param {{ rows: Row[], side: string, name: string, at: number }} props */
function Lane({ rows, side, name, at }) {
  const seen = rows.slice(Math.max(0, at - SEEN), at);
  const total = at ? Number(rows[at - 1][`total_${side}`]) : 0;
  const most = Math.max(1, ...SIDES.map((one) => Math.abs(Number(rows[rows.length - 1][`total_${one}`]))));
  return html`<div class="c-lane-of-player"><strong>${name}</strong> <span class="c-small">${t("{count} point|{count} points", { count: total })}</span>
    <div class="c-total" aria-hidden="true"><i style=${`inline-size:${Math.min(100, (100 * Math.abs(total)) / most)}%`}></i></div>
    <div class="c-moves" aria-hidden="true">${seen.map((row, index) => html`<span key=${row.round} class=${`c-move c-move-${row[`action_${side}`] || "none"}${row[`flag_${side}`] ? " c-flagged" : ""}${index === seen.length - 1 ? " c-newest" : ""}`}>${row[`action_${side}`] || "–"}</span>`)}</div></div>`;
}
