/** Numbers of a form that belong together: what they add up to while one types. */
import { h, html } from "../vendor/preact.js";
import { say } from "./words.js";

/** @typedef {{ equals?: number | null, at_least?: number | null, at_most?: number | null, fields?: string[] }} Total */

const WRITTEN = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/;

/** The number as it is written: units of a power of ten. @param {number} number @returns {{ units: bigint, power: number }} */
function written(number) {
  const [, sign, whole, fraction = "", power = "0"] = /** @type {RegExpExecArray} */ (WRITTEN.exec(String(number)));
  return { units: BigInt(`${sign}${whole}${fraction}`), power: Number(power) - fraction.length };
}

/** The exact sum of the numbers among these values, in units of a power of ten. @param {any[]} values */
function exactSum(values) {
  const numbers = values.filter((value) => typeof value === "number" && Number.isFinite(value)).map(written);
  const power = Math.min(0, ...numbers.map((one) => one.power));
  return { units: numbers.reduce((sum, one) => sum + one.units * BigInt(10) ** BigInt(one.power - power), BigInt(0)), power };
}

/** The sum of the numbers among these values, as they are written: 0.1 and 0.2 are 0.3. @param {any[]} values @returns {number} */
export function sumOf(values) {
  const { units, power } = exactSum(values);
  return Number(`${units}e${power}`);
}

/** Whether the exact sum is less than the bound (below 0), is the bound (0) or is more. @param {any[]} values @param {number} bound @returns {number} */
function comparedWith(values, bound) {
  const { units } = exactSum([...values, -bound]);
  return units < 0 ? -1 : units > 0 ? 1 : 0;
}

/** The bound of the total that the sum of these values misses. @param {Total} total @param {any[]} values @returns {"equals" | "at_least" | "at_most" | undefined} */
export function missed(total, values) {
  const { equals, at_least: least, at_most: most } = total;
  if (typeof equals === "number" && comparedWith(values, equals) !== 0) return "equals";
  if (typeof least === "number" && comparedWith(values, least) < 0) return "at_least";
  return typeof most === "number" && comparedWith(values, most) > 0 ? "at_most" : undefined;
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
