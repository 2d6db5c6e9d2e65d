import { h, html } from "parley/preact.js";
import { Asked } from "parley/questions.js";
import { Head } from "parley/ui.js";
import { money, say, whyNot } from "parley/words.js";

/** @param {import("parley/page.js").StageProps} stage */
export default function PayoutPage(stage) {
  const { view } = stage.page;
  const blocked = whyNot(stage.page);
  const isKnown = blocked.length === 0;
  return html`<article class="payout">
    ${h(Head, { view })}
    ${isKnown
      ? html`<p class="amount"><span class="hint">${say("you_are_paid")}</span> <strong>${money(view.amount, view.currency)}</strong></p>
          ${view.average ? html`<p>${say("paid_mean")}</p>` : null}
          <ul class="cards">${view.items.map((/** @type {any} */ item) => h(Item, { key: item.id, item, currency: view.currency }))}</ul>`
      : null}
    ${h(Asked, { stage })}
  </article>`;
}

/** What one thing is worth, and why. @param {{ item: any, currency: string }} props */
function Item({ item, currency }) {
  const parts = [
    Number(item.base) ? say("paid_base", { amount: money(item.base, currency) }) : "",
    item.right_answers > 0 || Number(item.for_right_answers) ? say("paid_answers", { count: item.right_answers, amount: money(item.for_right_answers, currency) }) : "",
    item.points === null ? "" : say("paid_points", { points: item.points, rate: money(item.rate, currency) }),
    item.round === null ? "" : say("paid_round", { number: item.round }),
  ].filter((part) => part !== "");
  // What is paid for taking part alone is the amount beside the name.
  const isAllSaid = parts.length === 1 && Number(item.base) > 0;
  return html`<li>
    <p class="sum"><span>${item.name}</span> <strong>${money(item.amount, currency)}</strong></p>
    ${item.description ? html`<p>${item.description}</p>` : null}
    ${isAllSaid ? null : parts.map((part) => html`<p class="hint">${part}</p>`)}
  </li>`;
}
