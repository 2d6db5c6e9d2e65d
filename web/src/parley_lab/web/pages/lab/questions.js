/** What is asked on a stage, and going on from it. */
import { h, html } from "../vendor/preact.js";
import { Form, Later } from "./form.js";
import { Button } from "./ui.js";
import { say, whyNot } from "./words.js";

/**
 * A form for one thing that is asked. `onChange` hears what is entered.
 * @param {{ stage: import("./page.js").StageProps, form: any, onChange?: (values: Record<string, any>) => void }} props
 */
export function Question({ stage, form, onChange }) {
  const isPage = form.ask_id === null;
  const address = isPage ? `/v1/me/stages/${stage.page.stage_id}/answer` : `/v1/me/asks/${form.ask_id}/answer`;
  const turns = isPage ? stage.page.view.turns : null;
  const asked = {
    schema: form.form,
    onChange,
    isDisabled: stage.me.is_paused,
    draftKey: `draft:${stage.me.member_id}:${stage.page.stage_id}:${form.key}`,
    saved: form.saved,
    mayPaste: stage.page.paste !== "refused",
    onProcess: stage.page.record === "process" ? (/** @type {any} */ questions) => stage.api.put(`/v1/me/stages/${stage.page.stage_id}/process`, { key: form.key, questions }) : undefined,
    onSave: (/** @type {unknown} */ answer) => stage.api.put(address, { answer }),
    submitLabel: isPage ? say("go_on") : say("send"),
    onSubmit: (/** @type {unknown} */ answer) => (isPage ? stage.advance(answer) : stage.answer(form.ask_id, answer)),
  };
  return turns ? h(Later, { load: () => import("./turns.js"), part: "InTurns", turns, ...asked }) : h(Form, asked);
}

/**
 * The button to the next stage, and why it cannot be pressed yet.
 * @param {{ stage: import("./page.js").StageProps, isWaiting?: boolean }} props
 */
export function GoOn({ stage, isWaiting = false }) {
  const blocked = whyNot(stage.page);
  if (isWaiting) return html`<p role="status" class="hint">${say("waiting_for_others")}</p>`;
  return html`<p class="actions">
      ${h(Button, { leadsOn: true, isDisabled: blocked.length > 0, onPress: () => stage.advance(), children: say("go_on") })}
    </p>
    ${blocked.map((/** @type {string} */ why) => html`<p class="hint">${why}</p>`)}`;
}

/**
 * All that is asked on a stage, and the way on from it.
 * @param {{ stage: import("./page.js").StageProps, onChange?: (values: Record<string, any>) => void }} props
 */
export function Asked({ stage, onChange }) {
  const { forms } = stage.page;
  const blocked = whyNot(stage.page);
  const mayGoOn = stage.isCurrent && (forms.length === 0 || (blocked.length === 0 && forms.every((/** @type {any} */ form) => form.ask_id !== null)));
  return html`<div class="asks" role="group" aria-label=${stage.page.view.title} tabindex="-1">
    ${forms.map((/** @type {any} */ form) => h(Question, { key: `${stage.page.stage_id}/${form.key}/${form.ask_id}`, stage, form, onChange }))}
    ${mayGoOn ? h(GoOn, { stage, isWaiting: blocked.length > 0 }) : null}</div>`;
}
