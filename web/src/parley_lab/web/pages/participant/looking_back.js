/** Looking back at a stage that is over. */
import { h, html, useEffect, useState } from "../vendor/preact.js";
import { Answers } from "../lab/answers.js";
import { Media } from "../lab/media.js";
import { Head, Links, Name, Notice, Text } from "../lab/ui.js";
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
  return html`${page.texts ? h(Links.Provider, { value: page.links, children: h(Texts, { texts: page.texts }) }) : children(page)} ${h(AnswersOfOthers, { page })}`;
}

/** What there was to read, without what was said and answered. @param {{ texts: any }} props */
function Texts({ texts }) {
  return html`<article>${h(Head, { view: texts })} ${texts.text ? h(Text, { text: texts.text }) : null} ${h(Media, { media: texts.media })}</article>`;
}

/** What the others answered, where the experiment shows it. @param {{ page: any }} props */
function AnswersOfOthers({ page }) {
  const { answers_of_others: others } = page;
  const { questions = [] } = page.view ?? page.texts;
  if (others.length === 0) return null;
  return html`<section class="others"><h2>${say("answers_of_others")}</h2>
    ${others.map((/** @type {any} */ one) => html`<section key=${one.member_id}>
      <h3>${h(Name, { profile: one.profile })}</h3>
      ${h(Answers, { questions, answers: one.answer })}
    </section>`)}
  </section>`;
}
