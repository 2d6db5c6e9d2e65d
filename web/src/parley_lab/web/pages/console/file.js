/** The file of an experiment: its text with problems at their lines, what it comes to, and saving. */
import { h, html, useEffect, useRef, useState } from "../vendor/preact.js";
import { Refused } from "../lab/api.js";
import { download, inWords, query, saveAs, send, sendFile } from "./api.js";
import { Beside } from "./beside.js";
import { Differing } from "./compare.js";
import { askFirst } from "./confirm.js";
import { Editor } from "./editor.js";
import { SeeText } from "./see.js";
import { Dialog, Failure, Figure, Loaded, Press, useLoaded } from "./ui.js";
import { fileOf, useText } from "./unsaved.js";
import { atTime, inDigits, t } from "./words.js";

/** A check begins so long after the last key. */
const CHECKED_MS = 400;

/** @param {import("./experiment.js").PageProps} props */
export default function File(props) {
  const { id } = props;
  const loaded = useLoaded(() => send("GET", `/experiments/${id}/source`), [id]);
  return h(Loaded, { of: loaded, show: ({ content, etag }) => h(Text, { key: etag, ...props, source: content, etag, reload: loaded.again }) });
}

/** @typedef {{ files: globalThis.File[], without: string[] }} Beside Files beside the text that are added, and names of those that are removed. */

/** @type {Beside} */
const NOTHING = { files: [], without: [] };

/** @typedef {import("./experiment.js").PageProps & { source: any, etag: string | null, reload: () => Promise<void> }} TextProps */

/** @param {TextProps} props */
function Text({ id, experiment, source, etag, again, reload }) {
  const { text, saved, tag, set, newest } = useText(fileOf(id), source.text, etag);
  const [files, setFiles] = useState(source.files);
  const [error, setError] = useState(/** @type {any} */ (null));
  const refused = useRef(NOTHING);
  const isDraft = experiment.status === "draft";
  const checked = useCheck(text, source.problems ?? [], id, files);
  const isChanged = text !== saved;
  const [isSeeing, setSeeing] = useState(false);

  /** @param {string | null} over the version that is saved over @param {Beside} [more] what is added and removed with it */
  async function save(over, more = NOTHING) {
    setError(null);
    const beside = together(refused.current, more);
    try {
      const answer = await sendFile("PUT", `/experiments/${id}/file${query({ keep_problems: true })}${beside.without.map((name) => `&without=${encodeURIComponent(name)}`).join("")}`, text, over === null ? {} : { "If-Match": over }, beside.files);
      refused.current = NOTHING;
      set({ saved: text, tag: answer.etag });
      await again();
      // The text stays as it is here: more may have been typed meanwhile.
      if (beside.files.length > 0 || beside.without.length > 0) setFiles((await send("GET", `/experiments/${id}/source`)).content.files);
    } catch (wrong) {
      // Over a newer version it is saved with what was refused.
      refused.current = wrong instanceof Refused && wrong.status === 412 ? beside : NOTHING;
      setError(wrong);
    }
  }

  /** The text as it is here; with its tables and pictures the stored one, in an archive. */
  const takeHome = () => (files.length > 0 && !isChanged ? download(`/experiments/${id}/source/zip`, nameOf(experiment.name, "zip")) : saveAs(new Blob([text]), nameOf(experiment.name, source.media_type?.includes("json") ? "json" : "yaml")));

  const takeBack = () => set({ text: newest().saved });
  const discard = () => askFirst({ title: t("Discard the changes?"), text: t("The text becomes the saved one. This cannot be undone."), act: t("Discard them"), run: async () => takeBack() });
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key !== "s") return;
    event.preventDefault();
    if (isDraft && isChanged) void save(tag);
  };
  const isOvertaken = error instanceof Refused && error.status === 412;
  return html`<div class="c-file" onKeyDown=${onKey}><div class="c-file-main">
      <div class="c-file-bar"><strong class=${checked.problems.length ? "c-wrong-text" : ""} role="status">${checked.problems.length ? t("{count} problem|{count} problems", { count: checked.problems.length }) : t("No problems")}</strong>
        <span class="c-small">${!isDraft ? t("It was started: what people are asked cannot change.") : isChanged ? t("not saved") : t("saved")}</span>
        ${isDraft ? h(Press, { kind: "primary", isDisabled: !isChanged, onPress: () => save(tag), children: t("Save") }) : null}
        ${isChanged ? h(Press, { onPress: discard, children: t("Discard") }) : null}
        ${h(Press, { icon: "eye", isDisabled: checked.problems.length > 0, onPress: () => setSeeing(true), children: t("See as") })}
        ${h(Press, { icon: "download", onPress: takeHome, children: t("Download") })}</div>
      ${isOvertaken ? h(Overtaken, { id, error, onMine: () => save(null), onTheirs: async () => (takeBack(), await reload()), text }) : error ? h(Failure, { error }) : null}
      ${h(Editor, { text, onInput: (one) => set({ text: one }), problems: checked.problems, isReadOnly: !isDraft })}</div>
    <div>${h(Outcome, { found: checked.found })}${h(Beside, { files, text, isReadOnly: !isDraft, onAdd: (added) => save(tag, { files: added, without: [] }), onRemove: (name) => save(tag, { files: [], without: [name] }) })}</div>
    ${isSeeing ? h(Dialog, { title: t("See as"), isWide: true, onClose: () => setSeeing(false), children: h(SeeText, { read: async (place) => (await sendFile("POST", `/experiments/see${query({ ...place, beside: id })}`, text)).content }) }) : null}</div>`;
}

