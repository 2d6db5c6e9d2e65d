/** A form made of a JSON Schema: every question of every kind can be put with it. */
import { h, html, useEffect, useRef, useState } from "../vendor/preact.js";
import { Refused } from "./api.js";
import { Media, OptionImage } from "./media.js";
import { inField, keyboardOf, numberIn } from "./numbers.js";
import { reason } from "./refusals.js";
import { holds } from "./rules.js";
import { keeper } from "./saving.js";
import { Button, useFieldId } from "./ui.js";
import { inDigits, ownWords, say, sayOr } from "./words.js";

/** @typedef {Record<string, any>} Schema */

const MOST_RADIO_BUTTONS = 7;
const MOST_POINTS = 11;
const MOST_DIGITS_IN_A_ROW = 3;
const BARE = "value";
const TOGETHER = "";

/** The fields of a form by name; a bare form has one. @param {Schema} schema @returns {Record<string, Schema>} */
function fieldsOf(schema) {
  return schema.type === "object" && schema.properties ? schema.properties : { [BARE]: schema };
}

/** @param {Schema} schema */
const isBare = (schema) => !(schema.type === "object" && schema.properties);

/**
 * @param {{ schema: Schema, draftKey: string, submitLabel?: string, isDisabled?: boolean, saved?: any,
 *   onSave?: (answer: any) => Promise<any>, onChange?: (values: Record<string, any>) => void,
 *   turn?: import("./turns.js").Shown | null, mayPaste?: boolean, onProcess?: (numbers: any) => Promise<any>,
 *   onSubmit: (answer: any) => Promise<void> }} props `onProcess` is told how the answer came about, before it is sent. `onChange` hears all that is entered, and what there is at first:
 *   a number field gives its number, or what is typed there while that is none.
 */
