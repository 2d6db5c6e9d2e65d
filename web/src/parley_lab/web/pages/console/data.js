/** The data: each table a hundred rows at a time, all files to take home, and how a program reads them. */
import { h, html, useState } from "../vendor/preact.js";
import { ask, asked } from "./address.js";
import { download, get, query } from "./api.js";
import { act } from "./confirm.js";
import { Choice, Copy, Empty, Loaded, Press, Rows, useLoaded } from "./ui.js";
import { inDigits, t } from "./words.js";

const A_PAGE = 100;

/** @param {import("./experiment.js").PageProps} props */
export default function Data({ id, experiment }) {
  const tables = useLoaded(() => get(`/experiments/${id}/tables`), [id, experiment.status]);
  const take = (/** @type {string} */ format) => act(() => download(`/experiments/${id}/export${format ? `?format=${format}` : ""}`, `${experiment.name}${format ? `-${format}` : ""}.zip`), t("The file is stored."));
  return html`<section class="c-card"><h2>${t("Take home")}</h2><div class="c-acts">
      ${h(Press, { kind: "primary", icon: "download", onPress: () => take(""), children: t("All data (CSV and JSON)") })}
      ${h(Press, { icon: "download", onPress: () => take("csv"), children: t("CSV only") })}${h(Press, { icon: "download", onPress: () => take("json"), children: t("JSON only") })}</div></section>
    ${h(Loaded, { of: tables, show: (found) => found.tables.length === 0 ? h(Empty, { children: html`<p>${t("There are no data yet.")}</p>` }) : h(Tables, { id, tables: found.tables }) })}`;
}

/** @param {{ id: string, tables: { name: string, rows: number }[] }} props */
function Tables({ id, tables }) {
  const name = asked("table") || tables[0].name;
  const said = (/** @type {{ name: string, rows: number }} */ one) => `${one.name} (${inDigits(one.rows)})`;
  return html`<div class="c-filters">${h(Choice, { label: t("Table"), isHidden: false, value: name, options: tables.map((one) => /** @type {[string, string]} */ ([one.name, said(one)])), onChoose: (table) => ask({ table }) })}
      ${h(Press, { icon: "download", onPress: () => act(() => download(`/experiments/${id}/tables/${name}?format=csv`, `${name.replaceAll("/", "-")}.csv`), t("The file is stored.")), children: t("This table as CSV") })}</div>
    ${h(Table, { key: name, id, name })}${h(Code, { title: t("In Python"), code: inPython(name) })}${h(Code, { title: t("In R"), code: inR(name) })}`;
}

/** @param {{ id: string, name: string }} props */
function Table({ id, name }) {
  const [after, setAfter] = useState(0);
  const loaded = useLoaded(() => get(`/experiments/${id}/tables/${name}${query({ after: after || null, limit: A_PAGE })}`), [id, name, after]);
  return h(Loaded, { of: loaded, show: (found) => html`${h(Rows, { caption: name, isCompact: true, columns: found.columns, rows: found.rows })}
    <div class="c-acts c-pages">${after ? h(Press, { onPress: () => setAfter(Math.max(0, after - A_PAGE)), children: t("Earlier rows") }) : null}${found.next_after === null ? null : h(Press, { onPress: () => setAfter(found.next_after), children: t("Later rows") })}
      <span class="c-small">${t("{from} to {to} of {all} rows", { from: Math.min(after + 1, found.found), to: after + found.rows.length, all: found.found })}</span></div>` });
}

/** How the standard library reads a table, and how pandas does. @param {string} name */
const inPython = (name) => `import csv

csv.field_size_limit(2**31 - 1)  # a cell may be long
with open("${name}.csv", encoding="utf-8-sig", newline="") as file:
    rows = list(csv.DictReader(file))

# with pandas:
# rows = pandas.read_csv("${name}.csv", keep_default_na=False, na_values=[""])`;

/** @param {string} name */
const inR = (name) => `rows <- readr::read_csv("${name}.csv", na = "")`;

/** @param {{ title: string, code: string }} props */
const Code = ({ title, code }) => html`<section class="c-card"><h2>${title}</h2><pre class="c-raw" tabindex="0" aria-label=${title}>${code}</pre>${h(Copy, { text: code, children: t("Copy") })}</section>`;
