import { Line } from "parley/charts.js";
import { h, html, useState } from "parley/preact.js";
import { GoOn } from "parley/questions.js";
import { Button, Details, Head, Table } from "parley/ui.js";
import { money, percent, say } from "parley/words.js";

/** @param {import("parley/page.js").StageProps} stage */
export default function StocksPage(stage) {
  const { view, forms } = stage.page;
  return html`<article>
    ${h(Head, { view })}
    ${view.stocks.map((/** @type {any} */ stock) => h(Stock, { key: stock.id, stage, stock, form: forms.find((/** @type {any} */ one) => one.key === `viewed:${stock.id}`) ?? null }))}
    ${stage.isCurrent ? h(GoOn, { stage }) : null}
  </article>`;
}

/** One stock, which opens when the reader wants to look at it. @param {{ stage: import("parley/page.js").StageProps, stock: any, form: any }} props */
function Stock({ stage, stock, form }) {
  const [isBusy, setBusy] = useState(false);
  const { currency } = stage.page.view;
  async function look() {
    setBusy(true);
    await stage.act(() => stage.api.post(`/v1/me/asks/${form.ask_id}/answer`, { answer: { viewed: true } }));
    setBusy(false);
  }
  // The page may be read before the lab has asked for the looks.
  if (form !== null || (stage.isCurrent && !stock.is_viewed)) {
    return html`<section class="card"><h2>${stock.name}</h2>
      <p>${h(Button, { kind: "quiet", isBusy: isBusy || form === null, onPress: look, children: say("look_at", { name: stock.name }) })}</p></section>`;
  }
  const days = stock.prices.map((/** @type {any} */ one) => one.day);
  return html`<section class="card"><h2>${stock.name}</h2>
    ${stock.description ? html`<p>${stock.description}</p>` : null}
    ${h(Line, { label: say("prices_of", { name: stock.name }), values: stock.prices.map((/** @type {any} */ one) => one.close), names: days })}
    ${stock.cards.length > 0
      ? html`<dl class="figures">${stock.cards.map((/** @type {any} */ card) => html`<div><dt>${card.code ? say(card.code) : card.title}</dt><dd>${valueOf(stock, card)}${card.subtext ? html` <span class="hint">${card.subtext}</span>` : null}</dd></div>`)}</dl>`
      : null}
    ${stock.years.length > 0
      ? h(Table, { caption: say("by_year", { name: stock.name }), columns: [say("year"), say("change")], rows: stock.years.map((/** @type {any} */ one) => [one.year, percent(one.change)]) })
      : null}
    ${h(Details, {
      summary: say("all_prices"),
      children: h(Table, { caption: say("prices_of", { name: stock.name }), columns: [say("day"), say("price")], rows: stock.prices.map((/** @type {any} */ one) => [one.day, money(one.close, currency)]) }),
    })}
  </section>`;
}

/** The change of a year in the words of the language. @param {any} stock @param {any} card */
function valueOf(stock, card) {
  const year = card.code ? stock.years.find((/** @type {any} */ one) => String(one.year) === card.subtext) : null;
  return year ? percent(year.change) : card.value;
}