export function Form({ schema, draftKey, submitLabel, isDisabled = false, saved = null, turn = null, mayPaste = true, onProcess, onSave, onChange, onSubmit }) {
  const fields = fieldsOf(schema);
  const answerOf = (/** @type {Record<string, any>} */ given) => (isBare(schema) ? given[BARE] : given);
  const [kept] = useState(() => keeper(draftKey, onSave && ((/** @type {any} */ next) => onSave(answerOf(answersIn(fields, next)) ?? null))));
  const atTheLab = () => (isBare(schema) ? { [BARE]: saved ?? undefined } : saved);
  const [values, setValues] = useState(() => restored(kept.unsaved() ?? atTheLab(), fields));
  const isTouched = useRef(false);
  const isSending = useRef(false);
  const checks = useRef(/** @type {any} */ (null));
  const known = useRef(JSON.stringify(saved));
  const [errors, setErrors] = useState(/** @type {Record<string, string>} */ ({}));
  const [failure, setFailure] = useState("");
  const [isBusy, setBusy] = useState(false);
  const summary = useRef(/** @type {HTMLElement | null} */ (null));
  const id = useFieldId();
  const form = useRef(/** @type {HTMLElement | null} */ (null));
  const process = useRef(/** @type {ReturnType<typeof import("./process.js").counted> | null} */ (null));
  const [pasteRefusedIn, setPasteRefusedIn] = useState("");
  useEffect(() => {
    if (onProcess) import("./process.js").then(({ counted }) => form.current && (process.current = counted(form.current)), () => {});
    return () => process.current?.stop();
  }, []);

  /** @param {Event} event */
  function refusePaste(event) {
    const name = /** @type {Element} */ (event.target).closest("[data-field]")?.getAttribute("data-field") ?? "";
    const rule = fields[name]?.["x-paste"];
    if (rule === "allowed" || (rule === undefined && mayPaste)) return;
    event.preventDefault();
    setPasteRefusedIn(name);
  }
  const answers = answersIn(fields, values);
  const wanted = Object.entries(fields).filter(([, field]) => holds(field["x-show-if"], answers));
  const shown = turn?.of(wanted) ?? wanted;
  const isRequired = (/** @type {string} */ name) => isBare(schema) || schema.required?.includes(name) || fields[name]["x-required"] === true;

  useEffect(() => onChange?.(answers), [values]);
  useEffect(() => kept.catchUp(), []);
  // What checks the answers is there before they are sent, and after the page is shown.
  useEffect(() => void CHECKS().then((module) => (checks.current = module), () => null), []);
  // Another tab may have saved something meanwhile. What was entered here is newer.
  useEffect(() => {
    if (known.current === JSON.stringify(saved)) return;
    known.current = JSON.stringify(saved);
    if (!isTouched.current && kept.unsaved() === null) setValues(restored(atTheLab(), fields));
  }, [saved]);

  /** @param {string} name @param {any} value */
  function change(name, value) {
    isTouched.current = true;
    setPasteRefusedIn("");
    const next = { ...values, [name]: value };
    setValues(next);
    if (errors[name] || errors[TOGETHER]) setErrors({ ...errors, [name]: "", [TOGETHER]: "" });
    kept.keep(next);
  }

  /** @param {Event} event */
  async function submit(event) {
    event.preventDefault();
    await goOn({ isOver: false });
  }

  /** Send the answers, or show the next row. @param {{ isOver: boolean }} time what its time is over for is not looked at */
  async function goOn({ isOver }) {
    if (isBusy || isDisabled) return;
    const found = isOver ? {} : (checks.current ?? (await CHECKS().catch(() => null)))?.problems(schema, shown, answers, isRequired) ?? {};
    setErrors(found);
    setFailure("");
    if (Object.keys(found).length > 0) return focusSummary();
    if (turn?.next) {
      kept.keep(values);
      return turn.next();
    }
    const given = Object.fromEntries(
      wanted.map(([name]) => [name, answers[name]]).filter(([, value]) => value !== undefined && value !== null),
    );
    // Checks are waited for: a second press may have come meanwhile.
    if (isSending.current) return;
    isSending.current = true;
    setBusy(true);
    try {
      if (process.current) await onProcess?.(process.current.numbers(isBare(schema) ? [] : wanted.map(([name]) => name)))?.catch(console.error);
      await onSubmit(answerOf(given));
      kept.drop();
      turn?.drop();
    } catch (error) {
      if (error instanceof Refused && error.problems.length > 0) setErrors(named(error.problems, fields));
      setFailure(reason(error));
      focusSummary();
    } finally {
      isSending.current = false;
      setBusy(false);
    }
  }

  function focusSummary() {
    setTimeout(() => summary.current?.focus(), 0);
  }

  const wrong = Object.entries(errors).filter(([, problem]) => problem);
  return html`<form class="form" novalidate ref=${form} onSubmit=${submit} onPaste=${refusePaste} onDrop=${refusePaste}>
    <div ref=${summary} tabindex="-1" class="summary" role="alert">
      ${wrong.length > 0 || failure
        ? html`<div class="notice error">
            <p>${wrong.length > 0 ? say("form_has_problems", { count: wrong.length }) : failure}</p>
            ${wrong.length > 0
              ? html`<ul>${wrong.map(([name, problem]) => html`<li>${name === TOGETHER ? null : html`<a href=${`#${id}-${name}`}>${titleOf(fields[name]) || name}</a> `}${problem}</li>`)}</ul>`
              : null}
          </div>`
        : null}
    </div>
    ${turn?.head(() => void goOn({ isOver: true }))}
    ${shown.map(([name, field]) => [
      field["x-media"] ? h(Media, { key: `${name}-media`, media: field["x-media"] }) : null,
      h(Field, {
        key: name,
        id: `${id}-${name}`,
        field,
        value: values[name],
        name,
        problem: errors[name] || (pasteRefusedIn === name ? say("paste_refused") : ""),
        isRequired: isRequired(name),
        isDisabled,
        onChange: (/** @type {any} */ value) => change(name, value),
      }),
      schema["x-totals"] ? h(Later, { load: SUMS, part: "Sums", schema, after: name, shown, answers }) : null,
    ])}
    ${turn?.isPaused ? null : html`<p class="actions">${h(Button, { isSubmit: true, isBusy, isDisabled, children: turn?.label ?? submitLabel ?? say("send") })}</p>`}
  </form>`;
}

/** @param {Record<string, any> | null} entered @param {Record<string, Schema>} fields */
function restored(entered, fields) {
  const initial = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, initialOf(field)]));
  const known = Object.entries(entered ?? {}).filter(([name, value]) => name in fields && value !== undefined && value !== null);
  return { ...initial, ...Object.fromEntries(known) };
}

