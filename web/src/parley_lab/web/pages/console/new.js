/** A new experiment: from a file with its tables and pictures, or from a text. */
import { h, html, useState } from "../vendor/preact.js";
import { go } from "./address.js";
import { inWords, requireBody, requireSize, send, sendFile } from "./api.js";
import { Drop } from "./drop.js";
import { homeOf } from "./home.js";
import { store, Templates } from "./templates.js";
import { asLine, Field, MoreProblems, Press } from "./ui.js";
import { useText } from "./unsaved.js";
import { t } from "./words.js";

const ZIP = "application/zip";
/** The list at the end of an archive of a hundred files is shorter. */
const DIRECTORY_BYTES = 65_536;
/** The key that every experiment file has, in its first bytes; as the gateway looks for it. */
const BEGINS = /^\uFEFF?[ \t]*(?:[{,][ \t]*)?["']?parley["']?[ \t]*:|[{,][ \t]*"parley"[ \t]*:/m;
const FIRST_BYTES = 65_536;
const SHOWN_PROBLEMS = 100;
const WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

/** What a draft begins as, before the text with problems is stored over it. */
const START = { parley: 1, name: "Draft", stages: [{ id: "welcome", kind: "info", lines: ["Welcome."] }], cohorts: [{ seats: [{ open: true }] }] };

/** @typedef {{ text: string | null, put: (path: string) => Promise<any> }} Refused A text, and how it is stored over a draft. */

export default function New() {
  const { text, set } = useText("new", "");
  const [error, setError] = useState(/** @type {any} */ (null));
  const [refused, setRefused] = useState(/** @type {Refused | null} */ (null));
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
    set({ text: "" });
    if (made.experiments === undefined) return go(homeOf(made));
    if (made.warnings.length > 0) setWarnings(made.warnings);
    else go(made.experiments.length === 1 ? homeOf(made.experiments[0]) : "/console");
  }

  /** @param {File[]} files */
  const take = (files) =>
    attempt(async () => {
      setRefused(null);
      const file = await textAmong(files);
      if (file !== undefined) return await storeText(await file.text(), files.filter((one) => one !== file));
      const archive = files.find((one) => /\.(xlsx|zip)$/i.test(one.name));
      if (archive && (await holdsText(archive))) return await storeZip(archive);
      if (archive) await requireBody(archive.size, archive.name);
      if (archive) return (await send("POST", "/experiments/import", { body: archive, type: isZip(archive) ? ZIP : WORKBOOK })).content;
      if (files.length > 0 && files.every((one) => /\.csv$/i.test(one.name))) return (await send("POST", "/experiments/import", { body: packed(files) })).content;
      throw new Error(t("None of these is an experiment file (.yaml, .json) or a workbook (.xlsx, .zip)."));
    });

  /** @param {string} content @param {File[]} files */
  async function storeText(content, files) {
    set({ text: content });
    setRefused({ text: content, put: (path) => sendFile("PUT", path, content, {}, files) });
    return (await sendFile("POST", "/experiments", content, {}, files)).content;
  }

  /** @param {File} archive */
  async function storeZip(archive) {
    await requireSize(archive);
    setRefused({ text: null, put: (path) => send("PUT", path, { body: archive, type: ZIP }) });
    return (await send("POST", "/experiments", { body: archive, type: ZIP })).content;
  }

  /** Store it as a draft that cannot start: its problems are mended in the editor. */
  const keep = () => attempt(async () => {
    const made = (await send("POST", "/experiments", { body: START })).content;
    await refused?.put(`/experiments/${made.id}/file?keep_problems=true`);
    return made;
  });

  if (warnings.length > 0) return html`<p>${t("The workbook is stored. It was forgiven:")}</p><ul>${warnings.map((one) => html`<li>${one}</li>`)}</ul><p>${h(Press, { kind: "primary", onPress: () => go("/console"), children: t("Show all") })}</p>`;
  return html`${h(Drop, { onFiles: take, label: t("Files of an experiment"), children: t("Drop an experiment file here, with its tables and pictures, or a workbook.") })}
    ${error === null && text === "" ? h(Templates, { onChoose: (one) => attempt(() => store(one)) }) : null}
    ${error ? h(Wrong, { error, refused, onKeep: keep }) : null}
    ${h(Field, { label: t("Or paste the text of a file"), value: text, onInput: (one) => set({ text: one }), isLong: true })}
    <div class="c-acts">${h(Press, { kind: "primary", isDisabled: text.trim() === "", onPress: () => attempt(() => storeText(text, [])), children: t("Store as a draft") })}</div>`;
}

/** @param {File[]} files */
function packed(files) {
  const form = new FormData();
  for (const file of files) form.append("file", file, file.name);
  return form;
}

/** @param {File} file */
const isZip = (file) => /\.zip$/i.test(file.name);

/** The one that is an experiment file: of several the one that begins like it, or is called after it. @param {File[]} files @returns {Promise<File | undefined>} */
async function textAmong(files) {
  const known = files.filter((one) => /\.(ya?ml|json)$/i.test(one.name));
  if (known.length < 2) return known[0];
  const texts = await Promise.all(known.map((one) => one.slice(0, FIRST_BYTES).text()));
  const named = known.filter((_, index) => BEGINS.test(texts[index]));
  const called = named.filter((one) => /^experiment\.(ya?ml|json)$/i.test(one.name));
  if (named.length > 1 && called.length !== 1) throw new Error(t("These are several experiment files: {names}. Add one of them.", { names: named.map((one) => one.name).join(", ") }));
  return called[0] ?? named[0];
}

/** Whether an archive has a text in it, and is no workbook: its last bytes list what it has. @param {File} archive */
const holdsText = async (archive) => isZip(archive) && /\.(ya?ml|json)/i.test(await archive.slice(-DIRECTORY_BYTES).text());

/** What is wrong with the file, each problem with its line. @param {{ error: any, refused: Refused | null, onKeep: () => Promise<void> }} props */
function Wrong({ error, refused, onKeep }) {
  const lines = refused?.text?.split("\n") ?? [];
  const problems = error.problems ?? [];
  return html`<div class="notice error" role="alert"><p>${inWords(error)}</p>
    ${problems.length ? html`<ul class="c-problems">${problems.slice(0, SHOWN_PROBLEMS).map((/** @type {any} */ one) => html`<li>${asLine(one)}${h(Line, { at: one.at ?? "", lines })}</li>`)}</ul>${h(MoreProblems, { count: problems.length - SHOWN_PROBLEMS })}
      ${refused ? h(Press, { onPress: onKeep, children: t("Mend it in the editor") }) : null}` : null}</div>`;
}

/** The line of the file that a problem is about. @param {{ at: string, lines: string[] }} props */
function Line({ at, lines }) {
  const number = Number(/^line (\d+)/.exec(at)?.[1]);
  const text = lines[number - 1];
  return text === undefined ? null : html`<code class="c-source">${number}  ${text}</code>`;
}
