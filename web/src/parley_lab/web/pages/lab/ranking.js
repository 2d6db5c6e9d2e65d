/** An order made by buttons, by Alt and an arrow key, or by dragging. */
import { h, html, useEffect, useRef, useState } from "../vendor/preact.js";
import { Button } from "./ui.js";
import { say } from "./words.js";

/**
 * A field whose value is the ids that have a place, the best first; where there are fewer places than ids, the others
 * are listed below.
 * @param {{ id: string, field: any, value: string[] | undefined, isDisabled: boolean, onChange: (value: string[]) => void }} props
 */
export function Ranking({ id, field, value, isDisabled, onChange }) {
  /** @type {{ const: string, title: string }[]} */
  const options = field.items.oneOf;
  const places = Math.min(field.maxItems ?? options.length, options.length);
  const all = options.map((option) => option.const);
  const order = [...(value ?? []), ...all.filter((one) => !value?.includes(one))];
  const [told, setTold] = useState("");
  const [dragged, setDragged] = useState(/** @type {string | null} */ (null));
  const list = useRef(/** @type {HTMLOListElement | null} */ (null));
  const moved = useRef(/** @type {string | null} */ (null));
  useEffect(() => {
    if (moved.current === null) return;
    const at = order.indexOf(moved.current);
    moved.current = null;
    /** @type {HTMLElement | undefined} */ (list.current?.children[at])?.focus();
  });
  const titleOf = (/** @type {string} */ one) => options.find((option) => option.const === one)?.title ?? one;

  /** @param {string} one @param {number} to */
  function move(one, to) {
    const from = order.indexOf(one);
    if (isDisabled || to < 0 || to >= order.length || from === to) return;
    const next = order.filter((other) => other !== one);
    next.splice(to, 0, one);
    setTold(to < places ? say("ranked", { name: titleOf(one), place: to + 1, count: places }) : say("not_ranked", { name: titleOf(one) }));
    onChange(next.slice(0, places));
  }

  /** @param {string} one @param {number} to */
  function moveAndFocus(one, to) {
    moved.current = one;
    move(one, to);
  }

  // Pointer events, since dragging as HTML has it does not work by touch.
  /** @param {PointerEvent} event @param {string} one */
  function grab(event, one) {
    if (isDisabled || event.button !== 0) return;
    event.preventDefault();
    /** @type {HTMLElement} */ (event.currentTarget).setPointerCapture(event.pointerId);
    setDragged(one);
  }

  /** @param {PointerEvent} event */
  function drag(event) {
    if (dragged === null || list.current === null) return;
    const boxes = [...list.current.children].map((row) => row.getBoundingClientRect());
    const to = boxes.findIndex((box) => event.clientY >= box.top && event.clientY <= box.bottom);
    if (to >= 0) move(dragged, to);
  }

  return html`<p class="hint" id=${`${id}-hint`}>${places < order.length ? `${say("ranking_places", { count: places })} ` : ""}${say("ranking_hint")}</p>
    <ol class="ranking" ref=${list} aria-describedby=${`${id}-hint`}>
      ${order.map(
        (one, index) => html`<li key=${one} tabindex="0" class=${`${one === dragged ? "dragged" : ""} ${index < places ? "" : "unplaced"}`}
          onKeyDown=${(/** @type {KeyboardEvent} */ event) => {
            if (!event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
            event.preventDefault();
            moveAndFocus(one, index + (event.key === "ArrowUp" ? -1 : 1));
          }}>
          <span class="handle" aria-hidden="true" onPointerDown=${(/** @type {PointerEvent} */ event) => grab(event, one)}
            onPointerMove=${drag} onPointerUp=${() => setDragged(null)} onPointerCancel=${() => setDragged(null)}>⠿</span>
          <span class="place">${index < places ? index + 1 : "–"}</span><span class="what">${titleOf(one)}</span>
          ${h(Button, { kind: "quiet", isDisabled: isDisabled || index === 0, label: say("move_up", { name: titleOf(one) }), onPress: () => move(one, index - 1), children: "↑" })}
          ${h(Button, { kind: "quiet", isDisabled: isDisabled || index === order.length - 1, label: say("move_down", { name: titleOf(one) }), onPress: () => move(one, index + 1), children: "↓" })}
        </li>`,
      )}
    </ol>
    ${value === undefined ? html`<p>${h(Button, { kind: "quiet", isDisabled, onPress: () => onChange(order.slice(0, places)), children: say("keep_this_order") })}</p>` : null}
    <p class="hidden" role="status">${told}</p>`;
}
