/** A new experiment: from a file with its tables and pictures, or from a text. */
import { h, html, useRef, useState } from "../vendor/preact.js";
import { go } from "./address.js";
import { inWords, send, sendFile } from "./api.js";
import { homeOf } from "./home.js";
import { Icon } from "./icons.js";
import { store, Templates } from "./templates.js";
import { asLine, Field, Press } from "./ui.js";
import { t } from "./words.js";

const WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

/** What a draft begins as, before the text with problems is stored over it. */
const START = { parley: 1, name: "Draft", stages: [{ id: "welcome", kind: "info", lines: ["Welcome."] }], cohorts: [{ seats: [{ open: true }] }] };

export default function New() {
  const [text, setText] = useState("");
  const [error, setError] = useState(/** @type {any} */ (null));
  const [refused, setRefused] = useState(/** @type {string | null} */ (null));
  const [warnings, setWarnings] = useState(/** @type {string[]} */ ([]));

  /** @param {() => Promise<any>} store */
  async function attempt(store) {
    setError(null);
    try {
      open(await store());
    } catch (wrong) {
      setError(wrong);
    }
  }

  /** @param {any} made */
  function open(made) {
    if (made.experiments === undefined) return go(homeOf(made));
    if (made.warnings.length > 0) setWarnings(made.warnings);
    else go(made.experiments.length === 1 ? homeOf(made.experiments[0]) : "/console");
  }

  /** @param {File[]} files */
  const take = (files) =>
    attempt(async () => {
      const workbook = files.find((one) => /\.(xlsx|zip)$/i.test(one.name));
      if (workbook) return (await send("POST", "/experiments/import", { body: workbook, type: workbook.name.endsWith("zip") ? "application/zip" : WORKBOOK })).content;
      const [file] = files.filter((one) => /\.(ya?ml|json)$/i.test(one.name));
      if (file === undefined) throw new Error(t("None of these is an experiment file (.yaml, .json) or a workbook (.xlsx, .zip)."));
      const content = await file.text();
      setText(content);
      setRefused(content);
      return (await (files.length > 1 ? send("POST", "/experiments", { body: packed(files) }) : sendFile("POST", "/experiments", content))).content;
    });

  const paste = () =>
    attempt(async () => {
      setRefused(text);
      return (await sendFile("POST", "/experiments", text)).content;
    });

  /** The text as a draft that cannot start: its problems are mended in the editor. */
  const keep = () => attempt(async () => {
    const made = (await send("POST", "/experiments", { body: START })).content;
    await sendFile("PUT", `/experiments/${made.id}/file?keep_problems=true`, refused ?? text);
    return made;
  });

  if (warnings.length > 0) return html`<p>${t("The workbook is stored. It was forgiven:")}</p><ul>${warnings.map((one) => html`<li>${one}</li>`)}</ul><p>${h(Press, { kind: "primary", onPress: () => go("/console"), children: t("Show all") })}</p>`;
  return html`${h(Drop, { onFiles: take })}
    ${error === null && text === "" ? h(Templates, { onChoose: (one) => attempt(() => store(one)) }) : null}
    ${error ? h(Wrong, { error, text: refused, onKeep: keep }) : null}
    ${h(Field, { label: t("Or paste the text of a file"), value: text, onInput: setText, isLong: true })}
    <div class="c-acts">${h(Press, { kind: "primary", isDisabled: text.trim() === "", onPress: paste, children: t("Store as a draft") })}</div>`;
}

/** @param {File[]} files */
function packed(files) {
  const form = new FormData();
  for (const file of files) form.append("file", file, file.name);
  return form;
}

/** @param {{ onFiles: (files: File[]) => Promise<void> }} props */
function Drop({ onFiles }) {
  const [isOver, setOver] = useState(false);
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const drag = (/** @type {boolean} */ isIn) => (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    setOver(isIn);
  };
  const drop = (/** @type {DragEvent} */ event) => {
    drag(false)(event);
    void onFiles([...(event.dataTransfer?.files ?? [])]);
  };
  return html`<div class=${isOver ? "c-drop c-over" : "c-drop"} onDragOver=${drag(true)} onDragLeave=${drag(false)} onDrop=${drop}>
    <p>${h(Icon, { name: "upload" })} ${t("Drop an experiment file here, with its tables and pictures, or a workbook.")}</p>
    <input ref=${input} class="hidden" type="file" multiple tabindex="-1" aria-label=${t("Files of an experiment")} onChange=${(/** @type {any} */ event) => void onFiles([...event.currentTarget.files])} />
    ${h(Press, { onPress: () => input.current?.click(), children: t("Choose files") })}</div>`;
}

/** What is wrong with the file, each problem with its line. @param {{ error: any, text: string | null, onKeep: () => Promise<void> }} props */
function Wrong({ error, text, onKeep }) {
  const lines = text?.split("\n") ?? [];
  const problems = error.problems ?? [];
  return html`<div class="notice error" role="alert"><p>${inWords(error)}</p>
    ${problems.length ? html`<ul class="c-problems">${problems.slice(0, 100).map((/** @type {any} */ one) => html`<li>${asLine(one)}${h(Line, { at: one.at ?? "", lines })}</li>`)}</ul>
      ${text ? h(Press, { onPress: onKeep, children: t("Mend it in the editor") }) : null}` : null}</div>`;
}

/** The line of the file that a problem is about. @param {{ at: string, lines: string[] }} props */
function Line({ at, lines }) {
  const number = Number(/line (\d+)/.exec(at)?.[1]);
  const text = lines[number - 1];
  return text === undefined ? null : html`<code class="c-source">${number}  ${text}</code>`;
}
