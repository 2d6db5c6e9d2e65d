/** The results of an arena: its first figures, and the heat map whose cells lead to games. */
import { h, html } from "../vendor/preact.js";
import { withQuery } from "./address.js";
import { rowsOf } from "./tables.js";
import { Figure, Loaded, useLoaded } from "./ui.js";
import { inDigits, t, word } from "./words.js";

/** The address of the games of two players. @param {string} player @param {string} opponent */
export const gamesOf = (player, opponent) => withQuery({ player, opponent, game: "", stage: "" });

/** The share that a text of the data is, in per cent. @param {string | number} share */
export const inPercent = (share) => (share === "" || share === null ? "–" : `${inDigits(Number(share) * 100, 0)} %`);

/** @param {{ id: string, status: string }} props */
export function Overview({ id, status }) {
  const loaded = useLoaded(() => rowsOf(id, "overview", {}), [id, status]);
  return h(Loaded, { of: loaded, show: (/** @type {import("./tables.js").Row[]} */ rows) => html`<section class="c-card" aria-label=${t("Overview")}><dl class="c-figures c-overview">${rows.map((one) => h(First, { one }))}</dl></section>` });
}

/** @param {{ one: import("./tables.js").Row }} props */
function First({ one }) {
  if (one.figure === "games") return h(Figure, { name: t("games"), value: inDigits(Number(one.value)) });
  if (one.pair) return h(Figure, { name: one.figure === "best_pair" ? t("most points a round") : t("fewest points a round"), value: inDigits(Number(one.value)), more: html`<a href=${gamesOf(one.player_a, one.player_b)}>${one.pair}</a>` });
  const interval = one.low === "" ? "" : t("{low} to {high} (95 %)", { low: inPercent(one.low), high: inPercent(one.high) });
  return h(Figure, { name: t("mean {what}", { what: word(one.figure) }), value: inPercent(one.value), more: interval });
}

/** A table in the colours of its shares: who cooperates with whom. @param {{ chart: any, title: string }} props */
export function HeatMap({ chart, title }) {
  const at = (/** @type {string} */ name) => chart.columns.indexOf(name);
  const [player, name, opponent, games, mean] = ["player", "name", "opponent", "games", "mean"].map(at);
  /** @type {Map<string, string>} */
  const names = new Map(chart.rows.map((/** @type {any[]} */ row) => [row[player], row[name]]));
  const cells = new Map(chart.rows.map((/** @type {any[]} */ row) => [`${row[player]}\n${row[opponent]}`, row]));
  /** @param {string} one @param {string} other */
  const cell = (one, other) => {
    const row = cells.get(`${one}\n${other}`);
    if (row === undefined) return html`<td></td>`;
    const said = t("{name} with {other}: {share}, {count} game|{name} with {other}: {share}, {count} games", { name: names.get(one), other: names.get(other), share: inPercent(row[mean]), count: row[games] });
    return html`<td style=${`--c-share:${Math.round(row[mean] * 60)}%`}><a href=${gamesOf(one, other)} aria-label=${said} title=${said}>${inPercent(row[mean])}</a></td>`;
  };
  const all = [...names.keys()];
  return html`<p class="c-small">${t("A cell leads to the games of the two.")}</p><div class="c-scrolls" role="region" aria-label=${title} tabindex="0"><table class="c-table c-heat"><caption class="hidden">${title}</caption>
    <thead><tr><td></td>${all.map((one) => html`<th scope="col">${names.get(one)}</th>`)}</tr></thead>
    <tbody>${all.map((one) => html`<tr><th scope="row">${names.get(one)}</th>${all.map((other) => cell(one, other))}</tr>`)}</tbody></table></div>`;
}