/** What a field holds before anything is entered. @param {Schema} field @returns {any} */
function initialOf(field) {
  if (field.default !== undefined) return field.default;
  if (field["x-widget"] === "ranking" || field["x-widget"] === "consent") return undefined;
  if (field.type === "boolean") return false;
  if (field.type === "array") return [];
  if (field.type === "object" && field.properties) {
    return Object.fromEntries(Object.entries(field.properties).map(([name, part]) => [name, initialOf(part)]));
  }
  return undefined;
}

/** What a value is as an answer: numbers are kept as they are typed. @param {Schema | undefined} field @param {any} value @returns {any} */
function answerIn(field, value) {
  if (field?.properties && value) return answersIn(field.properties, value);
  const isNumber = field?.type === "integer" || field?.type === "number";
  return isNumber && typeof value === "string" ? numberIn(value, field.type === "integer") : value;
}

/** @param {Record<string, Schema>} fields @param {Record<string, any>} values @returns {Record<string, any>} */
const answersIn = (fields, values) => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, answerIn(fields[name], value)]));

/** What is asked; where the lab has named the field, in the words of the page. @param {Schema | undefined} field @returns {string} */
export const titleOf = (field) => ownWords(field?.title ?? "", field?.["x-title"]);

/** The lab's problems by field; what is of no field alone is of all together. @param {import("./api.js").ProblemItem[]} problems @param {Record<string, Schema>} fields */
function named(problems, fields) {
  const names = Object.keys(fields);
  return Object.fromEntries(
    problems.map((one) => {
      const name = names.find((each) => one.where === each || one.where.startsWith(`${each}.`) || one.where.startsWith(`${each}[`));
      return [name ?? (names.length === 1 ? names[0] : TOGETHER), sayOr(one.code ?? "", one.params ?? {}, one.wrong || say("expected", { words: one.expected }))];
    }),
  );
}

/**
 * @param {{ id: string, name?: string, field: Schema, value: any, problem: string, isRequired: boolean, isDisabled: boolean,
 *   onChange: (value: any) => void }} props
 */
function Field({ id, name, field, value, problem, isRequired, isDisabled, onChange }) {
  const common = { id, field, value, isDisabled, onChange, describedBy: problem ? `${id}-problem` : undefined };
  const isGroup = GROUPED.has(widgetOf(field));
  const title = html`${titleOf(field)}${isRequired ? null : html` <span class="optional">${say("optional")}</span>`}`;
  const message = problem ? html`<p class="problem" id=${`${id}-problem`}>${problem}</p>` : null;
  if (widgetOf(field) === "check") return html`<div class="field" data-field=${name}>${h(Check, { ...common, title })}${message}</div>`;
  if (isGroup) {
    return html`<fieldset class="field" data-field=${name} id=${id} tabindex="-1" aria-describedby=${common.describedBy}>
      <legend>${title}</legend>
      ${field.description ? html`<p class="hint">${field.description}</p>` : null}${message} ${h(Widget, common)}
    </fieldset>`;
  }
  return html`<div class="field" data-field=${name}>
    <label for=${id}>${title}</label>
    ${field.description ? html`<p class="hint">${field.description}</p>` : null}${message} ${h(Widget, common)}
  </div>`;
}

const GROUPED = new Set(["radio", "tiles", "consent", "boxes", "points", "ranking", "parts"]);

