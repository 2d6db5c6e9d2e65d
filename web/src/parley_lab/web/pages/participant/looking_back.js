/** Looking back at a stage that is over. */
import { h, html, useEffect, useState } from "../vendor/preact.js";
import { Answers } from "../lab/answers.js";
import { Name, Notice } from "../lab/ui.js";
import { say } from "../lab/words.js";

/**
 * The page of a stage that is over, read when it is looked at.
 * @param {{ stageId: string, api: import("../lab/page.js").Api, children: (page: any) => any }} props
 */
export function PastStage({ stageId, api, children }) {
  const [page, setPage] = useState(/** @type {any} */ (null));
  const [isAway, setAway] = useState(false);
  useEffect(() => {
    api.get(`/v1/me/stages/${stageId}`).then(setPage, () => setAway(true));
  }, [stageId]);
  if (isAway) return h(Notice, { tone: "error", children: say("not_reachable") });
  if (page === null) return html`<p role="status">${say("loading")}</p>`;
  return html`${children(page)} ${h(AnswersOfOthers, { page })}`;
}

/** What the others answered, where the experiment shows it. @param {{ page: any }} props */
function AnswersOfOthers({ page }) {
  const { answers_of_others: others, view } = page;
  if (others.length === 0) return null;
  return html`<section class="others"><h2>${say("answers_of_others")}</h2>
    ${others.map((/** @type {any} */ one) => html`<section key=${one.member_id}>
      <h3>${h(Name, { profile: one.profile })}</h3>
      ${h(Answers, { questions: view.questions ?? [], answers: one.answer })}
    </section>`)}
  </section>`;
}
