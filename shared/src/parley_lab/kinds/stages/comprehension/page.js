import { Answers } from "parley/answers.js";
import { h, html } from "parley/preact.js";
import { Asked } from "parley/questions.js";
import { Head, Notice } from "parley/ui.js";
import { say } from "parley/words.js";

/** @param {import("parley/page.js").StageProps} stage */
export default function ComprehensionPage(stage) {
  const { view } = stage.page;
  const wrong = view.questions.filter((/** @type {any} */ one) => view.wrong.includes(one.id));
  const asked = view.questions.map((/** @type {any} */ one) => ({ ...one, kind: one.options.length > 0 ? "choice" : "text" }));
  return html`<article>
    ${h(Head, { view })}
    ${view.most_attempts !== null && view.passed === null
      ? html`<p class="hint">${say("attempt_of", { number: Math.min(view.attempts + 1, view.most_attempts), count: view.most_attempts })}</p>`
      : null}
    ${view.passed === true ? h(Notice, { children: say("all_right") }) : null}
    ${wrong.length > 0
      ? html`<section class="notice error" role="alert"><p>${say("not_right_yet")}</p><ul>${wrong.map((/** @type {any} */ one) => html`<li>${one.title}</li>`)}</ul></section>`
      : null}
    ${view.passed !== null ? h(Answers, { questions: asked, answers: view.answers }) : null}
    ${h(Asked, { stage: { ...stage, page: { ...stage.page, forms: withRightOnes(stage.page) } } })}
  </article>`;
}

/**
 * The forms of the next attempt, in which what was right stays: the wrong answers alone are to be given again.
 * @param {{ forms: any[], view: any }} page
 */
function withRightOnes({ forms, view }) {
  const right = Object.entries(view.answers).filter(([id]) => !view.wrong.includes(id));
  return forms.map((form) => (form.saved === null ? { ...form, saved: Object.fromEntries(right) } : form));
}
