/** What keeps a form from being sent. */
import { titleOf, widgetOf } from "./form.js";
import { notANumber } from "./numbers.js";
import { holds } from "./rules.js";
import { missed, sumOf, totalsOf } from "./sums.js";
import { say } from "./words.js";

/** @typedef {Record<string, any>} Schema */

/**
 * The problems of the fields that are shown, in words, by field. What is wrong with one by itself goes first.
 * @param {Schema} schema @param {[string, Schema][]} shown @param {Record<string, any>} answers @param {(name: string) => boolean} isRequired
 * @returns {Record<string, string>}
 */
export function problems(schema, shown, answers, isRequired) {
  const given = answersShown(schema, answers);
  const found = [
    ...totalsOf(schema, shown).map((/** @type {any} */ { total, names }) => [names.at(-1), problemOfTotal(total, names.map((/** @type {string} */ name) => answers[name]))]),
    ...shown.map(([name, field]) => [name, problemOf(field, answers[name], isRequired(name)) || problemOfBounds(field, answers[name], given)]),
  ];
  return Object.fromEntries(found.filter(([, problem]) => problem));
}

/** The answers without those of hidden fields, which bound nothing. @param {Schema} schema @param {Record<string, any>} answers @returns {Record<string, any>} */
const answersShown = (schema, answers) => Object.fromEntries(Object.entries(answers).filter(([name]) => holds(schema.properties?.[name]?.["x-show-if"], answers)));

/** What is wrong with a number that another answer bounds. @param {any} field @param {any} value @param {Record<string, any>} answers @returns {string} */
function problemOfBounds(field, value, answers) {
  const [least, most] = [answers[field["x-minimum"]], answers[field["x-maximum"]]];
  if (typeof value !== "number") return "";
  if (typeof least === "number" && value < least) return say("at_least", { bound: least });
  return typeof most === "number" && value > most ? say("at_most", { bound: most }) : "";
}

/** What is wrong with the sum, in words; empty: nothing. @param {import("./sums.js").Total} total @param {any[]} values @returns {string} */
function problemOfTotal(total, values) {
  if (!values.some((value) => typeof value === "number")) return "";
  const wrong = missed(total, values);
  return wrong ? say(`total_${wrong}`, { bound: total[wrong], sum: sumOf(values) }) : "";
}

/** What keeps this value from being sent, in words; empty: nothing. @param {Schema} field @param {any} value @param {boolean} isRequired @returns {string} */
function problemOf(field, value, isRequired) {
  const isEmpty = value === undefined || value === null || value === "" || (field.const === true && value !== true);
  if (isEmpty && field.type === "string" && (field.minLength ?? 0) === 0 && !field.oneOf && value === "") return "";
  if (isEmpty) return isRequired ? say(field.const === true ? "tick_this" : widgetOf(field) === "ranking" ? "order_this" : "answer_this") : "";
  if (typeof value === "string" && !field.oneOf) {
    const length = [...value.trim()].length;
    if (length < (field.minLength ?? 0)) return say("write_more", { count: field.minLength });
    if (field.maxLength !== undefined && length > field.maxLength) return say("write_less", { count: field.maxLength });
  }
  if (field.type === "integer" || field.type === "number") {
    if (typeof value !== "number") return notANumber(value);
    if (field.type === "integer" && !Number.isInteger(value)) return say("write_a_whole_number");
    if (field.minimum !== undefined && value < field.minimum) return say("at_least", { bound: field.minimum });
    if (field.maximum !== undefined && value > field.maximum) return say("at_most", { bound: field.maximum });
  }
  if (Array.isArray(value)) {
    if (value.length < (field.minItems ?? 0)) return say("choose_more", { count: field.minItems });
    if (field.maxItems !== undefined && value.length > field.maxItems) return say("choose_fewer", { count: field.maxItems });
  }
  if (field.type === "object" && field.properties) {
    for (const [name, part] of Object.entries(field.properties)) {
      const problem = problemOf(part, value[name], (field.required ?? []).includes(name));
      if (problem) return `${titleOf(part) || name}: ${problem}`;
    }
    if (field["x-total"]) return problemOfTotal(field["x-total"], Object.values(value));
  }
  return "";
}
