/** The prompt of a persona on a stage of any experiment, before it sits there. */
import { h, html, useState } from "../vendor/preact.js";
import { get, post } from "./api.js";
import { Prompt } from "./prompt.js";
import { Choice, Loaded, useLoaded } from "./ui.js";
import { t } from "./words.js";

/** The newest ones: the list is to choose from. */
const MOST = 100;

/** @param {{ persona: any }} props `persona`: as it is stored. */
export function PersonaPrompt({ persona }) {
  const [experiment, choose] = useState("");
  const loaded = useLoaded(async () => (await get(`/experiments?limit=${MOST}`)).experiments, []);
  return html`<section class="c-card"><h2>${t("Prompt on a stage")}</h2>
    ${h(Loaded, { of: loaded, show: (/** @type {any[]} */ found) => h(Choice, { label: t("experiment"), isHidden: false, value: experiment, options: [["", t("choose one")], ...found.map((one) => /** @type {[string, string]} */ ([one.id, one.name]))], onChoose: choose }) })}
    ${experiment ? h(Stages, { key: experiment, id: experiment, persona }) : null}</section>`;
}

/** @param {{ id: string, persona: any }} props */
function Stages({ id, persona }) {
  const [stage, choose] = useState("");
  const loaded = useLoaded(() => get(`/experiments/${id}/see`), [id]);
  return h(Loaded, { of: loaded, show: (found) => html`
    ${h(Choice, { label: t("Stage"), isHidden: false, value: stage, options: [["", t("choose one")], ...found.stages.map((/** @type {any} */ one) => /** @type {[string, string]} */ ([one.id, one.title || one.id]))], onChoose: choose })}
    ${stage ? h(Asked, { key: stage, id, persona, stage }) : null}` });
}

/** @param {{ id: string, persona: any, stage: string }} props */
function Asked({ id, persona, stage }) {
  const loaded = useLoaded(() => post(`/experiments/${id}/prompt`, { persona, stage }), [id, persona, stage]);
  return h(Loaded, { of: loaded, show: (prompt) => h(Prompt, { prompt }) });
}
