/** Show-if rules in the browser: the same as `parley_lab.base.rules` in Python, for the answers of one page. */

/** @typedef {{ question: string, operator?: string, value: any } | { all: any[] } | { any: any[] }} Rule */

/** @param {any} rule @param {Record<string, any>} answers @returns {boolean} */
export function holds(rule, answers) {
  if (rule === null || rule === undefined) return true;
  if ("all" in rule) return rule.all.every((/** @type {any} */ part) => holds(part, answers));
  if ("any" in rule) return rule.any.length === 0 || rule.any.some((/** @type {any} */ part) => holds(part, answers));
  const answer = answers[rule.question];
  if (answer === undefined || answer === null) return false;
  return OPERATORS[rule.operator ?? "equals"](answer, rule.value);
}

/** @param {any} left @param {any} right @returns {boolean} */
function equals(left, right) {
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((part, index) => equals(part, right[index]));
  }
  return left === right;
}

/** @param {any} value @returns {number} */
function number(value) {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "number") return value;
  return typeof value === "string" && value.trim() !== "" ? Number(value) : NaN;
}

/** @param {any} value @returns {string} */
function text(value) {
  if (Array.isArray(value)) return value.map(text).join(",");
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** @type {Record<string, (left: any, right: any) => boolean>} */
const OPERATORS = {
  equals,
  not_equals: (left, right) => !equals(left, right),
  greater_than: (left, right) => number(left) > number(right),
  greater_than_or_equal: (left, right) => number(left) >= number(right),
  less_than: (left, right) => number(left) < number(right),
  less_than_or_equal: (left, right) => number(left) <= number(right),
  contains: (left, right) => text(left).includes(text(right)),
  not_contains: (left, right) => !text(left).includes(text(right)),
};
