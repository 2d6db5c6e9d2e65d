import { Asked } from "parley/questions.js";
import { h, html } from "parley/preact.js";
import { Head, Notice, Table } from "parley/ui.js";
import { say } from "parley/words.js";

/** How a game ends that has no result. */
const ENDED_EARLY = ["abandoned", "failed"];

/** @param {import("parley/page.js").StageProps} stage */
export default function GamePage(stage) {
  const { view } = stage.page;
  const other = view.opponent ?? say("the_other");
  return html`<article class="game">
    ${h(Head, { view })}
    ${view.is_player ? null : h(Notice, { children: say("game_without_you") })}
    ${view.round === null ? null : html`<p class="round" role="status">${say("round", { number: view.round })}</p>`}
    ${ENDED_EARLY.includes(view.status) ? h(Notice, { children: say(`game_${view.status}`) }) : null}
    ${h(Payoffs, { view, other })}
    ${h(Asked, { stage })}
    ${view.rounds.length > 0 ? h(History, { view, other }) : null}
    ${view.messages.length > 0 ? h(Said, { view, other }) : null}
  </article>`;
}

/** What the action with a letter is called. @param {any} view */
function wordsOf(view) {
  return (/** @type {string} */ letter) => {
    const found = view.actions.find((/** @type {any} */ one) => one.letter === letter);
    return found?.code ? say(`label_${found.code}`) : (found?.word ?? letter);
  };
}

/** @param {{ view: any, other: string }} props */
function Payoffs({ view, other }) {
  const word = wordsOf(view);
  return h(Table, {
    caption: say("payoffs"),
    columns: [say("you_choose"), say("other_chooses", { name: other }), say("you_get"), say("other_gets", { name: other })],
    rows: view.payoffs.map((/** @type {any} */ one) => [word(one.you), word(one.opponent), one.your_points, one.opponent_points]),
    hasRowHeads: false,
  });
}

/** @param {{ view: any, other: string }} props */
function History({ view, other }) {
  const word = wordsOf(view);
  return h(Table, {
    caption: say("rounds_so_far"),
    columns: [say("round_column"), say("you_chose"), say("other_chose", { name: other }), say("you_got"), say("other_got", { name: other })],
    rows: [...view.rounds].reverse().map((/** @type {any} */ one) =>
      one.counts
        ? [one.round, word(one.you), word(one.opponent), one.your_points, one.opponent_points]
        : [one.round, say("does_not_count"), "–", "–", "–"],
    ),
  });
}

/** @param {{ view: any, other: string }} props */
function Said({ view, other }) {
  return html`<section><h2>${say("messages")}</h2>
    ${view.messages.map((/** @type {any} */ one) => html`<p><strong>${say("round", { number: one.round })}</strong></p>
      <ul><li>${say("you_as_name")}: ${one.you || "–"}</li><li>${other}: ${one.opponent || "–"}</li></ul>`)}
  </section>`;
}
