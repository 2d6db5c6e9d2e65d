/** Numbers of a form that belong together: what they add up to while one types, and bounds that are answers. */
import { h, html } from "../vendor/preact.js";
import { say } from "./words.js";

/** @typedef {{ equals?: number | null, at_least?: number | null, at_most?: number | null, fields?: string[] }} Total */

/** The sum of the numbers among these values, as they are written: 0.1 and 0.2 are 0.3. @param {any[]} values @returns {number} */
export function sumOf(values) {
  const numbers = values.filter((value) => typeof value === "number" && Number.isFinite(value));
  return Number(numbers.reduce((sum, value) => sum + value, 0).toFixed(9));
}

/** What is wrong with the sum, in words; empty: nothing. @param {Total} total @param {any[]} values @returns {string} */
export function problemOfTotal(total, values) {
  if (!values.some((value) => typeof value === "number")) return "";
  const sum = sumOf(values);
  const wrong = [
    ["equals", (/** @type {number} */ bound) => sum !== bound],
    ["at_least", (/** @type {number} */ bound) => sum < bound],
    ["at_most", (/** @type {number} */ bound) => sum > bound],
  ].find(([name, isWrong]) => {
    const bound = total[/** @type {"equals"} */ (name)];
    return bound !== undefined && bound !== null && /** @type {(bound: number) => boolean} */ (isWrong)(bound);
  });
  return wrong ? say(`total_${wrong[0]}`, { bound: total[/** @type {"equals"} */ (wrong[0])], sum }) : "";
}

/** The totals of a form, each with the shown fields that it adds up. @param {any} schema @param {[string, any][]} shown */
const totalsOf = (schema, shown) =>
  (schema["x-totals"] ?? [])
    .map((/** @type {any} */ total) => ({ total, names: shown.map(([name]) => name).filter((name) => total.fields.includes(name)) }))
    .filter((/** @type {any} */ one) => one.names.length > 0);

/** What is wrong with a number that another answer bounds. @param {any} field @param {any} value @param {Record<string, any>} answers @returns {string} */
function problemOfBounds(field, value, answers) {
  const [least, most] = [answers[field["x-minimum"]], answers[field["x-maximum"]]];
  if (typeof value !== "number") return "";
  if (typeof least === "number" && value < least) return say("at_least", { bound: least });
  return typeof most === "number" && value > most ? say("at_most", { bound: most }) : "";
}

/** What is wrong with numbers together: with bounds, and with totals at the last field of each. @param {any} schema @param {[string, any][]} shown @param {Record<string, any>} answers */
export function problems(schema, shown, answers) {
  const bounds = shown.map(([name, field]) => [name, problemOfBounds(field, answers[name], answers)]);
  const found = totalsOf(schema, shown).map((/** @type {any} */ { total, names }) => [names.at(-1), problemOfTotal(total, names.map((/** @type {string} */ name) => answers[name]))]);
  return [...found, ...bounds].filter(([, problem]) => problem);
}

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
