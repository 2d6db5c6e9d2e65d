/** Groups by stages: a mark for each member. Only the rows in the window are made. */
import { h, html, useEffect, useRef, useState } from "../vendor/preact.js";
import { ask, asked, withQuery } from "./address.js";
import { Icon } from "./icons.js";
import { Dot, inNumbers } from "./marks.js";
import { columnOf, doesWait, isIn, OUT, roundsOf, THROUGH, waitingSince } from "./placing.js";
import { inDigits, lasting, t } from "./words.js";

const SPARE_ROWS = 6;
const NARROW_PX = 700;
/** A wait of a moment is none. */
const SHOWN_WAIT_MS = 10_000;

/** @typedef {import("./board_state.js").BoardState} BoardState */
/** @typedef {import("./placing.js").Group} Group */
/** @typedef {import("./placing.js").Member} Member */
/** @typedef {{ id: string, name: string, icon: string }} Column */

/** @param {BoardState} board @returns {Column[]} */
export const columnsOf = (board) => [...board.about.stages.map((/** @type {any} */ one) => ({ id: one.id, name: one.name || one.id, icon: iconOf(one.kind) })), { id: THROUGH, name: t("Through"), icon: "check" }, { id: OUT, name: t("Out"), icon: "close" }];

/** A picture for a kind of stage. @param {string} kind */
function iconOf(kind) {
  if (/chat|interview/.test(kind)) return "message";
  if (/game|contest/.test(kind)) return "grid";
  return { survey: "list", survey_per_participant: "list", ranking: "list", comprehension: "list", payout: "coin", reveal: "eye", waiting_room: "clock", terms_of_service: "check" }[kind] ?? "file";
}

/** The members of a cell, mediators beside the group's name left out. @param {BoardState} board @param {Group} group @returns {Map<string, Member[]>} */
export function cellsOf(board, group) {
  const first = board.about.stages[0]?.id ?? THROUGH;
  const found = new Map();
  for (const member of board.membersOf.get(group.id) ?? []) {
    if (member.kind === "mediator") continue;
    const column = columnOf(member, first);
    found.set(column, [...(found.get(column) ?? []), member]);
  }
  return found;
}

/** @param {{ board: BoardState, groups: Group[] }} props */
export function Matrix({ board, groups }) {
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const columns = columnsOf(board);
  const height = useRowHeight(body);
  const [first, last] = useWindow(body, groups.length, height);
  const shown = groups.slice(first, last);
  if (groups.length === 0) return html`<p class="c-empty">${t("No group is like this.")}</p>`;
  const open = (/** @type {MouseEvent} */ event) => {
    const member = event.target instanceof HTMLElement ? event.target.dataset.member : undefined;
    if (member) ask({ member, cohort: "" });
  };
  return html`<div class="c-matrix" role="table" aria-label=${t("Groups by stages")} aria-rowcount=${groups.length + 1} style=${`--c-columns:${columns.length}`}>
    <div role="rowgroup" class="c-matrix-head"><div role="row" class="c-row" aria-rowindex="1"><span role="columnheader" class="c-group">${t("{count} group|{count} groups", { count: groups.length })}</span>
      ${columns.map((column) => h(ColumnHead, { key: column.id, column, board }))}</div></div>
    <div role="rowgroup" ref=${body} class="c-matrix-body" onClick=${open} onKeyDown=${walk} style=${`block-size:${groups.length * height}px`}>
      ${shown.map((group, index) => h(Row, { key: group.id, board, group, columns, index: first + index, top: (first + index) * height }))}</div></div>`;
}

/** An arrow leads so many rows down and cells to the right. @type {Record<string, [number, number]>} */
const STEPS = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] };

/** The name of a group and its cells, in their order. @param {Element | null} row @returns {HTMLElement[]} */
const placesOf = (row) => [...(row?.querySelectorAll("a, [role=cell]") ?? [])].filter((one) => one instanceof HTMLElement);

/** Arrows go from group to group and from cell to cell; Enter opens what is in the cell. @param {KeyboardEvent} event */
function walk(event) {
  const row = event.target instanceof Element ? event.target.closest(".c-row") : null;
  const places = placesOf(row);
  const here = places.findIndex((one) => one === event.target);
  const [down, right] = STEPS[event.key] ?? [0, 0];
  if (!row || here < 0) return;
  if (down || right) {
    event.preventDefault();
    const next = down > 0 ? row.nextElementSibling : down < 0 ? row.previousElementSibling : row;
    placesOf(next)[here + right]?.focus();
  } else if (event.key === "Enter" && here > 0) openCell(places[here], places[0].dataset.group ?? "");
}

/** Open the one member of a cell; of several or none, the group. @param {HTMLElement} cell @param {string} group */
function openCell(cell, group) {
  const dots = [...cell.querySelectorAll("[data-member]")].map((one) => one.getAttribute("data-member") ?? "");
  ask(dots.length === 1 ? { member: dots[0], cohort: "" } : { member: "", cohort: group });
}

