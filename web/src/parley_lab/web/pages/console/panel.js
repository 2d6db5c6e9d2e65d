/** The panel beside the board: one member or one group, with what can be done. */
import { h, html, useEffect, useRef } from "../vendor/preact.js";
import { ask, asked } from "./address.js";
import { GroupPanel } from "./group_panel.js";
import { MemberPanel } from "./member_panel.js";
import { Press } from "./ui.js";
import { t } from "./words.js";

/** Parts whose properties stay the same are drawn again with the board (`drawn`). @param {{ experiment: any, board: import("./board_state.js").BoardState }} props */
export function Panel({ experiment, board }) {
  void board.drawn.value;
  const member = board.members.get(asked("member"));
  const group = board.groups.get(member?.group ?? asked("cohort"));
  const key = member?.id ?? group?.id ?? "";
  const ref = useRef(/** @type {HTMLElement | null} */ (null));
  const before = useRef(/** @type {Element | null} */ (null));
  useEffect(() => {
    before.current ??= document.activeElement;
    ref.current?.focus({ preventScroll: true });
  }, [key]);
  function close() {
    const opener = before.current;
    const own = group ? document.querySelector(`[data-group="${group.id}"]`) : null;
    ask({ member: "", cohort: "" });
    const back = opener instanceof HTMLElement && opener.isConnected && opener !== document.body ? opener : own;
    if (back instanceof HTMLElement) back.focus({ preventScroll: true });
  }
  const onKey = (/** @type {KeyboardEvent} */ event) => event.key === "Escape" && !document.querySelector("dialog[open]") && close();
  return html`<aside class="c-panel" ref=${ref} tabindex="-1" aria-label=${member ? member.path : (group?.path ?? t("Panel"))} onKeyDown=${onKey}>
    <span class="c-panel-close">${h(Press, { kind: "bare", icon: "close", label: t("Close"), onPress: close, children: null })}</span>
    ${member && group ? h(MemberPanel, { key, experiment, board, member, group }) : group ? h(GroupPanel, { key, experiment, board, group }) : html`<p>${t("There is no such member or group.")}</p>`}</aside>`;
}
