/** Answers in words: what a member has answered, beside what was asked. */
import { h, html } from "../vendor/preact.js";
import { asWords, inWords } from "./as_words.js";
import { Media, OptionImage } from "./media.js";
import { say } from "./words.js";

export { asWords, inWords };

/**
 * @param {{ questions: any[], answers: any, isRight?: Record<string, boolean> }} props `questions` as views have them;
 *   answers to others are shown by their names.
 */
export function Answers({ questions, answers, isRight = {} }) {
  if (typeof answers !== "object" || answers === null || Array.isArray(answers)) return html`<p>${asWords(answers)}</p>`;
  const asked = questions.filter((one) => one.id in answers).map((one) => ({ name: one.id, title: one.title, question: one }));
  const known = new Set(asked.map((one) => one.name));
  const others = Object.keys(answers).filter((name) => !known.has(name)).map((name) => ({ name, title: inWords(name), question: null }));
  return html`<dl class="answers">${[...asked, ...others].map(({ name, title, question }) => html`<div key=${name}>
    <dt>${question?.media ? h(Media, { media: question.media }) : null}${title}</dt>
    <dd>${imagesOf(question, answers[name])}${question ? answerInWords(question, answers[name]) : asWords(answers[name])}
      ${name in isRight ? html` <strong class=${isRight[name] ? "right" : "wrong"}>${say(isRight[name] ? "is_right" : "is_wrong")}</strong>` : null}</dd>
  </div>`)}</dl>`;
}

/** The images of the options that were chosen. @param {any} question @param {any} value */
function imagesOf(question, value) {
  const chosen = (question?.options ?? []).filter((/** @type {any} */ one) => one.image && [value].flat().includes(one.id));
  return chosen.map((/** @type {any} */ one) => h(OptionImage, { key: one.id, image: { address: `/v1/files/${one.image.file}`, alt: one.image.alt } }));
}

/** @param {any} question @param {any} value @returns {string} */
function answerInWords(question, value) {
  const titled = (/** @type {any} */ one) => question.options.find((/** @type {any} */ option) => option.id === one)?.text ?? asWords(one);
  if (question.kind === "choice") return titled(value);
  if (question.kind === "choices" && Array.isArray(value)) return value.map(titled).join(", ") || asWords(null);
  if (question.kind === "grid") {
    return question.rows.map((/** @type {any} */ row) => `${row.text}: ${asWords(value?.[row.id])}`).join(", ");
  }
  return asWords(value);
}
