import { Answers } from "parley/answers.js";
import { h, html } from "parley/preact.js";
import { Asked } from "parley/questions.js";
import { Head } from "parley/ui.js";
import { say } from "parley/words.js";

/** @param {import("parley/page.js").StageProps} stage */
export default function AboutOthersPage(stage) {
  const { view } = stage.page;
  const isAnswered = Object.keys(view.answers).length > 0;
  return html`<article>
    ${h(Head, { view })}
    ${isAnswered ? view.people.map((/** @type {any} */ one) => h(About, { key: one.tag, person: one, view })) : null}
    ${h(Asked, { stage })}
  </article>`;
}

/** What the reader answered about one person. @param {{ person: any, view: any }} props */
function About({ person, view }) {
  const own = Object.entries(view.answers).filter(([name]) => name.startsWith(`${person.tag}_`));
  const answers = Object.fromEntries(own.map(([name, value]) => [name.slice(person.tag.length + 1), value]));
  return html`<section><h2 translate=${false}>${person.avatar} ${person.name}${person.is_you ? ` ${say("you")}` : ""}</h2>
    ${h(Answers, { questions: view.questions, answers })}</section>`;
}
