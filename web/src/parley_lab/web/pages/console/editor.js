/** A text with the numbers of its lines, and the problems at theirs. */
import { html, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { asLine } from "./ui.js";
import { t } from "./words.js";

const MOST_PROBLEMS = 100;

/** The line of a problem; 0 where it has none. @param {any} problem */
export const lineOf = (problem) => problem.line ?? Number(/^line (\d+)/.exec(problem.at ?? "")?.[1] ?? 0);

/** @param {{ text: string, onInput: (text: string) => void, problems: any[], isReadOnly: boolean }} props */
export function Editor({ text, onInput, problems, isReadOnly }) {
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const gutter = useRef(/** @type {HTMLElement | null} */ (null));
  const [line, setLine] = useState(1);
  const lines = text.split("\n");
  const wrong = new Set(problems.map(lineOf));
  const follow = () => {
    if (gutter.current && area.current) gutter.current.scrollTop = area.current.scrollTop;
  };
  const look = () => setLine((area.current?.value.slice(0, area.current.selectionStart).split("\n") ?? []).length);
  useLayoutEffect(follow, [lines.length]);

  /** Two spaces for Tab, unless Escape was pressed before it: then Tab leaves the text. */
  const isLeaving = useRef(false);
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Tab" && !event.shiftKey && !isLeaving.current && !isReadOnly) {
      event.preventDefault();
      const { selectionStart: from, selectionEnd: to } = /** @type {HTMLTextAreaElement} */ (area.current);
      area.current?.setRangeText("  ", from, to, "end");
      onInput(area.current?.value ?? "");
    }
    isLeaving.current = event.key === "Escape";
  };

  /** @param {number} number */
  function goTo(number) {
    const shown = area.current;
    if (!shown || number < 1) return;
    const start = lines.slice(0, number - 1).reduce((sum, one) => sum + one.length + 1, 0);
    shown.focus();
    shown.setSelectionRange(start, start + (lines[number - 1]?.length ?? 0));
    shown.scrollTop = (number - 6) * parseFloat(getComputedStyle(shown).lineHeight);
    setLine(number);
  }

  return html`<div class="c-editor"><div class="c-gutter" ref=${gutter} aria-hidden="true">${lines.map((_, index) => html`<span class=${`${wrong.has(index + 1) ? "c-wrong" : ""}${index + 1 === line ? " c-at" : ""}`}>${index + 1}</span>`)}</div>
      <textarea ref=${area} aria-label=${t("Text of the file")} wrap="off" spellcheck=${false} autocapitalize="off" readonly=${isReadOnly} value=${text} onScroll=${follow} onClick=${look} onKeyUp=${look} onKeyDown=${onKey}
        aria-invalid=${problems.length ? "true" : undefined} onInput=${(/** @type {any} */ event) => onInput(event.currentTarget.value)}></textarea></div>
    ${problems.length ? html`<ul class="c-problem-list" aria-label=${t("Problems")}>${problems.slice(0, MOST_PROBLEMS).map((one) => html`<li><button type="button" onClick=${() => goTo(lineOf(one))}><strong>${lineOf(one) ? t("line {number}", { number: String(lineOf(one)) }) : t("file")}</strong><span>${asLine({ ...one, at: one.where })}</span></button></li>`)}</ul>
      ${problems.length > MOST_PROBLEMS ? html`<p class="c-small">${t("{count} more problem|{count} more problems", { count: problems.length - MOST_PROBLEMS })}</p>` : null}` : null}`;
}
