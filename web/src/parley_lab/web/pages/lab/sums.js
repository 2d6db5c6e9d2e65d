/** Numbers of a form that belong together: what they add up to while one types. */
import { h, html } from "../vendor/preact.js";
import { say } from "./words.js";

/** @typedef {{ equals?: number | null, at_least?: number | null, at_most?: number | null, fields?: string[] }} Total */

/** The sum of the numbers among these values, as they are written: 0.1 and 0.2 are 0.3. @param {any[]} values @returns {number} */
export function sumOf(values) {
  const numbers = values.filter((value) => typeof value === "number" && Number.isFinite(value));
  return Number(numbers.reduce((sum, value) => sum + value, 0).toFixed(9));
}

/** The totals of a form, each with the shown fields that it adds up. @param {any} schema @param {[string, any][]} shown */
export const totalsOf = (schema, shown) =>
  (schema["x-totals"] ?? [])
    .map((/** @type {any} */ total) => ({ total, names: shown.map(([name]) => name).filter((name) => total.fields.includes(name)) }))
    .filter((/** @type {any} */ one) => one.names.length > 0);

/** The sums that end with this field. @param {{ schema: any, after: string, shown: [string, any][], answers: Record<string, any> }} props */
export function Sums({ schema, after, shown, answers }) {
  return totalsOf(schema, shown)
    .filter((/** @type {any} */ { names }) => names.at(-1) === after)
    .map((/** @type {any} */ { total, names }) => h(Sum, { total, values: names.map((/** @type {string} */ name) => answers[name]) }));
}

/** The sum so far, which a screen reader says as it changes. @param {{ total: Total, values: any[] }} props */
export function Sum({ total, values }) {
  const bound = total.equals ?? total.at_most ?? total.at_least;
  return html`<p class="hint sum-so-far"><output aria-live="polite">${say("total_so_far", { sum: sumOf(values), bound })}</output></p>`;
}
