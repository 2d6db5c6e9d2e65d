/** The tables and pictures beside the text of a draft: which there are, adding some, and removing them. */
import { h, html } from "../vendor/preact.js";
import { Drop } from "./drop.js";
import { Press } from "./ui.js";
import { inDigits, t } from "./words.js";

/** @typedef {{ name: string, size: number }} Listed */

/** @param {{ files: Listed[], text: string, isReadOnly: boolean, onAdd: (files: File[]) => Promise<void>, onRemove: (name: string) => Promise<void> }} props */
export function Beside({ files, text, isReadOnly, onAdd, onRemove }) {
  if (isReadOnly && files.length === 0) return null;
  return html`<section class="c-card"><h2>${t("Tables and pictures")}</h2>
    ${files.length === 0 ? null : html`<ul class="c-files" aria-label=${t("Files beside the text")}>${files.map((one) => html`<li key=${one.name}><span><code>${one.name}</code> <span class="c-small">${[asSize(one.size), isNamed(text, one.name) ? "" : t("not named in the text")].filter(Boolean).join(" · ")}</span></span>
      ${isReadOnly ? null : h(Press, { kind: "bare", icon: "trash", label: t("Remove {name}", { name: one.name }), onPress: () => onRemove(one.name), children: null })}</li>`)}</ul>`}
    ${isReadOnly ? null : h(Drop, { isSmall: true, label: t("Tables and pictures to add"), onFiles: onAdd, children: t("Drop tables and pictures that the text names.") })}</section>`;
}

/** Whether the text names the file, also where the file was sent without its folder. @param {string} text @param {string} name */
const isNamed = (text, name) => text.includes(name);

/** @param {number} size in bytes */
const asSize = (size) => (size < 1000 ? t("{number} bytes", { number: inDigits(size) }) : size < 1_000_000 ? t("{number} KB", { number: inDigits(Math.round(size / 1000)) }) : t("{number} MB", { number: inDigits(Math.round(size / 100_000) / 10) }));
