/** The pages' own words, in the language of the experiment or the browser. */
import { fetched } from "./api.js";

/** @type {Record<string, string | Record<string, string>>} */
let words = {};
let language = "";
/** What numbers and amounts are written for: the language of the content, where the lab has no words in it, too. */
let locale = "en";
/** @type {Record<string, string | Record<string, string>>} */
let own = {};
/** The plural forms of the lab's words, and those of the experiment's own. */
let plural = new Intl.PluralRules("en");
let ownPlural = plural;

const RIGHT_TO_LEFT = new Set(["ar", "fa", "he", "ur"]);

/** The folders of further words, with the languages that they are in. @type {Map<string, string[]>} */
const learned = new Map();
/** Words are loaded one after the other: those of a kind go to the language that is spoken then. @type {Promise<unknown>} */
let turn = Promise.resolve();

/** @param {() => Promise<void>} load @returns {Promise<void>} */
function inTurn(load) {
  const mine = turn.then(load);
  turn = mine.catch(() => undefined);
  return mine;
}

/** Take the words that came with the document. @param {string} code @param {Record<string, string | Record<string, string>>} known */
export function speakAtOnce(code, known) {
  words = known;
  language = code;
  plural = new Intl.PluralRules(code);
  takeLocale(code);
  document.documentElement.dir = directionOf(code);
}

/** @param {string} tag */
const directionOf = (tag) => (RIGHT_TO_LEFT.has(tag.split("-")[0].toLowerCase()) ? "rtl" : "ltr");

/** @param {string} tag A tag that browsers do not know leaves numbers as they are. */
function takeLocale(tag) {
  try {
    ownPlural = new Intl.PluralRules(tag);
    locale = tag;
  } catch {
    locale = language || "en";
  }
}

/**
 * Load the words of the first of these languages that there are words in, else the English ones; those of kinds, too.
 * @param {readonly string[]} wanted The page is marked with the first, which is the language of its content.
 * @param {{ assets: string, languages: string[] }} lab @param {HTMLElement} root is marked with the language
 */
export async function speak(wanted, lab, root = document.documentElement) {
  const codes = wanted.map((code) => code.split("-")[0].toLowerCase());
  const found = codes.find((code) => lab.languages.includes(code)) ?? "en";
  root.lang = wanted[0] ?? found;
  root.dir = directionOf(wanted[0] ?? found);
  takeLocale(wanted[0] ?? found);
  await inTurn(async () => {
    if (found === language) return;
    const [own, ...ofKinds] = await Promise.all([wordsAt(`${lab.assets}/words/${found}.json`), ...[...learned].map(([folder, languages]) => wordsOf(folder, languages, found))]);
    words = Object.assign({}, ...ofKinds, own);
    language = found;
    plural = new Intl.PluralRules(found);
  });
}

/** @param {string} folder @param {string[]} languages @param {string} wanted */
const wordsOf = (folder, languages, wanted) => wordsAt(`${folder}/${languages.includes(wanted) ? wanted : "en"}.json`);

/** @param {string} address @returns {Promise<Record<string, any>>} */
async function wordsAt(address) {
  const { answer, text } = await fetched(address);
  if (!answer.ok) throw new Error(`HTTP ${answer.status}: ${address}`);
  return JSON.parse(text);
}

/**
 * Load further words, those of a kind, in the language of the page if they are there in it, else in English.
 * @param {string} folder @param {string[]} languages
 */
export async function learn(folder, languages) {
  await inTurn(async () => {
    words = { ...(await wordsOf(folder, languages, language)), ...words };
    learned.set(folder, languages);
  });
}

/** Say these words of the experiment instead of the lab's. @param {Record<string, string | Record<string, string>>} instead */
export function sayInstead(instead) {
  own = instead;
}

/**
 * The words for a key, with `{name}` filled in. A key with plural forms takes its form by `count`.
 * @param {string} key @param {Record<string, any>} [values]
 * @returns {string}
 */
export function say(key, values = {}) {
  /** @type {string | Record<string, string> | undefined} */
  const found = own[key] ?? words[key];
  if (found === undefined) return key;
  const rules = key in own ? ownPlural : plural;
  const form = typeof found === "string" ? found : (found[rules.select(Number(values.count))] ?? found.other ?? key);
  return form.replace(/\{(\w+)\}/g, (place, name) => (name in values ? spoken(values[name]) : place));
}

/** A value may be a sentence of the lab itself. @param {any} value @returns {string} */
const spoken = (value) => {
  if (typeof value === "number") return inDigits(value);
  return value?.code ? sayOr(`label_${value.code}`, value.params, value.text) : String(value);
};

/** What the lab itself says on a page, in the words of the page; else the text as it is. @param {string} text @param {any} words */
export const ownWords = (text, words) => (words ? sayOr(`label_${words.code}`, words.params, text) : text);

/** Whether there are words for this key. @param {string} key */
export function hasWords(key) {
  return key in own || key in words;
}

/** @param {string} key @param {Record<string, any>} values @param {string} otherwise */
export const sayOr = (key, values, otherwise) => (hasWords(key) ? say(key, values) : otherwise);

/** Why one cannot go on. @param {{ reasons: { code: string, params: Record<string, any>, text: string }[] }} page */
export const whyNot = ({ reasons }) => reasons.map(({ code, params, text }) => sayOr(`why_${code}`, params, text));

/** An amount in the words of the language. @param {string | number} amount @param {string} currency */
export function money(amount, currency) {
  try {
    const usual = new Intl.NumberFormat(locale, { style: "currency", currency });
    // A rate may be less than the smallest coin.
    const decimals = typeof amount === "string" ? (amount.split(".")[1] ?? "").replace(/0+$/, "").length : 0;
    if (decimals <= (usual.resolvedOptions().maximumFractionDigits ?? 0)) return usual.format(Number(amount));
    return new Intl.NumberFormat(locale, { style: "currency", currency, maximumFractionDigits: decimals }).format(Number(amount));
  } catch {
    return currency === "points" ? say("money_points", { amount }) : `${amount} ${currency}`;
  }
}

/** A number with few digits, in those of the language. @param {number} value */
export const inDigits = (value) => new Intl.NumberFormat(locale, { maximumFractionDigits: 3, useGrouping: false }).format(value);

/** A part of a clock, in two digits where `least` is 2. @param {number} value @param {number} least */
export const inClock = (value, least) => new Intl.NumberFormat(locale, { minimumIntegerDigits: least, useGrouping: false }).format(value);

/** What is written before the decimals of a number. */
export const decimalMark = () => new Intl.NumberFormat(locale, { useGrouping: false }).format(0.5)[1];

/** A change as percent, with its sign; 0.1 is ten percent. @param {number} share */
export function percent(share) {
  return new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 1, signDisplay: "exceptZero" }).format(share);
}
