/** Small parts that pages are made of. */
import { createContext, h, html, useContext, useId, useLayoutEffect, useRef } from "../vendor/preact.js";
import { say } from "./words.js";

/** Whether web addresses in texts can be followed here. */
export const Links = createContext(false);

/** A text as it is, with links where they are allowed. @param {{ text: string }} props */
export function Words({ text }) {
  if (!useContext(Links)) return html`${text}`;
  // A full stop or bracket after an address belongs to the sentence.
  return html`${text.split(/(https?:\/\/[^\s<>"]*[^\s<>".,;:!?)\]'])/i).map((part, index) => (index % 2 === 0 ? part : h(Link, { address: part })))}`;
}

/** @param {{ address: string }} props */
function Link({ address }) {
  return html`<a href=${address} target="_blank" rel="noopener noreferrer">${address}<span class="hidden"> ${say("in_a_new_tab")}</span></a>`;
}

/**
 * @param {{ onPress?: () => void, children: any, kind?: "primary" | "quiet" | "link", isBusy?: boolean, isDisabled?: boolean,
 *   isSubmit?: boolean, label?: string, isPressed?: boolean, leadsOn?: boolean }} props `leadsOn`: the page changes, and
 *   the second click of a double click must not press what is there then.
 */
export function Button({ onPress, children, kind = "primary", isBusy = false, isDisabled = false, isSubmit = false, label, isPressed, leadsOn = isSubmit }) {
  return html`<button
    type=${isSubmit ? "submit" : "button"}
    class=${`button ${kind}`}
    aria-busy=${isBusy ? "true" : undefined}
    aria-label=${label}
    aria-pressed=${isPressed === undefined ? undefined : String(isPressed)}
    aria-disabled=${isDisabled || isBusy ? "true" : undefined}
    onClick=${(/** @type {MouseEvent} */ event) => {
      if (isDisabled || isBusy || (leadsOn && event.detail > 1)) event.preventDefault();
      else onPress?.();
    }}
  >
    ${children}
  </button>`;
}

/** The code of a key that belongs to a word which is being composed. */
const COMPOSING = 229;

/** Whether the key confirms a word of Japanese, Chinese or Korean; Safari ends the composition before it reports the key. @param {KeyboardEvent} event */
export const isOfWord = (event) => event.isComposing || event.keyCode === COMPOSING;

/** What the title of the document says: that of the page, and before it what calls for attention. */
const title = { page: "", call: "" };
const showTitle = () => void (document.title = [title.call, title.page].filter(Boolean).join(" – "));

/** Have the title of the document say this first, until the answer is called. @param {string} text */
export function callInTitle(text) {
  title.call = text;
  showTitle();
  return () => {
    title.call = "";
    showTitle();
  };
}

/** The title of a page, which gets the focus when the page is new. @param {{ children: any, isNew?: boolean }} props */
export function Heading({ children, isNew = true }) {
  const ref = useRef(/** @type {HTMLElement | null} */ (null));
  // With the drawing of the page, so that a Tab pressed right after it begins at the title.
  useLayoutEffect(() => {
    if (isNew) ref.current?.focus({ preventScroll: false });
  }, []);
  useLayoutEffect(() => {
    title.page = ref.current?.textContent ?? "";
    showTitle();
  });
  return html`<h1 ref=${ref} tabindex="-1">${children}</h1>`;
}

/** A message that is read out when it comes. @param {{ children: any, tone?: "info" | "warning" | "error" }} props */
export function Notice({ children, tone = "info" }) {
  return html`<p class=${`notice ${tone}`} role=${tone === "error" ? "alert" : "status"}>${children}</p>`;
}

/** Something that can be opened and closed. @param {{ summary: any, children: any, isOpen?: boolean }} props `isOpen`: to begin with. */
export function Details({ summary, children, isOpen = false }) {
  return html`<details open=${isOpen}><summary>${summary}</summary><div class="details">${children}</div></details>`;
}