/** Which widget a field gets. @param {Schema} field @returns {string} */
export function widgetOf(field) {
  const wanted = field["x-widget"];
  if (wanted === "ranking" || wanted === "tiles" || wanted === "consent") return wanted;
  if (field.type === "boolean") return "check";
  if (field.type === "array") return "boxes";
  if (field.type === "object" && field.properties) return "parts";
  if (field.oneOf?.some((/** @type {any} */ option) => option["x-image"])) return "radio";
  if (field.oneOf) return wanted === "dropdown" || (wanted === undefined && field.oneOf.length > MOST_RADIO_BUTTONS) ? "select" : "radio";
  if (wanted === "scale") return pointsOf(field).length <= MOST_POINTS ? "points" : "slider";
  if (wanted === "slider") return "slider";
  if (field.type === "integer" || field.type === "number") return "number";
  return wanted === "textarea" ? "textarea" : "line";
}

/** @param {Schema} field @returns {number[]} */
function pointsOf(field) {
  if (field.enum) return field.enum;
  const step = field["x-step"] ?? field.multipleOf ?? 1;
  const count = Math.round((field.maximum - field.minimum) / step) + 1;
  return Array.from({ length: Math.min(count, 1000) }, (_, index) => field.minimum + index * step);
}

/** @param {any} props */
function Widget(props) {
  const { id, field, value, isDisabled, onChange, describedBy } = props;
  switch (widgetOf(field)) {
    case "radio":
      return field.oneOf.map((/** @type {any} */ option) => h(Radio, { ...props, key: option.const, option }));
    case "tiles":
      return html`<div class="points tiles">${field.oneOf.map((/** @type {any} */ option) => html`<label class="point"><input type="radio" name=${id} disabled=${isDisabled} checked=${value === option.const} onChange=${() => onChange(option.const)} /><span>${option.title}</span></label>`)}</div>`;
    case "consent":
      return [[true, "agree"], [false, "do_not_agree"]].map(([given, words]) => h(Radio, { ...props, key: words, option: { const: given, title: say(String(words)) } }));
    case "select":
      return html`<select id=${id} disabled=${isDisabled} aria-describedby=${describedBy} aria-invalid=${describedBy ? "true" : undefined} onChange=${(/** @type {any} */ event) => onChange(event.target.value || undefined)}>
        <option value="" selected=${value === undefined}>${say("please_choose")}</option>
        ${field.oneOf.map((/** @type {any} */ option) => html`<option value=${option.const} selected=${value === option.const}>${titleOf(option)}</option>`)}
      </select>`;
    case "boxes":
      return field.items.oneOf.map((/** @type {any} */ option) => {
        const chosen = value ?? [];
        const toggle = () => onChange(chosen.includes(option.const) ? chosen.filter((/** @type {any} */ one) => one !== option.const) : [...chosen, option.const]);
        return html`<label class="option"><input type="checkbox" disabled=${isDisabled} checked=${chosen.includes(option.const)} onChange=${toggle} /> ${h(OptionImage, { image: option["x-image"] })}<span>${option.title}</span></label>`;
      });
    case "points":
      return h(Points, props);
    case "slider":
      return h(Slider, props);
    case "ranking":
      return h(Later, { load: () => import("./ranking.js"), part: "Ranking", ...props });
    case "parts":
      return [...Object.entries(field.properties).map(([name, part]) =>
        h(Field, { key: name, id: `${id}-${name}`, field: /** @type {Schema} */ (part), value: value?.[name], problem: "", isRequired: (field.required ?? []).includes(name), isDisabled, onChange: (/** @type {any} */ next) => onChange({ ...value, [name]: next }) }),
      ), field["x-total"] ? h(Later, { load: SUMS, part: "Sum", total: field["x-total"], values: Object.values(answersIn(field.properties, value ?? {})) }) : null];
    case "number":
      return html`<input id=${id} type="text" inputmode=${keyboardOf(field)} autocomplete="off" disabled=${isDisabled} aria-describedby=${describedBy} aria-invalid=${describedBy ? "true" : undefined} value=${inField(value)} onInput=${(/** @type {any} */ event) => onChange(event.target.value)} />`;
    case "textarea":
      return html`<textarea id=${id} rows="4" disabled=${isDisabled} aria-describedby=${describedBy} aria-invalid=${describedBy ? "true" : undefined} value=${value ?? ""} onInput=${(/** @type {any} */ event) => onChange(event.target.value)}></textarea>`;
    default:
      return html`<input id=${id} type="text" autocomplete="off" disabled=${isDisabled} aria-describedby=${describedBy} aria-invalid=${describedBy ? "true" : undefined} value=${value ?? ""} onInput=${(/** @type {any} */ event) => onChange(event.target.value)} />`;
  }
}

