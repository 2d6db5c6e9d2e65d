/** Acts of the experimenter: at once, or after a question where they cannot be undone. */
import { h, html, signal, useState } from "../vendor/preact.js";
import { inWords, post, send } from "./api.js";
import { Dialog, Failure, Field, Press, useOneRun, useRequestKey } from "./ui.js";
import { t } from "./words.js";

/**
 * @typedef {{ title: string, text: string, act: string, needsReason?: boolean, fields?: [string, string][], run: (values: Record<string, string>, key: string) => Promise<any> }} Question
 *   `fields`: what else is asked, as key and label; `reason` is one of the values. `key`: of the request.
 */

/** @type {import("@preact/signals").Signal<Question | null>} */
const open = signal(null);
/** The newest thing that was done or refused: read out, and shown for a while. @type {import("@preact/signals").Signal<{ text: string, isError: boolean } | null>} */
const told = signal(null);
const SHOWN_MS = 6000;
let timer = 0;

/** @param {string} text @param {boolean} [isError] */
export function tell(text, isError = false) {
  told.value = { text, isError };
  clearTimeout(timer);
  timer = setTimeout(() => (told.value = null), SHOWN_MS);
}

/** Ask before something is done. @param {Question} question */
export const askFirst = (question) => void (open.value = question);

/** Do something now, and say how it went. @param {() => Promise<any>} run @param {string} done @returns {Promise<boolean>} */
export async function act(run, done) {
  try {
    await run();
    if (done) tell(done);
    return true;
  } catch (error) {
    tell(inWords(error), true);
    return false;
  }
}

/** A request that changes something, said in words. @param {string} path @param {unknown} body @param {string} done */
export const actOn = (path, body, done) => act(() => post(path, body), done);

/** @param {string} method @param {string} path @param {unknown} [body] */
export const change = async (method, path, body) => (await send(method, path, { body })).content;

/** Where questions and outcomes are shown; the experiment's page has it once. */
export function Acts() {
  return html`<div class="c-told" role="status">${told.value ? html`<p class=${told.value.isError ? "c-toast c-wrong" : "c-toast"}>${told.value.text}</p>` : null}</div>
    ${open.value ? h(Asked, { key: open.value.title, question: open.value }) : null}`;
}

/** @param {{ question: Question }} props */
function Asked({ question }) {
  const [values, setValues] = useState(/** @type {Record<string, string>} */ ({}));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const fields = [...(question.fields ?? []), ...(question.needsReason ? /** @type {[string, string][]} */ ([["reason", t("Reason")]]) : [])];
  const close = () => void (open.value = null);
  const isReady = fields.every(([key]) => (values[key] ?? "").trim() !== "");
  const key = useRequestKey();
  const run = useOneRun(async () => {
    if (!isReady) return;
    setError(null);
    const before = told.value;
    try {
      await question.run(values, key.of(values));
      close();
      if (told.value === before) tell(t("Done."));
    } catch (wrong) {
      setError(wrong);
    }
  });
  return h(Dialog, {
    title: question.title,
    onClose: close,
    children: html`<p>${question.text}</p>${error ? h(Failure, { error }) : null}
      ${fields.map(([key, label], index) => h(Field, { label, value: values[key] ?? "", isLong: key === "text", hasFocus: index === 0, onInput: (value) => setValues({ ...values, [key]: value }), onEnter: run }))}
      <div class="c-acts">${h(Press, { kind: question.needsReason ? "danger" : "primary", isDisabled: !isReady, onPress: run, children: question.act })}
        ${h(Press, { onPress: close, children: t("Cancel") })}</div>`,
  });
}
