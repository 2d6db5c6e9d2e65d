/** The board with a row for each arm: a waffle of marks in each cell, drawn on a canvas, since there may be thousands. */
import { h, html, useEffect, useRef } from "../vendor/preact.js";
import { columnsOf } from "./matrix.js";
import { columnOf, fillOf, THROUGH } from "./placing.js";
import { inDigits, t } from "./words.js";

const SIDE = 7;

/** @typedef {import("./placing.js").Member} Member */

/** @param {{ board: import("./board_state.js").BoardState, groups: import("./placing.js").Group[] }} props */
export function ByArm({ board, groups }) {
  const columns = columnsOf(board);
  const first = board.about.stages[0]?.id ?? THROUGH;
  /** @type {Map<string, Map<string, Member[]>>} */
  const arms = new Map(board.about.treatments.map((/** @type {string} */ one) => [one, new Map()]));
  for (const group of groups) {
    for (const member of board.membersOf.get(group.id) ?? []) {
      if (member.kind === "mediator") continue;
      const arm = member.arm ?? group.arm ?? "";
      const cells = arms.get(arm) ?? new Map();
      arms.set(arm, cells);
      const column = columnOf(member, first);
      cells.set(column, [...(cells.get(column) ?? []), member]);
    }
  }
  return html`<div class="c-scrolls" role="region" aria-label=${t("Arms by stages")} tabindex="0"><table class="c-table c-arms">
    <caption class="hidden">${t("Arms by stages")}</caption>
    <thead><tr><th scope="col">${t("arm")}</th>${columns.map((one) => html`<th scope="col">${one.name}</th>`)}</tr></thead>
    <tbody>${[...arms].map(([arm, cells]) => html`<tr><th scope="row">${arm || t("no arm")}</th>
      ${columns.map((column) => html`<td>${inDigits(cells.get(column.id)?.length ?? 0)}${h(Waffle, { members: cells.get(column.id) ?? [], board })}</td>`)}</tr>`)}</tbody></table></div>`;
}

/** @param {{ members: Member[], board: import("./board_state.js").BoardState }} props */
function Waffle({ members, board }) {
  const ref = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const across = Math.min(20, Math.max(5, Math.ceil(Math.sqrt(members.length * 2))));
  const down = Math.ceil(members.length / across);
  useEffect(() => {
    const canvas = ref.current;
    const context = canvas?.getContext("2d");
    if (!canvas || !context) return;
    const style = getComputedStyle(canvas);
    const colours = { person: style.getPropertyValue("--c-person"), agent: style.getPropertyValue("--c-agent") };
    context.clearRect(0, 0, canvas.width, canvas.height);
    members.forEach((member, index) => {
      const colour = member.player === "person" ? colours.person : colours.agent;
      const isHollow = ["waits", "open"].includes(fillOf(member, board.groups.get(member.group)));
      context.fillStyle = context.strokeStyle = colour;
      const [x, y] = [(index % across) * SIDE + 1, Math.floor(index / across) * SIDE + 1];
      if (isHollow) context.strokeRect(x + 0.5, y + 0.5, SIDE - 3, SIDE - 3);
      else context.fillRect(x, y, SIDE - 2, SIDE - 2);
    });
  });
  return members.length === 0 ? null : html`<canvas ref=${ref} aria-hidden="true" width=${across * SIDE} height=${down * SIDE}></canvas>`;
}