/** @param {any} props */
function Radio({ id, value, option, isDisabled, onChange }) {
  return html`<label class="option"><input type="radio" name=${id} disabled=${isDisabled} checked=${value === option.const} onChange=${() => onChange(option.const)} /> ${h(OptionImage, { image: option["x-image"] })}<span>${titleOf(option)}</span></label>`;
}

/** @param {any} props */
function Check({ id, field, value, title, isDisabled, describedBy, onChange }) {
  return html`<label class="option"><input id=${id} type="checkbox" disabled=${isDisabled} aria-describedby=${describedBy} aria-invalid=${describedBy ? "true" : undefined} checked=${value === true} onChange=${(/** @type {any} */ event) => onChange(event.target.checked)} /> <span>${title}</span></label>
    ${field.description ? html`<p class="hint">${field.description}</p>` : null}`;
}

/** @param {any} props */
function Points({ id, field, value, isDisabled, onChange }) {
  const words = field["x-words"] ?? {};
  const points = pointsOf(field);
  const isShort = points.every((point) => String(point).length <= MOST_DIGITS_IN_A_ROW);
  return html`<div class=${isShort ? "points row" : "points"}>
    ${points.map((point) => html`<label class="point"><input type="radio" name=${id} disabled=${isDisabled} checked=${value === point} onChange=${() => onChange(point)} /><span>${inDigits(point)}</span></label>`)}
  </div>
  ${h(Ends, { words })}`;
}

/** @param {any} props */
function Slider({ id, field, value, isDisabled, describedBy, onChange }) {
  const points = pointsOf(field);
  const step = field["x-step"] ?? field.multipleOf ?? 1;
  return html`<div class="slider">
    <input id=${id} type="range" min=${field.minimum} max=${field.maximum} step=${step} disabled=${isDisabled} aria-describedby=${describedBy} aria-invalid=${describedBy ? "true" : undefined}
      value=${value ?? points[Math.floor(points.length / 2)]} data-empty=${value === undefined}
      onInput=${(/** @type {any} */ event) => onChange(Number(event.target.value))}
      onClick=${(/** @type {any} */ event) => onChange(Number(event.target.value))} />
    <output for=${id}>${value === undefined || value === null ? "–" : inDigits(value)}</output>
  </div>
  ${h(Ends, { words: field["x-words"] ?? {} })}`;
}

/** @param {{ words: Record<string, string> }} props */
function Ends({ words }) {
  if (!words.lower && !words.middle && !words.upper) return null;
  return html`<div class="ends"><span>${words.lower ?? ""}</span><span>${words.middle ?? ""}</span><span>${words.upper ?? ""}</span></div>`;
}

const SUMS = () => import("./sums.js");
const CHECKS = () => import("./checks.js");

/** A part of a form whose script is fetched when a form first has one. @param {any} props */
export function Later({ load, part, ...props }) {
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [failure, setFailure] = useState(/** @type {unknown} */ (null));
  useEffect(() => {
    load().then((/** @type {any} */ module) => setFound(() => module[part]), setFailure);
  }, []);
  if (failure) throw failure;
  return found ? h(found, props) : null;
}
