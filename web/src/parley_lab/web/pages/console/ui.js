/** Small parts that pages of the console are made of. */
import { h, html, useEffect, useId, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { newId } from "../lab/api.js";
import { Heading, isOfWord } from "../lab/ui.js";
import { inWords } from "./api.js";
import { Icon } from "./icons.js";
import { t } from "./words.js";

/** How long dots say enough. */
const LONG_WAIT_MS = 2000;
const SHOWN_PROBLEMS = 50;

/**
 * @param {{ children: any, onPress: () => any, icon?: string, kind?: "primary" | "plain" | "bare" | "danger", isDisabled?: boolean,
 *   isBusy?: boolean, label?: string, isPressed?: boolean, title?: string }} props An `onPress` that answers later keeps the button busy.
 */
export function Press({ children, onPress, icon, kind = "plain", isDisabled = false, isBusy = false, label, isPressed, title }) {
  const [isAtWork, setAtWork] = useState(false);
  const isHeld = isDisabled || isBusy || isAtWork;
  async function press() {
    if (isHeld) return;
    setAtWork(true);
    try {
      await onPress();
    } finally {
      setAtWork(false);
    }
  }
  return html`<button type="button" class=${`c-press c-${kind}`} title=${title} aria-label=${label} aria-disabled=${isHeld ? "true" : undefined}
    aria-busy=${isBusy || isAtWork ? "true" : undefined} aria-pressed=${isPressed === undefined ? undefined : String(isPressed)} onClick=${press}>
    ${icon ? h(Icon, { name: icon }) : null}${children ? html`<span>${children}</span>` : null}</button>`;
}

/** An act that runs once at a time: a second press of Enter while it runs does nothing. @template {any[]} Given @param {(...given: Given) => Promise<any>} run */
export function useOneRun(run) {
  const isAtWork = useRef(false);
  return async (/** @type {Given} */ ...given) => {
    if (isAtWork.current) return;
    isAtWork.current = true;
    try {
      await run(...given);
    } finally {
      isAtWork.current = false;
    }
  };
}

/** Keys of requests: the same content has the same key until it is `done`, so that the lab does it once where an answer was lost. */
export function useRequestKey() {
  const last = useRef({ content: "", key: "" });
  return {
    of(/** @type {unknown} */ value) {
      const content = JSON.stringify(value);
      if (last.current.content !== content) last.current = { content, key: newId() };
      return last.current.key;
    },
    done: () => void (last.current = { content: "", key: "" }),
  };
}

/** A link that looks like a button. @param {{ children: any, to: string, icon?: string, isNewTab?: boolean }} props */
export function Go({ children, to, icon, isNewTab = false }) {
  return html`<a class="c-press c-plain" href=${to} target=${isNewTab ? "_blank" : undefined} rel=${isNewTab ? "noopener" : undefined}>
    ${icon ? h(Icon, { name: icon }) : null}<span>${children}</span></a>`;
}

/** The title of a page, with where it belongs above it. @param {{ title: any, trail?: any, children?: any }} props */
export function Head({ title, trail, children }) {
  return html`<div class="c-head"><div class="c-title">${trail ? html`<p class="c-trail">${trail}</p>` : null}${h(Heading, { children: title })}</div>
    ${children ? html`<div class="c-acts">${children}</div>` : null}</div>`;
}

/** Three dots, and after a while a sentence. */
export function Loading() {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    const timer = setTimeout(setLong, LONG_WAIT_MS, true);
    return () => clearTimeout(timer);
  }, []);
  return html`<p class="c-loading" role="status"><span class="c-dots" aria-hidden="true"><i></i><i></i><i></i></span>
    <span class=${isLong ? "" : "hidden"}>${isLong ? t("The lab takes its time. The page comes as soon as it answers.") : t("Loading")}</span></p>`;
}

/** What failed, and how to try again. @param {{ error: unknown, onAgain?: () => any }} props */
export function Failure({ error, onAgain }) {
  return html`<div class="notice error" role="alert"><p>${inWords(error)}</p>${h(Problems, { error })}
    ${onAgain ? html`<p>${h(Press, { onPress: onAgain, children: t("Try again") })}</p>` : null}</div>`;
}

/** All that is wrong with an input. @param {{ error: any }} props */
function Problems({ error }) {
  const problems = error?.problems ?? [];
  if (problems.length === 0) return null;
  return html`<ul>${problems.slice(0, SHOWN_PROBLEMS).map((/** @type {any} */ one) => html`<li>${asLine(one)}</li>`)}</ul>${h(MoreProblems, { count: problems.length - SHOWN_PROBLEMS })}`;
}

