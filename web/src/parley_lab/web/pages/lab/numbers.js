/** Numbers as people type them: with a point or a comma, in the digits of their language, below zero, as powers of ten. */
import { decimalMark, say } from "./words.js";

const NUMBER = /^[+-]?(\d+[.,]?\d*|[.,]\d+)(e[+-]?\d+)?$/i;
/** It is one number to those who write this mark for thousands, and another to those who write it for decimals. */
const OF_TWO_MEANINGS = /^[+-]?[1-9]\d{0,2}[.,]\d{3}$/;

/** The zeros of digits that people type: Arabic, Persian, Devanagari, Bengali, Thai, and wide ones of East Asia. */
const ZEROS = [0x660, 0x6f0, 0x966, 0x9e6, 0xe50, 0xff10];
/** @type {Record<string, string>} */
const MARKS = { "٫": ".", "٬": ",", "．": ".", "，": ",", "。": ".", "−": "-", "－": "-", "＋": "+" };

/** The same with the digits and marks of ASCII. @param {string} typed */
const plain = (typed) =>
  [...typed].map((one) => {
    const code = one.codePointAt(0) ?? 0;
    const zero = ZEROS.find((first) => code >= first && code < first + 10);
    return zero === undefined ? (MARKS[one] ?? one) : String(code - zero);
  }).join("");

/** What was typed, as a number where it is surely one: a comma counts as a point. @param {string} typed @param {boolean} isWhole */
export function numberIn(typed, isWhole) {
  const text = plain(typed).trim();
  if (text === "") return undefined;
  const [isPlain, isOfTwo] = [NUMBER, OF_TWO_MEANINGS].map((one) => one.test(text));
  if (isOfTwo && !isWhole && !text.includes(plain(decimalMark()))) return text;
  const number = Number(text.replace(/[.,]/, isOfTwo && isWhole ? "" : "."));
  return isPlain && Number.isFinite(number) ? number : text;
}

/** What to write in place of what is no number for sure. @param {unknown} typed */
export function notANumber(typed) {
  const text = plain(String(typed));
  if (!OF_TWO_MEANINGS.test(text)) return say("write_a_number");
  return say("write_which_number", { whole: text.replace(/[.,]/, ""), decimal: inField(Number(text.replace(",", "."))) });
}

/** What a number field holds. @param {any} value What was typed, or a number that was saved. */
export const inField = (value) => (typeof value === "number" ? String(value).replace(".", plain(decimalMark())) : (value ?? ""));

/** The keys that a touch screen shows: those for numbers alone have no minus sign on some. @param {Record<string, any>} field */
export const keyboardOf = (field) => (field.minimum < 0 ? "text" : field.type === "integer" ? "numeric" : "decimal");
