import { Asked } from "parley/questions.js";
import { h, html } from "parley/preact.js";
import { Head, Notice, Table } from "parley/ui.js";
import { inDigits, say } from "parley/words.js";

/** @param {number | null} value */
const figure = (value) => (value === null ? "–" : inDigits(value));

/** @param {import("parley/page.js").StageProps} stage */
export default function ContestPage(stage) {
  const { view } = stage.page;
  return html`<article class="game">
    ${h(Head, { view })}
    ${view.is_player ? null : h(Notice, { children: say("game_without_you") })}
    <p>${say("contest_rule", { lower: inDigits(view.lower), upper: inDigits(view.upper), factor: inDigits(view.factor), prize: inDigits(view.prize) })}</p>
    <p class="hint">${say("players")}: <span translate=${false}>${view.players.map((/** @type {string} */ name, /** @type {number} */ place) => (place === view.own_place ? `${name} ${say("you")}` : name)).join(", ")}</span></p>
    ${view.round === null ? null : html`<p class="round" role="status">${say("round_of", { number: view.round, count: view.rounds_in_all })}</p>`}
    ${view.status === "abandoned" ? h(Notice, { children: say("contest_abandoned") }) : null}
    ${h(Asked, { stage })}
    ${view.rounds.length > 0
      ? h(Table, {
          caption: say("rounds_so_far"),
          columns: [say("round_column"), say("your_guess"), say("mean"), say("target"), say("winners"), say("you_got")],
          rows: [...view.rounds].reverse().map((/** @type {any} */ one) => [
            one.round,
            figure(one.your_guess),
            figure(one.mean),
            figure(one.target),
            html`<span translate=${false}>${one.winners.map((/** @type {any} */ who) => `${who.is_you ? say("you_as_name") : who.name} (${inDigits(who.guess)})`).join(", ") || "–"}</span>`,
            figure(one.your_prize),
          ]),
        })
      : null}
    ${view.messages.length > 0
      ? html`<section><h2>${say("messages")}</h2><ul>${view.messages.map((/** @type {any} */ one) => html`<li>${say("round", { number: one.round })}, ${one.name}${one.is_you ? ` ${say("you")}` : ""}: <span class="said" dir="auto" translate=${false}>${one.text}</span></li>`)}</ul></section>`
      : null}
  </article>`;
}
