/** The console's words: English where they are said, and a dictionary of the same sentences for each other language. */

/** @type {Record<string, string>} */
let dictionary = {};
let language = "en";
let plural = new Intl.PluralRules(language);

/** Speak a language from now on. @param {string} code @param {Record<string, string>} known */
export function speak(code, known) {
  dictionary = known;
  language = code;
  plural = new Intl.PluralRules(code);
}

/**
 * A sentence with `{name}` filled in. `One group|{count} groups` has a form for one and another for all else.
 * @param {string} sentence @param {Record<string, any>} [values] @returns {string}
 */
export function t(sentence, values = {}) {
  const [one, other = one] = (dictionary[sentence] ?? sentence).split("|");
  const form = plural.select(Number(values.count ?? 1)) === "one" ? one : other;
  return form.replace(/\{(\w+)\}/g, (place, name) => {
    const value = values[name];
    return value === undefined ? place : typeof value === "number" ? inDigits(value) : String(value);
  });
}

/** A word of the lab, such as a status or an outcome. @param {string | null | undefined} code */
export const word = (code) => (code ? t(code.replaceAll("_", " ")) : "");

/** @param {number} value @param {number} [digits] */
export const inDigits = (value, digits = 2) => new Intl.NumberFormat(language, { maximumFractionDigits: digits }).format(value);

/** A time of day, with the day where it is not today. @param {string | null | undefined} at */
export function atTime(at) {
  if (!at) return "";
  const when = new Date(at);
  const isToday = when.toDateString() === new Date().toDateString();
  return when.toLocaleString(language, isToday ? { timeStyle: "medium" } : { dateStyle: "medium", timeStyle: "short" });
}

/** How long ago something was. @param {string} at */
export function ago(at) {
  const seconds = Math.round((Date.parse(at) - Date.now()) / 1000);
  const format = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  for (const [unit, length] of /** @type {const} */ ([["day", 86_400], ["hour", 3600], ["minute", 60]])) if (seconds <= -length) return format.format(Math.ceil(seconds / length), unit);
  return format.format(Math.min(0, seconds), "second");
}

/** How long something lasts: `45 s`, `3:11`, `2 h 5 min`. @param {number} milliseconds */
export function lasting(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}
