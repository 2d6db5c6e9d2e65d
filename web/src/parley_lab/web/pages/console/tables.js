/** Rows of a table of the data, as objects. */
import { get } from "./api.js";

const A_PAGE = 1000;
const MOST_ROWS = 10_000;

/** @typedef {Record<string, string>} Row */

/**
 * The rows with these values, the texts of the file.
 * @param {string} experiment @param {string} table @param {Record<string, string>} where
 * @returns {Promise<Row[]>}
 */
export async function rowsOf(experiment, table, where) {
  const chosen = Object.entries(where).map(([column, value]) => /** @type {[string, string]} */ (["where", `${column}:${value}`]));
  const found = [];
  let after = 0;
  do {
    const page = await get(`/experiments/${experiment}/tables/${table}?${new URLSearchParams([...chosen, ["after", String(after)], ["limit", String(A_PAGE)]])}`);
    found.push(...page.rows.map((/** @type {string[]} */ row) => Object.fromEntries(page.columns.map((/** @type {string} */ name, /** @type {number} */ index) => [name, row[index]]))));
    after = page.next_after ?? 0;
  } while (after !== 0 && found.length < MOST_ROWS);
  return found;
}
