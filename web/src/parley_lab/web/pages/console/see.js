/** See as: one stage and one seat, as a person sees the page and as an agent is shown the prompt. */
import { h, html, useState } from "../vendor/preact.js";
import { ask, asked } from "./address.js";
import { get, post, query } from "./api.js";
import { Compare } from "./compare.js";
import { act } from "./confirm.js";
import { Lazy } from "./lazy.js";
import { Prompt } from "./prompt.js";
import { named } from "./seats.js";
import { Choice, Loaded, Press, useLoaded } from "./ui.js";
import { t } from "./words.js";

/** @typedef {{ stage: string, treatment: string, seat: string }} Place What is looked at; empty: the first. */
/** @typedef {Place & { other: import("./compare.js").Other | null }} Looked `other`: whose prompt it is compared with. */

/** The page of an experiment, whose address says what is looked at. @param {import("./experiment.js").PageProps} props */
export default function SeePage({ id }) {
  const other = asked("compare") === "" ? null : { treatment: asked("with_arm"), seat: asked("with") };
  const at = { stage: asked("stage"), treatment: asked("arm"), seat: asked("as"), other };
  const choose = (/** @type {Looked} */ next) => ask({ stage: next.stage, arm: next.treatment, as: next.seat, compare: next.other === null ? "" : "1", with_arm: next.other?.treatment ?? "", with: next.other?.seat ?? "" }, { isReplacing: true });
  return h(See, { at, choose, load: (place) => get(`/experiments/${id}/see${query(place)}`), children: h(TryAlone, { id, treatment: at.treatment }) });
}

/** The same of a text that need not be saved. @param {{ read: (place: Place) => Promise<any> }} props */
export function SeeText({ read }) {
  const [at, setAt] = useState(/** @type {Looked} */ ({ stage: "", treatment: "", seat: "", other: null }));
  return h(See, { at, choose: setAt, load: read, children: null });
}

/** @param {{ at: Looked, choose: (place: Looked) => void, load: (place: Place) => Promise<any>, children: any }} props */
function See({ at, choose, load, children }) {
  const loaded = useLoaded(() => load({ stage: at.stage, treatment: at.treatment, seat: at.seat }), [at.stage, at.treatment, at.seat]);
  return h(Loaded, { of: loaded, show: (found) => html`<div class="c-filters">
      ${h(Choice, { label: t("Stage"), isHidden: false, value: found.stage_id, options: found.stages.map((/** @type {any} */ one) => [one.id, one.title || one.id]), onChoose: (stage) => choose({ ...at, stage }) })}
      ${found.treatments.length ? h(Choice, { label: t("arm"), isHidden: false, value: found.treatment_id ?? "", options: found.treatments.map((/** @type {string} */ one) => [one, one]), onChoose: (treatment) => choose({ ...at, treatment, seat: "" }) }) : null}
      ${h(Choice, { label: t("Seat"), isHidden: false, value: found.seat, options: found.seats.map(named), onChoose: (seat) => choose({ ...at, seat }) })}
      ${children}</div>
    ${found.made_up.length ? html`<p class="notice">${t("The mock has answered the earlier stages: {stages}.", { stages: found.made_up.join(", ") })}</p>` : null}
    ${h(Difference, { found })}
    <div class="c-pair"><section><h2>${t("A person sees this page")}</h2>${h(Lazy, { load: () => import("./kind_frame.js"), props: { me: found.me, page: found.page } })}</section>
      <section><h2>${t("An agent is shown this")}</h2>${found.prompt ? h(Prompt, { prompt: found.prompt }) : html`<p class="notice">${found.why_no_prompt}</p>`}</section></div>
    ${at.other ? h(Compare, { stage: found.stage_id, found, other: at.other, load, onChoose: (other) => choose({ ...at, other }) })
      : html`<p>${h(Press, { icon: "grid", isDisabled: !found.prompt, onPress: () => choose({ ...at, other: { treatment: found.treatment_id ?? "", seat: found.seat } }), children: t("Compare prompts") })}</p>`}` });
}

/** Which of the researcher's texts only one of the two reads. @param {{ found: any }} props */
function Difference({ found }) {
  const alone = (/** @type {string} */ here, /** @type {string} */ there) => found.texts.filter((/** @type {any} */ one) => one[here] && !one[there]);
  const [people, agents] = [alone("in_page", "in_prompt"), alone("in_prompt", "in_page")];
  const none = found.texts.filter((/** @type {any} */ one) => !one.in_page && !one.in_prompt).length;
  return html`<section class="c-card"><h2>${t("What only one of them reads")}</h2><div class="c-pair">
      ${h(Texts, { title: t("Only a person reads"), texts: people })}${h(Texts, { title: t("Only an agent reads"), texts: agents })}</div>
    ${none ? html`<p class="c-small">${t("{count} text is in neither of them now|{count} texts are in neither of them now", { count: none })}</p>` : null}</section>`;
}

/** @param {{ title: string, texts: any[] }} props */
function Texts({ title, texts }) {
  return html`<div><h3>${title}</h3>${texts.length === 0 ? html`<p class="c-small">${t("Nothing.")}</p>` : html`<ul class="c-differs">${texts.map((one) => html`<li><span class="c-text">${one.text}</span> <code class="c-small">${one.where}</code></li>`)}</ul>`}</div>`;
}

/** A test copy with one seat for the researcher, in a tab of its own. @param {{ id: string, treatment: string }} props */
function TryAlone({ id, treatment }) {
  const [place, setPlace] = useState("");
  const begin = () => act(async () => {
    const { join_url: url } = await post(`/experiments/${id}/try`, treatment ? { treatment } : {});
    setPlace(url);
  }, t("A test copy runs. The mock plays the others."));
  return place ? html`<a class="c-press c-primary" href=${place} target="_blank" rel="noopener">${t("Take your seat")}</a>` : h(Press, { icon: "play", onPress: begin, children: t("Try it alone") });
}
