/** Cooperation over rounds: a line for each player with its interval, and the same as a table. */
import { h, html, useState } from "../vendor/preact.js";
import { Rows, Switch } from "./ui.js";
import { inDigits, t } from "./words.js";

const [WIDE, HIGH, LEFT, BELOW] = [640, 220, 40, 24];
const MOST_LINES = 16;

/** @param {{ rows: any[] }} props Of the table `cooperation_over_time`. */
export function Curves({ rows }) {
  const [view, setView] = useState("chart");
  const names = [...new Set(rows.map((one) => one.name || one.player))].slice(0, MOST_LINES);
  const lines = names.map((name) => /** @type {[string, any[]]} */ ([name, rows.filter((one) => (one.name || one.player) === name)]));
  const rounds = Math.max(...rows.map((one) => one.round), 2);
  return html`<section class="c-card"><h2>${t("Cooperation over rounds")}</h2>${h(Switch, { label: t("Show as"), value: view, options: [["chart", t("chart")], ["table", t("table")]], onChoose: setView })}
    ${view === "chart" ? h(Chart, { lines, rounds }) : h(Rows, { caption: t("Cooperation over rounds"), isCompact: true, columns: [t("player"), t("round"), t("mean"), t("interval")], rows: rows.slice(0, 400).map((one) => [one.name || one.player, one.round, inDigits(one.mean), `${inDigits(one.low)} – ${inDigits(one.high)}`]) })}</section>`;
}

/** @param {{ lines: [string, any[]][], rounds: number }} props */
function Chart({ lines, rounds }) {
  const x = (/** @type {number} */ round) => LEFT + ((round - 1) / (rounds - 1)) * (WIDE - LEFT - 8);
  const y = (/** @type {number} */ share) => 8 + (1 - Math.min(1, Math.max(0, share))) * (HIGH - BELOW - 8);
  const path = (/** @type {any[]} */ points, /** @type {string} */ of) => points.map((one) => `${x(one.round).toFixed(1)},${y(one[of]).toFixed(1)}`);
  const drawn = lines.flatMap(([, points], index) => [
    h("polygon", { class: `c-band c-line-${index % 8}`, points: [...path(points, "high"), ...path(points, "low").reverse()].join(" ") }),
    h("polyline", { class: `c-curve c-line-${index % 8}`, points: path(points, "mean").join(" ") }),
  ]);
  const axis = [0, 0.5, 1].map((share) => [h("line", { class: "c-grid", x1: LEFT, x2: WIDE, y1: y(share), y2: y(share) }), h("text", { x: LEFT - 6, y: y(share) + 4, "text-anchor": "end" }, `${100 * share} %`)]);
  return html`<figure class="c-chart">${h("svg", { role: "img", "aria-label": t("Cooperation over rounds, a line for each player"), viewBox: `0 0 ${WIDE} ${HIGH}` }, [...axis, ...drawn, h("text", { x: WIDE, y: HIGH - 4, "text-anchor": "end" }, t("round {number}", { number: rounds }))])}
    <figcaption>${lines.map(([name], index) => html`<span><i class=${`c-swatch c-line-${index % 8}`}></i> ${name}</span>`)}</figcaption></figure>`;
}