/** Who is meant, as others see them. @param {{ profile: { name: string, avatar: string, pronouns: string }, isYou?: boolean }} props */
export function Name({ profile, isYou = false }) {
  return html`<span class="name" translate=${false}>
    ${profile.avatar ? html`<span class="avatar" aria-hidden="true">${profile.avatar}</span>` : null}
    <span>${profile.name}</span>
    ${profile.pronouns ? html` <span class="pronouns">(${profile.pronouns})</span>` : null}
    ${isYou ? html` <span class="you">${say("you")}</span>` : null}
  </span>`;
}

/** In a narrow place a row of so many columns is shown as a list of its own. */
const MANY_COLUMNS = 4;

/**
 * A table with its caption. The roles are said, since browsers drop them where the rows are shown as lists.
 * @param {{ caption: string, columns: string[], rows: any[][], hasRowHeads?: boolean }} props
 */
export function Table({ caption, columns, rows, hasRowHeads = true }) {
  /** @param {any} cell @param {number} index */
  function shown(cell, index) {
    const isHead = hasRowHeads && index === 0;
    return isHead
      ? html`<th role="rowheader" scope="row" data-column=${columns[index]}><span>${cell}</span></th>`
      : html`<td role="cell" data-column=${columns[index]}><span>${cell}</span></td>`;
  }
  return html`<div class=${columns.length < MANY_COLUMNS ? "scrolls" : "scrolls many"} role="region" aria-label=${caption} tabindex="0"><table role="table">
    <caption>${caption}</caption>
    <thead role="rowgroup"><tr role="row">${columns.map((column) => html`<th role="columnheader" scope="col">${column}</th>`)}</tr></thead>
    <tbody role="rowgroup">${rows.map((row) => html`<tr role="row">${row.map(shown)}</tr>`)}</tbody>
  </table></div>`;
}

/** An id that ties a label to its field. */
export const useFieldId = useId;

/** What is thought of as a heading of the page, and its description. @param {{ view: any }} props */
export function Head({ view }) {
  return html`${h(Heading, { children: view.title })}
    ${view.description ? h(Text, { text: view.description }) : null}
    ${view.info ? h(Details, { summary: say("more_information"), children: h(Text, { text: view.info }) }) : null}`;
}

/**
 * A researcher's text: paragraphs, headings, lists, bold and italic words. Elements are made, no HTML is read.
 * @param {{ text: string }} props
 */
export function Text({ text }) {
  return html`<div class="text">${blocks(text)}</div>`;
}

/** @param {string} text */
function blocks(text) {
  const found = [];
  let paragraph = /** @type {string[]} */ ([]);
  let list = /** @type {{ start: number | null, items: string[] } | null} */ (null);
  const flush = () => {
    if (paragraph.length > 0) found.push(html`<p>${inline(paragraph.join("\n"))}</p>`);
    if (list) found.push(h(list.start === null ? "ul" : "ol", list.start === null || list.start === 1 ? null : { start: list.start }, list.items.map((item) => h("li", null, inline(item)))));
    paragraph = [];
    list = null;
  };
  for (const line of text.split("\n")) {
    const heading = /^(#{1,4})\s+(.*)$/.exec(line);
    const item = /^\s*(?:[-*]|(\d{1,9})[.)])\s+(.*)$/.exec(line);
    if (heading) {
      flush();
      found.push(h(`h${Math.min(6, heading[1].length + 1)}`, null, inline(heading[2])));
    } else if (item) {
      const start = item[1] === undefined ? null : Number(item[1]);
      if (!list || (list.start === null) !== (start === null)) {
        flush();
        list = { start, items: [] };
      }
      list.items.push(item[2]);
    } else if (line.trim() === "") {
      flush();
    } else {
      if (list) flush();
      paragraph.push(line);
    }
  }
  flush();
  return found;
}

/** @param {string} text */
function inline(text) {
  return text.split(/(\*\*[^*]+\*\*|\*[^*\s][^*]*\*|`[^`]+`|\n)/).map((part) => {
    if (part === "\n") return html`<br />`;
    if (/^\*\*.+\*\*$/s.test(part)) return html`<strong>${part.slice(2, -2)}</strong>`;
    if (/^\*.+\*$/s.test(part)) return html`<em>${part.slice(1, -1)}</em>`;
    if (/^`.+`$/s.test(part)) return html`<code>${part.slice(1, -1)}</code>`;
    return h(Words, { text: part });
  });
}
