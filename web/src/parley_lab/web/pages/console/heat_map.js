/** How often the row cooperates with the column, as a table whose cells are tinted. */
import { html } from "../vendor/preact.js";
import { inDigits, t } from "./words.js";

/** @param {{ rows: any[] }} props Of the table `cooperation`. */
export function HeatMap({ rows }) {
  const players = [...new Map(rows.map((one) => [one.player, one.name || one.player]))];
  const found = new Map(rows.map((one) => [`${one.player}\0${one.opponent}`, one]));
  const cell = (/** @type {any} */ one) => one?.mean == null
    ? html`<td class="c-heat">–</td>`
    : html`<td class="c-heat" style=${`--c-share:${Math.round(100 * one.mean)}%`} title=${t("{count} game|{count} games", { count: one.games })}>${inDigits(100 * one.mean, 0)} %</td>`;
  return html`<section class="c-card"><h2>${t("How often the row cooperates with the column")}</h2><div class="c-scrolls" role="region" tabindex="0" aria-label=${t("Cooperation")}><table class="c-table c-heats">
    <caption class="hidden">${t("Cooperation")}</caption><thead><tr><th scope="col">${t("player")}</th>${players.map(([, name]) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody>${players.map(([player, name]) => html`<tr><th scope="row">${name}</th>${players.map(([opponent]) => cell(found.get(`${player}\0${opponent}`)))}</tr>`)}</tbody></table></div></section>`;
}
