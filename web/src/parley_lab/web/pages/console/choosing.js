/** Members who are chosen, in one group or several, and what is done with all of them at once. */
import { h, html, signal } from "../vendor/preact.js";
import { post } from "./api.js";
import { askFirst, tell } from "./confirm.js";
import { isIn } from "./placing.js";
import { Press } from "./ui.js";
import { t } from "./words.js";

/** @typedef {import("./placing.js").Member} Member */
/** @typedef {import("./board_state.js").BoardState} BoardState */

/** The ids of the members who are chosen. @type {import("@preact/signals").Signal<ReadonlySet<string>>} */
export const chosen = signal(new Set());
const MOST_AT_ONCE = 500;

/** @param {string[]} ids @param {boolean} isChosen */
export function choose(ids, isChosen) {
  const next = new Set(chosen.value);
  for (const id of ids) isChosen ? next.add(id) : next.delete(id);
  chosen.value = next;
}

/** Do it with all of them, and say how it went: how many, and why not with the others. @param {string} experiment @param {string} act @param {string[] | null} ids null: all people. @param {Record<string, string>} values */
async function actOnAll(experiment, act, ids, values) {
  /** @type {any[]} */
  const outcomes = [];
  for (let from = 0; from === 0 || (ids !== null && from < ids.length); from += MOST_AT_ONCE) {
    const body = ids === null ? values : { ...values, member_ids: ids.slice(from, from + MOST_AT_ONCE) };
    outcomes.push(...(await post(`/experiments/${experiment}/members/${act}`, body)).outcomes);
  }
  const refused = outcomes.filter((one) => one.outcome !== "done");
  const why = [...new Set(refused.map((one) => one.detail))].slice(0, 3).join(" ");
  const done = t("Done with {count} member.|Done with {count} members.", { count: outcomes.length - refused.length });
  tell(refused.length ? `${done} ${t("Not with {count}: {why}", { count: refused.length, why })}` : done, refused.length > 0);
}

/** Say something to all people who take part. @param {any} experiment */
export const messageAll = (experiment) => askFirst({
  title: t("Message to all"), text: t("Each person who takes part reads it on their own page, until they have closed it."), act: t("Send"), fields: [["text", t("Your words")]],
  run: (values) => actOnAll(experiment.id, "message", null, { text: values.text }),
});

/** What can be done with the members who are chosen. @param {{ experiment: any, board: BoardState }} props */
export function ChosenActs({ experiment, board }) {
  void board.drawn.value;
  const members = [...chosen.value].map((id) => board.members.get(id)).filter((one) => one !== undefined);
  if (members.length === 0) return null;
  const people = members.filter((one) => one.player === "person" && isIn(one));
  const to = (/** @type {string} */ act, /** @type {Member[]} */ whom, /** @type {Record<string, string>} */ values = {}) => actOnAll(experiment.id, act, whom.map((one) => one.id), values);
  const count = { count: members.length };
  const withReason = (/** @type {string} */ act, /** @type {string} */ title, /** @type {string} */ text, /** @type {string} */ button) => askFirst({ title, text, act: button, needsReason: true, run: (values) => to(act, members, values) });
  const say = () => askFirst({ title: t("Message to {count} person|Message to {count} people", { count: people.length }), text: t("Each person who takes part reads it on their own page, until they have closed it."), act: t("Send"), fields: [["text", t("Your words")]], run: (values) => to("message", people, { text: values.text }) });
  return html`<section class="c-chosen-acts" aria-label=${t("Chosen members")}><strong>${t("{count} chosen", count)}</strong><div class="c-acts">
      ${people.length ? html`${h(Press, { icon: "message", onPress: say, children: t("Message") })}${h(Press, { icon: "bell", onPress: () => to("check", people), children: t("Check") })}` : null}
      ${h(Press, { icon: "pause", onPress: () => to("pause", members), children: t("Pause") })}${h(Press, { icon: "play", onPress: () => to("resume", members), children: t("Resume") })}
      ${h(Press, { icon: "step", onPress: () => withReason("advance", t("Continue for {count} member?|Continue for {count} members?", count), t("As if the time was up: what is saved counts where it fits, a conversation is left, an open move is missing and may fail a game. A wait ends for the whole group."), t("Continue")), children: t("Continue") })}
      ${h(Press, { kind: "danger", icon: "trash", onPress: () => withReason("remove", t("Remove {count} member?|Remove {count} members?", count), t("They are out for good. The others are not told why."), t("Remove")), children: t("Remove") })}
      ${h(Press, { kind: "bare", onPress: () => choose([...chosen.value], false), children: t("Choose none") })}</div></section>`;
}

/** A box with which a member, or several, are chosen. @param {{ ids: string[], label: string }} props */
export function ChooseBox({ ids, label }) {
  const count = ids.filter((id) => chosen.value.has(id)).length;
  return html`<input type="checkbox" class="c-box" aria-label=${label} checked=${ids.length > 0 && count === ids.length} indeterminate=${count > 0 && count < ids.length}
    onChange=${(/** @type {any} */ event) => choose(ids, event.currentTarget.checked)} />`;
}
