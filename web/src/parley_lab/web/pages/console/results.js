/** Results: what the data of an experiment come to, as figures to look at and as tables. */
import { h, html, useState } from "../vendor/preact.js";
import { get } from "./api.js";
import { Curves } from "./curves.js";
import { HeatMap } from "./heat_map.js";
import { Choice, Empty, Loaded, Press, Rows, useLoaded } from "./ui.js";
import { inDigits, t, word } from "./words.js";

const SHOWN_ROWS = 100;
/** Tables that have a figure of their own, or a place beside the others. */
const SHOWN = new Set(["leaderboard", "cooperation", "cooperation_over_time", "payoffs", "cautions"]);

/** @param {import("./experiment.js").PageProps} props */
export default function Results({ id, experiment }) {
  const loaded = useLoaded(() => get(`/experiments/${id}/measures`), [id, experiment.status]);
  return h(Loaded, { of: loaded, show: (found) => html`${found.model_mode === "mock" ? html`<p class="notice warning">${t("Mock data: no model was asked. These figures say that the experiment runs, and nothing about people or models.")}</p>` : null}
    ${found.tables.length === 0 ? h(Empty, { children: html`<p>${t("The stages of this experiment have no measures of their own.")}</p><p><a href=${`/console/e/${id}/data`}>${t("All answers and messages are in the data.")}</a></p>` }) : h(Cards, { tables: found.tables })}
    ${experiment.status === "running" ? html`<p>${h(Press, { onPress: loaded.again, children: t("Read again") })}</p>` : null}` });
}

/** @param {{ tables: any[] }} props */
function Cards({ tables }) {
  const named = new Map(tables.map((one) => [one.name, one]));
  const rows = (/** @type {string} */ name) => named.get(name)?.rows ?? [];
  return html`${rows("leaderboard").length ? h(Leaderboard, { rows: rows("leaderboard") }) : null}
    ${rows("cooperation").length ? h(HeatMap, { rows: rows("cooperation") }) : null}
    ${rows("cooperation_over_time").length ? h(Curves, { rows: rows("cooperation_over_time") }) : null}
    ${rows("payoffs").length ? h(Payoffs, { rows: rows("payoffs") }) : null}
    ${rows("cautions").length ? html`<section class="c-card"><h2>${t("Be careful")}</h2><ul>${rows("cautions").slice(0, 30).map((/** @type {any} */ one) => html`<li><strong>${one.subject}</strong> ${one.caution}</li>`)}</ul></section>` : null}
    ${tables.filter((one) => !SHOWN.has(one.name)).map((one) => html`<details class="c-card"><summary>${word(one.name)} <span class="c-small">${t("{count} row|{count} rows", { count: one.rows.length })}</span></summary>${h(AsTable, { table: one })}</details>`)}`;
}

/** @param {{ table: any }} props */
const AsTable = ({ table }) => h(Rows, { caption: word(table.name), isCompact: true, columns: table.columns, rows: table.rows.slice(0, SHOWN_ROWS).map((/** @type {any} */ row) => table.columns.map((/** @type {string} */ column) => inCell(row[column]))) });

/** @param {any} value */
export const inCell = (value) => (value === null || value === undefined ? "" : typeof value === "number" ? inDigits(value, 3) : typeof value === "object" ? JSON.stringify(value) : String(value));

/** @param {{ rows: any[] }} props */
function Leaderboard({ rows }) {
  const conventions = [...new Set(rows.map((one) => one.convention))];
  const [convention, setConvention] = useState(conventions[0]);
  const shown = rows.filter((one) => one.convention === convention);
  const most = Math.max(...shown.map((one) => one.score ?? 0), 1e-9);
  return html`<section class="c-card"><h2>${t("Leaderboard")}</h2>
    ${h(Choice, { label: t("Games against oneself"), isHidden: false, value: convention, options: conventions.map((one) => /** @type {[string, string]} */ ([one, one])), onChoose: setConvention })}
    ${h(Rows, { caption: t("Leaderboard"), columns: [t("player"), t("rank"), shown[0]?.unit ?? t("points"), t("share of the best")], rows: shown.map((one) => [one.player, one.rank, inCell(one.score), h(Bar, { share: (one.score ?? 0) / most })]) })}</section>`;
}

/** @param {{ rows: any[] }} props */
function Payoffs({ rows }) {
  const most = Math.max(...rows.map((one) => one.high ?? one.mean ?? 0), 1e-9);
  return html`<section class="c-card"><h2>${t("Points a round")}</h2>
    ${h(Rows, { caption: t("Points a round"), columns: [t("player"), t("mean"), t("interval"), t("games"), t("share of the most")], rows: rows.map((one) => [one.name || one.player, inCell(one.mean), one.low === null ? "" : `${inCell(one.low)} – ${inCell(one.high)}`, inCell(one.games), h(Bar, { share: (one.mean ?? 0) / most })]) })}</section>`;
}

/** @param {{ share: number }} props */
const Bar = ({ share }) => html`<svg class="c-bar-mark" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width=${Math.max(0, Math.min(100, 100 * share))} height="8" /></svg>`;
