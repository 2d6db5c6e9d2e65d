/** One chart of the data: drawn, as a table, and as its specification. */
import { h, html, useEffect, useRef, useState } from "../vendor/preact.js";
import { get } from "./api.js";
import { Choice, Copy, Failure, Loading, Rows, Switch, useLoaded } from "./ui.js";
import { inDigits, t } from "./words.js";

const SHOWN_ROWS = 200;
const REDRAWN_MS = 200;
const COLOURS = 8;

/**
 * A card that loads its chart once it comes near the window.
 * @param {{ experiment: string, heads: any[], draw?: any, isWide?: boolean }} props `heads`: of several, the reader chooses one. `draw`: a component that draws it otherwise.
 */
export function ChartCard({ experiment, heads, draw = Drawn, isWide = false }) {
  const [chosen, setChosen] = useState(heads[0].id);
  const head = heads.find((one) => one.id === chosen) ?? heads[0];
  const card = useRef(/** @type {HTMLElement | null} */ (null));
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    const watch = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && setNear(true), { rootMargin: "400px" });
    if (card.current) watch.observe(card.current);
    return () => watch.disconnect();
  }, []);
  return html`<section ref=${card} class=${isWide ? "c-card c-whole" : "c-card"}><h2>${t(head.title)}</h2>${heads.length > 1 ? h(Choice, { label: t("Convention"), isHidden: false, value: head.id, options: heads.map((one) => /** @type {[string, string]} */ ([one.id, t(one.title)])), onChoose: setChosen }) : null}
    ${isNear ? h(Shown, { key: head.id, path: `/experiments/${experiment}/charts/${encodeURIComponent(head.id)}`, title: t(head.title), draw }) : h(Loading, {})}</section>`;
}

/** @param {{ path: string, title: string, draw: any }} props */
function Shown({ path, title, draw }) {
  const [view, setView] = useState("chart");
  const loaded = useLoaded(() => get(path), [path]);
  const chart = loaded.data;
  if (chart === null) return loaded.error ? h(Failure, { error: loaded.error, onAgain: loaded.again }) : h(Loading, {});
  const spec = JSON.stringify({ ...chart.spec, data: { values: objects(chart) } }, null, 1);
  return html`<div class="c-chart-head"><span class="c-small">${t("{count} row of {table}.csv|{count} rows of {table}.csv", { count: chart.rows.length, table: chart.table })}${chart.is_made_up ? ` · ${t("made up")}` : ""}</span>
      ${h(Switch, { label: t("Show {title} as", { title }), value: view, options: [["chart", t("chart")], ["table", t("table")], ["spec", t("specification")]], onChoose: setView })}</div>
    <p class="c-small">${t(chart.note)}</p>
    ${chart.cautions.map((/** @type {string} */ one) => html`<p class="notice warning">${one}</p>`)}
    ${view === "chart" ? h(draw, { chart, title }) : null}
    ${view === "table" ? h(Rows, { caption: title, isCompact: true, columns: chart.columns, rows: chart.rows.slice(0, SHOWN_ROWS).map(inCells) }) : null}
    ${view === "spec" ? html`<pre class="c-raw" tabindex="0" aria-label=${t("specification")}>${JSON.stringify(chart.spec, null, 1)}</pre>${h(Copy, { text: spec, children: t("Copy with its rows") })}` : null}`;
}

/** @param {any[]} row */
const inCells = (row) => row.map((value) => (typeof value === "number" ? inDigits(value, 3) : (value ?? "")));

/** @param {any} chart @returns {object[]} */
const objects = ({ columns, rows }) => rows.map((/** @type {any[]} */ row) => Object.fromEntries(columns.map((/** @type {string} */ column, /** @type {number} */ index) => [column, row[index]])));

/** @param {{ chart: any, title: string }} props */
function Drawn({ chart, title }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const [state, setState] = useState(/** @type {{ isDrawn: boolean, error: unknown }} */ ({ isDrawn: false, error: null }));
  const width = useWidth(place);
  useEffect(() => {
    /** @type {{ finalize(): unknown } | null} */
    let view = null;
    let isOver = false;
    const begin = async () => {
      const shown = place.current;
      if (shown === null || width === 0) return;
      try {
        const { compile, parse, View, expressionInterpreter } = await import("./vendor/vega.js");
        const { spec } = compile({ ...chart.spec, data: { values: objects(chart) }, width, autosize: { type: "fit-x", contains: "padding" }, config: configOf(shown) });
        if (isOver) return;
        const made = new View(parse(spec, {}, { ast: true }), { renderer: "svg", expr: expressionInterpreter }).initialize(shown);
        view = made;
        await made.runAsync();
        setState({ isDrawn: true, error: null });
      } catch (error) {
        setState({ isDrawn: false, error });
      }
    };
    void begin();
    return () => {
      isOver = true;
      view?.finalize();
    };
  }, [chart, width]);
  return html`${state.error ? h(Failure, { error: state.error }) : state.isDrawn ? null : h(Loading, {})}<div class="c-drawn" role="img" aria-label=${title} aria-description=${t(chart.note)}><div ref=${place} aria-hidden="true"></div></div>`;
}

/** The width that there is, which changes with the window and is measured anew with the colours of another scheme. @param {{ current: HTMLElement | null }} place */
function useWidth(place) {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    let timer = 0;
    const measure = () => setWidth(Math.floor(place.current?.parentElement?.clientWidth ?? 0));
    const later = () => {
      clearTimeout(timer);
      timer = setTimeout(measure, REDRAWN_MS);
    };
    measure();
    addEventListener("resize", later);
    return () => {
      clearTimeout(timer);
      removeEventListener("resize", later);
    };
  }, []);
  return width;
}

/** The look of the page, for Vega, to which a colour such as `light-dark()` is a text. @param {HTMLElement} place */
function configOf(place) {
  const probe = place.ownerDocument.createElement("span");
  place.append(probe);
  const colourOf = (/** @type {string} */ name) => {
    probe.className = name;
    return getComputedStyle(probe).color;
  };
  const [ink, muted, line] = ["c-ink", "c-small", "c-of-line"].map(colourOf);
  const category = Array.from({ length: COLOURS }, (_, index) => colourOf(`c-line-${index}`));
  const paper = colourOf("c-of-paper");
  probe.remove();
  // Text over the darkest shade can still be read.
  const shades = [0, 0.15, 0.3, 0.45, 0.6].map((share) => blended(paper, category[0], share));
  const text = { labelColor: ink, titleColor: muted, titleFontWeight: 500, labelLimit: 220 };
  return {
    background: "transparent", aria: false, font: getComputedStyle(place).fontFamily, view: { stroke: null },
    axis: { ...text, gridColor: line, domainColor: line, tickColor: line }, legend: { ...text, orient: "bottom", columns: 4 },
    bar: { color: category[0] }, line: { color: category[0] }, rule: { color: category[0] }, point: { color: category[0] }, text: { color: ink },
    range: { category, heatmap: shades, ramp: shades },
  };
}

/** A colour between two, both as `rgb(1, 2, 3)`. @param {string} from @param {string} to @param {number} share */
function blended(from, to, share) {
  const [start, end] = [from, to].map((one) => (one.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number));
  return `rgb(${start.map((value, index) => Math.round(value + (end[index] - value) * share)).join(",")})`;
}
