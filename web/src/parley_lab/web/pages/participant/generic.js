/** The page of a kind that has none of its own: what its view holds, and a form for everything that is asked. */
import { h, html } from "../vendor/preact.js";
import { asWords, inWords } from "../lab/as_words.js";
import { Later } from "../lab/form.js";
import { Media } from "../lab/media.js";
import { Asked } from "../lab/questions.js";
import { Head, Table, Text } from "../lab/ui.js";

const SHOWN_ELSEWHERE = new Set(["id", "kind", "title", "description", "info", "questions", "answers", "is_right", "turns"]);

/** @param {import("../lab/page.js").StageProps} stage */
export default function GenericPage(stage) {
  const { view } = stage.page;
  const isAnswered = Array.isArray(view.questions) && !isEmpty(view.answers ?? null);
  return html`<article>
    ${h(Head, { view })} ${h(Facts, { view })}
    ${isAnswered ? h(Later, { load: () => import("../lab/answers.js"), part: "Answers", questions: view.questions, answers: view.answers, isRight: view.is_right ?? {} }) : null}
    ${h(Asked, { stage })}
  </article>`;
}

/** What a view holds, by the shape of its values. @param {{ view: any }} props */
export function Facts({ view }) {
  const facts = Object.entries(view).filter(([name, value]) => !SHOWN_ELSEWHERE.has(name) && !isEmpty(value));
  return html`${facts.map(([name, value]) => h(Fact, { key: name, name, value }))}`;
}

/** @param {any} value */
const isEmpty = (value) => value === null || value === "" || (typeof value === "object" && Object.keys(value).length === 0);

/** @param {{ name: string, value: any }} props */
function Fact({ name, value }) {
  const label = inWords(name);
  if (name === "media") return h(Media, { media: value });
  if (name === "lines" || name === "text") return h(Text, { text: Array.isArray(value) ? value.join("\n") : value });
  if (Array.isArray(value) && value.every((one) => typeof one === "object" && one !== null && !Array.isArray(one))) {
    const columns = [...new Set(value.flatMap((one) => Object.keys(one)))];
    return h(Table, { caption: label, columns: columns.map(inWords), rows: value.map((one) => columns.map((column) => asWords(one[column]))) });
  }
  if (Array.isArray(value)) return html`<section><h2>${label}</h2><ul>${value.map((one) => html`<li>${asWords(one)}</li>`)}</ul></section>`;
  if (typeof value === "object") {
    return html`<section><h2>${label}</h2><dl>${Object.entries(value).map(([key, part]) => html`<dt>${inWords(key)}</dt><dd>${asWords(part)}</dd>`)}</dl></section>`;
  }
  return html`<p><strong>${label}:</strong> ${asWords(value)}</p>`;
}
