/** A place to drop files on, with a button that chooses them. */
import { h, html, useRef, useState } from "../vendor/preact.js";
import { Icon } from "./icons.js";
import { Press } from "./ui.js";
import { t } from "./words.js";

/** The files that were chosen; the same ones can be chosen again. @param {any} event @returns {File[]} None: the choice was cancelled. */
export function takeFiles({ currentTarget: input }) {
  const files = [...input.files];
  input.value = "";
  return files;
}

/** @param {{ children: any, label: string, onFiles: (files: File[]) => Promise<void>, isSmall?: boolean }} props */
export function Drop({ children, label, onFiles, isSmall = false }) {
  const [isOver, setOver] = useState(false);
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const drag = (/** @type {boolean} */ isIn) => (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    setOver(isIn);
  };
  const drop = (/** @type {DragEvent} */ event) => {
    drag(false)(event);
    void onFiles([...(event.dataTransfer?.files ?? [])]);
  };
  const choose = (/** @type {any} */ event) => {
    const chosen = takeFiles(event);
    if (chosen.length > 0) void onFiles(chosen);
  };
  return html`<div class=${`c-drop${isSmall ? " c-is-small" : ""}${isOver ? " c-over" : ""}`} onDragOver=${drag(true)} onDragLeave=${drag(false)} onDrop=${drop}>
    <p>${isSmall ? null : h(Icon, { name: "upload" })} ${children}</p>
    <input ref=${input} class="hidden" type="file" multiple tabindex="-1" aria-label=${label} onChange=${choose} />
    ${h(Press, { onPress: () => input.current?.click(), children: t("Choose files") })}</div>`;
}