/** Say how many problems are not listed, if any. @param {{ count: number }} props */
export const MoreProblems = ({ count }) => (count > 0 ? html`<p class="c-small">${t("{count} more problem|{count} more problems", { count })}</p>` : null);

/** The codes of problems whose `wrong` and `hint` say all that people need. */
const IN_FULL = new Set(["missing_field", "unknown_field", "unknown_name", "repeated_id", "in_a_cell", "in_words"]);
const LACK = /^(nothing|no|none|neither)\b/;
const WITH_A_CLAUSE = /, (which|as|whose|where|after|in a|shared|another)\b/;

/** One problem as a line. @param {any} problem */
export const asLine = (problem) => {
  const place = problem.at || problem.where;
  const cell = problem.code === "in_a_cell" && !["nothing", "a blank cell"].includes(problem.found) ? ` (${t("found {found}", problem)})` : "";
  if (IN_FULL.has(problem.code)) return `${place}: ${problem.wrong}${cell}. ${problem.hint}`;
  const comma = WITH_A_CLAUSE.test(problem.found) ? "," : "";
  const found = ["nothing", "a blank cell"].includes(problem.found) ? "" : ` (${t("found {found}", problem)})`;
  const lack = LACK.test(problem.found) ? t("this has {found}", problem) : t("{found} cannot be used here", { found: `${problem.found}${comma}` });
  const said = [`${problem.wrong ? `${problem.wrong}${found}` : lack}.`, t("Write {expected}.", problem), problem.hint ? `${problem.hint}.` : ""].filter(Boolean);
  return `${place}: ${said.join(" ")}`;
};

/** A page that has nothing to show yet, with the one thing to do next. @param {{ children: any }} props */
export const Empty = ({ children }) => html`<div class="c-empty">${children}</div>`;

/**
 * What is loaded when one of `inputs` changes. What was shown stays while it is loaded anew, and when that fails.
 * @template T @param {() => Promise<T>} load @param {readonly any[]} inputs
 */
export function useLoaded(load, inputs) {
  const [state, setState] = useState(/** @type {{ data: T | null, error: unknown, isLoading: boolean }} */ ({ data: null, error: null, isLoading: true }));
  /** The number of the newest load, and of the newest one whose answer counts: an answer is shown while a later one is on its way. */
  const turn = useRef({ asked: 0, shown: 0 });
  async function again() {
    const mine = (turn.current.asked += 1);
    setState((before) => ({ ...before, isLoading: true }));
    try {
      const data = await load();
      show(mine, () => ({ data, error: null, isLoading: mine < turn.current.asked }));
    } catch (error) {
      show(mine, (before) => ({ ...before, error, isLoading: mine < turn.current.asked }));
    }
  }
  /** @typedef {{ data: T | null, error: unknown, isLoading: boolean }} Shown */
  /** @param {number} mine @param {(before: Shown) => Shown} next */
  function show(mine, next) {
    if (mine <= turn.current.shown) return;
    turn.current.shown = mine;
    setState(next);
  }
  useEffect(() => {
    setState({ data: null, error: null, isLoading: true });
    void again();
    // Answers to other inputs do not count.
    return () => void (turn.current.shown = turn.current.asked);
  }, inputs);
  return { ...state, again };
}

/** What was loaded, or why it is not there. @param {{ of: { data: any, error: unknown, isLoading: boolean, again: () => any }, show: (data: any) => any }} props */
export function Loaded({ of, show }) {
  return html`${of.error ? h(Failure, { error: of.error, onAgain: of.again }) : null}
    ${of.data === null ? (of.isLoading ? h(Loading, {}) : null) : show(of.data)}`;
}

/**
 * A dialog over the page. Escape closes it, and the focus returns to where it was.
 * @param {{ title: string, children: any, onClose: () => void, isWide?: boolean }} props
 */
export function Dialog({ title, children, onClose, isWide = false }) {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const id = useId();
  useLayoutEffect(() => {
    const shown = ref.current;
    if (shown && !shown.open) shown.showModal();
    return () => shown?.close();
  }, []);
  return html`<dialog ref=${ref} class=${isWide ? "c-dialog c-wide" : "c-dialog"} aria-labelledby=${id}
    onCancel=${(/** @type {Event} */ event) => {
      event.preventDefault();
      onClose();
    }}>
    <div class="c-dialog-head"><h2 id=${id}>${title}</h2>${h(Press, { kind: "bare", icon: "close", label: t("Close"), onPress: onClose, children: null })}</div>
    ${children}</dialog>`;
}

