/** Results: the charts of the data, what to be careful about, and the tables of measures. */
import { h, html } from "../vendor/preact.js";
import { asked } from "./address.js";
import { get } from "./api.js";
import { HeatMap, Overview } from "./arena.js";
import { ChartCard } from "./chart.js";
import { Lazy } from "./lazy.js";
import { Empty, Loaded, Press, Rows, useLoaded } from "./ui.js";
import { inDigits, t, word } from "./words.js";

const SHOWN_ROWS = 100;
const SHOWN_CAUTIONS = 30;
const BOARD = "leaderboard-";
const HEAT_MAP = "cooperation";

/** @param {import("./experiment.js").PageProps} props */
export default function Results(props) {
  if (asked("game") || asked("player")) return h(Lazy, { load: () => import("./arena_games.js"), props });
  return h(All, props);
}

/** @param {import("./experiment.js").PageProps} props */
function All({ id, experiment }) {
  const charts = useLoaded(() => get(`/experiments/${id}/charts`), [id, experiment.status]);
  const measures = useLoaded(() => get(`/experiments/${id}/measures`), [id, experiment.status]);
  const again = () => Promise.all([charts.again(), measures.again()]);
  return html`${experiment.model_mode === "mock" ? html`<p class="notice warning">${t("Mock data: no model was asked. These figures say that the experiment runs, and nothing about people or models.")}</p>` : null}
    ${experiment.status === "running" ? html`<p>${h(Press, { onPress: again, children: t("Read again") })}</p>` : null}
    ${measures.data ? h(Cautions, { tables: measures.data.tables }) : null}
    ${h(Loaded, { of: charts, show: (found) => found.charts.length === 0 ? h(Empty, { children: html`<p>${t("There are no data yet.")}</p>` })
      : h(Charts, { id, status: experiment.status, charts: found.charts }) })}
    ${h(Loaded, { of: measures, show: (found) => found.tables.filter((/** @type {any} */ one) => one.name !== "cautions").map((/** @type {any} */ one) => html`<details class="c-card"><summary>${word(one.name)} <span class="c-small">${t("{count} row|{count} rows", { count: one.rows.length })}</span></summary>${h(AsTable, { table: one })}</details>`) })}`;
}

/** The charts; of an arena first its figures and its leaderboards, in one card. @param {{ id: string, status: string, charts: any[] }} props */
function Charts({ id, status, charts }) {
  const boards = charts.filter((one) => one.id.startsWith(BOARD));
  const others = charts.filter((one) => !boards.includes(one));
  return html`${boards.length ? h(Overview, { id, status }) : null}
    <div class="c-charts">${boards.length ? h(ChartCard, { key: `boards/${status}`, experiment: id, heads: boards }) : null}
      ${others.map((one) => h(ChartCard, { key: `${one.id}/${status}`, experiment: id, heads: [one], draw: one.id === HEAT_MAP ? HeatMap : undefined, isWide: one.id === HEAT_MAP }))}</div>`;
}

/** @param {{ tables: any[] }} props */
function Cautions({ tables }) {
  const rows = tables.find((one) => one.name === "cautions")?.rows ?? [];
  if (rows.length === 0) return null;
  return html`<details class="c-card" open=${rows.length < 4}><summary>${t("Be careful")} <span class="c-small">${t("{count} caution|{count} cautions", { count: rows.length })}</span></summary><ul>${rows.slice(0, SHOWN_CAUTIONS).map((/** @type {any} */ one) => html`<li><strong>${one.subject}</strong> ${one.caution}</li>`)}</ul></details>`;
}

/** @param {{ table: any }} props */
const AsTable = ({ table }) => h(Rows, { caption: word(table.name), isCompact: true, columns: table.columns, rows: table.rows.slice(0, SHOWN_ROWS).map((/** @type {any} */ row) => table.columns.map((/** @type {string} */ column) => inCell(row[column]))) });

/** @param {any} value */
const inCell = (value) => (value === null || value === undefined ? "" : typeof value === "number" ? inDigits(value, 3) : typeof value === "object" ? JSON.stringify(value) : String(value));