/** Join both; of each name the last word counts. @param {Beside} before @param {Beside} more @returns {Beside} */
function together(before, more) {
  const newest = new Set([...more.files.map((one) => one.name), ...more.without]);
  return { files: [...before.files.filter((one) => !newest.has(one.name)), ...more.files], without: [...new Set([...before.without, ...more.without])] };
}

/** @param {string} name @param {string} ending */
const nameOf = (name, ending) => `${name.replace(/[^\p{L}\p{N}]+/gu, "-").toLowerCase()}.${ending}`;

/** What the lab says of the text, a moment after the last key. @param {string} text @param {any[]} first @param {string} id @param {any[]} [files] those beside it: other ones are a reason to ask again @returns {{ problems: any[], found: any }} */
export function useCheck(text, first, id, files) {
  const [state, setState] = useState({ problems: first, found: /** @type {any} */ (null) });
  const turn = useRef(0);
  useEffect(() => {
    const mine = (turn.current += 1);
    const timer = setTimeout(async () => {
      const found = await sendFile("POST", `/experiments/check?beside=${id}`, text).then(({ content }) => content, () => null);
      if (mine === turn.current && found !== null) setState({ problems: found.problems, found });
    }, CHECKED_MS);
    return () => clearTimeout(timer);
  }, [text, files]);
  return state;
}

/** A newer version is stored: what it has and this text has not, and which of the two is kept. @param {{ id: string, error: Refused, onMine: () => Promise<void>, onTheirs: () => Promise<void>, text: string }} props */
export function Overtaken({ id, error, onMine, onTheirs, text }) {
  const theirs = useLoaded(() => send("GET", `/experiments/${id}/source`), [id, error]);
  return html`<div class="notice warning" role="alert"><p>${inWords(error)} ${error.params.saved_by ? t("Saved by {name}, {time}.", { name: error.params.saved_by, time: atTime(error.params.saved_at) }) : ""}</p>
    <div class="c-acts">${h(Press, { onPress: onMine, children: t("Save mine over it") })}${h(Press, { onPress: async () => (saveAs(new Blob([text]), "mine.yaml"), await onTheirs()), children: t("Download mine, take theirs") })}</div>
    ${h(Loaded, { of: theirs, show: ({ content }) => h(Differing, { left: text, right: content.text, title: t("Your text and theirs"), said: t("Lines with − are in your text alone, lines with + in theirs."), same: t("The two texts are the same.") }) })}</div>`;
}

/** What the file comes to. @param {{ found: any }} props */
function Outcome({ found }) {
  if (!found?.is_valid) return null;
  return html`<section class="c-card"><h2>${t("What it comes to")}</h2><dl class="c-figures">
    ${h(Figure, { name: t("groups"), value: inDigits(found.cohorts) })}${h(Figure, { name: t("members"), value: inDigits(found.members) })}
    ${found.treatments?.length ? h(Figure, { name: t("arms"), value: inDigits(found.treatments.length) }) : null}${found.estimate ? h(Figure, { name: t("replies of models"), value: inDigits(found.estimate.replies), more: found.estimate.open_ended?.length ? t("and more") : "" }) : null}</dl>
    ${found.real_models.length ? html`<p class="c-small">${t("Real models lack:")}</p><ul class="c-small">${found.real_models.map((/** @type {string} */ one) => html`<li>${one}</li>`)}</ul>` : null}</section>`;
}