/** @param {{ column: Column, board: BoardState }} props */
function ColumnHead({ column, board }) {
  void board.drawn.value;
  let [here, waits] = [0, 0];
  const first = board.about.stages[0]?.id ?? THROUGH;
  for (const member of board.members.values()) {
    if (member.kind === "mediator" || member.status === "expected" || columnOf(member, first) !== column.id) continue;
    here += 1;
    if (doesWait(member, board.groups.get(member.group))) waits += 1;
  }
  const all = Math.max(1, board.members.size);
  return html`<span role="columnheader" class="c-cell"><span class="c-column-icon" title=${column.name}>${h(Icon, { name: column.icon })}</span><span class="c-column-name" title=${column.name}>${column.name}</span>
    <span class="c-load" aria-hidden="true"><svg viewBox="0 0 100 4" preserveAspectRatio="none"><rect class="c-load-waits" width=${(100 * waits) / all} height="4" /><rect class="c-load-here" x=${(100 * waits) / all} width=${(100 * (here - waits)) / all} height="4" /></svg></span>
    <span class="c-count">${inDigits(here)}${waits ? html`<span class="hidden">, ${t("{count} waits|{count} wait", { count: waits })}</span>` : null}</span></span>`;
}

/** @param {{ board: BoardState, group: Group, columns: Column[], index: number, top: number }} props */
function Row({ board, group, columns, index, top }) {
  void board.drawn.value;
  const cells = cellsOf(board, group);
  const members = board.membersOf.get(group.id) ?? [];
  const chosen = asked("member");
  const isOpen = asked("cohort") === group.id || members.some((one) => one.id === chosen);
  const mediators = members.filter((one) => one.kind === "mediator" && isIn(one));
  return html`<div role="row" class=${isOpen ? "c-row c-here" : "c-row"} aria-rowindex=${index + 2} style=${`inset-block-start:${top}px`}>
    <span role="rowheader" class="c-group"><a href=${withQuery({ member: "", cohort: group.id })} data-group=${group.id}>${group.name}</a>${mediators.map((one) => h(Dot, { member: one, group }))}${group.isLocked ? html`<span title=${t("locked")}>${h(Icon, { name: "lock" })}<span class="hidden">${t("locked")}</span></span>` : null}${h(Beside, { board, group, members })}</span>
    ${columns.map((column) => h(Cell, { key: column.id, column, members: cells.get(column.id) ?? [], group, chosen }))}</div>`;
}

/** Since when the group waits, or else its arm. @param {{ board: BoardState, group: Group, members: Member[] }} props */
function Beside({ board, group, members }) {
  const since = waitingSince(group, members);
  const wait = since === null ? 0 : Date.now() - since;
  if (wait >= SHOWN_WAIT_MS && !group.isEnded) return html`<span class="c-beside-name c-waiting">${h(Icon, { name: "clock" })}${lasting(wait)}</span>`;
  return board.about.treatments.length > 1 && group.arm ? html`<span class="c-beside-name">${group.arm}</span>` : null;
}

/** @param {{ column: Column, members: Member[], group: Group, chosen: string }} props */
function Cell({ column, members, group, chosen }) {
  const isAfter = column.id === THROUGH || column.id === OUT;
  const isClosed = !isAfter && !group.unlocked.has(column.id);
  const rounds = roundsOf(members);
  return html`<span role="cell" tabindex="-1" class=${`c-cell${isAfter ? " c-after" : isClosed ? " c-closed" : ""}`}>
    <span class="hidden">${inNumbers(members, group)}</span>${members.map((one) => h(Dot, { key: one.id, member: one, group, isChosen: one.id === chosen }))}${rounds === null ? null : html`<span class="c-small c-round">${t("round {number}", { number: rounds })}</span>`}</span>`;
}

/** The height of a row in pixels: the style sheet has two. @param {{ current: HTMLElement | null }} body */
function useRowHeight(body) {
  const read = () => (innerWidth < NARROW_PX ? 64 : 34);
  const [height, setHeight] = useState(read);
  useEffect(() => {
    const change = () => setHeight(read());
    addEventListener("resize", change);
    return () => removeEventListener("resize", change);
  }, [body]);
  return height;
}

/** The rows that are in the window of the browser, from and to. @param {{ current: HTMLElement | null }} body @param {number} count @param {number} height */
function useWindow(body, count, height) {
  const [span, setSpan] = useState([0, 40]);
  useEffect(() => {
    const look = () => {
      const above = -(body.current?.getBoundingClientRect().top ?? 0);
      const from = Math.max(0, Math.floor(above / height) - SPARE_ROWS);
      const to = Math.max(from, Math.ceil((above + innerHeight) / height) + SPARE_ROWS);
      setSpan(([before, after]) => (before === from && after === to ? [before, after] : [from, to]));
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [height, count]);
  return [Math.min(span[0], count), Math.min(span[1], count)];
}