/**
 * A field with its label.
 * @param {{ label: string, value: string, onInput: (value: string) => void, isLong?: boolean, isSecret?: boolean, hint?: string, isHidden?: boolean,
 *   placeholder?: string, type?: string, onEnter?: () => void, hasFocus?: boolean }} props `isHidden`: the label is for screen readers.
 */
export function Field({ label, value, onInput, isLong = false, isSecret = false, hint, isHidden = false, placeholder, type = "text", onEnter, hasFocus = false }) {
  const id = useId();
  const ref = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => void (hasFocus && ref.current?.focus()), []);
  const given = { ref, id, placeholder, value, autocomplete: "off", onInput: (/** @type {any} */ event) => onInput(event.currentTarget.value), "aria-describedby": hint ? `${id}-hint` : undefined };
  const press = (/** @type {KeyboardEvent} */ event) => {
    // While a word of Japanese or Chinese is composed, Enter confirms it.
    if (event.key !== "Enter" || !onEnter || (isLong && !event.ctrlKey) || isOfWord(event)) return;
    event.preventDefault();
    if (!event.repeat) onEnter();
  };
  return html`<div class="c-field"><label for=${id} class=${isHidden ? "hidden" : ""}>${label}</label>
    ${isLong ? h("textarea", { ...given, rows: 3, onKeyDown: press }) : h("input", { ...given, type: isSecret ? "password" : type, spellcheck: isSecret ? false : undefined, onKeyDown: press })}
    ${hint ? html`<p class="c-hint" id=${`${id}-hint`}>${hint}</p>` : null}</div>`;
}

/** A choice among a few. @param {{ label: string, value: string, options: [string, string][], onChoose: (value: string) => void, isHidden?: boolean }} props */
export function Choice({ label, value, options, onChoose, isHidden = true }) {
  const id = useId();
  return html`<div class="c-field c-choice"><label for=${id} class=${isHidden ? "hidden" : ""}>${label}</label>
    <select id=${id} value=${value} onChange=${(/** @type {any} */ event) => onChoose(event.currentTarget.value)}>
      ${options.map(([key, name]) => html`<option value=${key} selected=${key === value}>${name}</option>`)}</select></div>`;
}

/** One of a few views, side by side. @param {{ label: string, value: string, options: [string, string][], onChoose: (value: string) => void }} props */
export function Switch({ label, value, options, onChoose }) {
  return html`<div class="c-switch" role="group" aria-label=${label}>
    ${options.map(([key, name]) => h(Press, { kind: "bare", isPressed: key === value, onPress: () => onChoose(key), children: name }))}</div>`;
}

/** A figure with its name, and what else belongs to it. @param {{ name: string, value: any, more?: any, tone?: string }} props */
export const Figure = ({ name, value, more, tone = "" }) => html`<div class=${`c-figure ${tone}`}><dt>${name}</dt><dd><strong>${value}</strong>${more ? html`<span>${more}</span>` : null}</dd></div>`;

/** How something is, as a word with a dot. @param {{ state: string, children: any }} props */
export const State = ({ state, children }) => html`<span class=${`c-state c-is-${state}`}><i aria-hidden="true"></i>${children}</span>`;

/** A table that scrolls by itself where it is too wide. @param {{ caption: string, columns: any[], rows: any[][], isCompact?: boolean }} props */
export function Rows({ caption, columns, rows, isCompact = false }) {
  return html`<div class=${isCompact ? "c-scrolls c-compact" : "c-scrolls"} role="region" aria-label=${caption} tabindex="0"><table class="c-table">
    <caption class="hidden">${caption}</caption>
    <thead><tr>${columns.map((one) => html`<th scope="col">${one}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${row.map((cell, index) => (index === 0 ? html`<th scope="row">${cell}</th>` : html`<td>${cell}</td>`))}</tr>`)}</tbody></table></div>`;
}

/** A button that copies a text; where the browser has no clipboard, the text is selected. @param {{ text: string, children: any }} props */
export function Copy({ text, children }) {
  const [isCopied, setCopied] = useState(false);
  const shown = useRef(/** @type {HTMLInputElement | null} */ (null));
  const [isManual, setManual] = useState(false);
  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(setCopied, 2000, false);
    } catch {
      setManual(true);
    }
  }
  useLayoutEffect(() => void (isManual && shown.current?.select()), [isManual]);
  return html`<span class="c-copy">${h(Press, { icon: isCopied ? "check" : "copy", onPress: copy, children })}
    <span class="hidden" role="status">${isCopied ? t("Copied") : ""}</span>
    ${isManual ? html`<input ref=${shown} type="text" readonly value=${text} aria-label=${t("Press Ctrl C to copy")} />` : null}</span>`;
}
