/** The arena of a draft: who meets whom, payoffs and game, changed in its text without another byte of it. */
import { h, html, useRef, useState } from "../vendor/preact.js";
import { Refused } from "../lab/api.js";
import { all, post, send, sendFile } from "./api.js";
import { GameFields } from "./arena_fields.js";
import { Pairings } from "./arena_pairings.js";
import { Overtaken, useCheck } from "./file.js";
import { asLine, Empty, Failure, Loaded, Press, useLoaded } from "./ui.js";
import { fileOf, unsavedText, useText } from "./unsaved.js";
import { t } from "./words.js";

const GAME = "matrix_game";

/** @typedef {{ path: (string | number)[], value: unknown }} Change `value` null: it is taken out. */
/** @typedef {(changes: Change[], place?: string) => Promise<void>} ChangeText `place`: with a problem there, nothing is changed. */

/** @param {import("./experiment.js").PageProps} props */
export default function ArenaEditor(props) {
  const { id, experiment } = props;
  const loaded = useLoaded(async () => {
    const [{ content, etag }, library] = await Promise.all([send("GET", `/experiments/${id}/source`), all("/personas", "personas")]);
    return { source: content, etag, library, first: await post("/experiments/edit", { text: unsavedText(fileOf(id)) ?? content.text, changes: [] }) };
  }, [id]);
  if (experiment.status !== "draft") return h(Empty, { children: html`<p>${t("It was started: what people are asked cannot change.")}</p>` });
  return h(Loaded, { of: loaded, show: (found) => h(Edited, { key: found.etag, ...props, ...found, reload: loaded.again }) });
}

/** @param {import("./experiment.js").PageProps & { source: any, etag: string | null, library: any[], first: any, reload: () => Promise<void> }} props */
function Edited({ id, source, etag, library, first, again, reload }) {
  const { text, saved, tag, set, newest } = useText(fileOf(id), source.text, etag);
  const [document, setDocument] = useState(first.document);
  const [error, setError] = useState(/** @type {any} */ (null));
  const turn = useRef(Promise.resolve());
  const { problems } = useCheck(text, source.problems ?? [], id);
  const isChanged = text !== saved;

  /** @type {ChangeText} */
  async function change(changes, place) {
    const mine = turn.current.then(() => edit(changes, place));
    turn.current = mine.catch(() => undefined);
    await mine;
  }
  /** @type {ChangeText} */
  async function edit(changes, place) {
    const next = await post("/experiments/edit", { text: newest().text, changes });
    if (place) {
      const { content } = await sendFile("POST", `/experiments/check?beside=${id}`, next.text);
      const there = content.problems.filter((/** @type {any} */ one) => one.where.startsWith(place));
      if (there.length) throw Object.assign(new Error(t("This was not written into the file.")), { problems: there });
    }
    set({ text: next.text });
    setDocument(next.document);
  }
  /** @param {string | null} over */
  async function save(over) {
    setError(null);
    try {
      // A change that is on its way is saved, too.
      await turn.current;
      const mine = newest().text;
      const answer = await sendFile("PUT", `/experiments/${id}/file?keep_problems=true`, mine, over === null ? {} : { "If-Match": over });
      set({ saved: mine, tag: answer.etag });
      await again();
    } catch (wrong) {
      setError(wrong);
    }
  }
  const stages = Array.isArray(document?.stages) ? document.stages : [];
  const place = stages.findIndex((/** @type {any} */ one) => one?.kind === GAME);
  const isOvertaken = error instanceof Refused && error.status === 412;
  return html`<div class="c-file-bar c-card"><strong class=${problems.length ? "c-wrong-text" : ""} role="status">${problems.length ? t("{count} problem|{count} problems", { count: problems.length }) : t("No problems")}</strong>
      <span class="c-small">${isChanged ? t("not saved") : t("saved")}</span>${h(Press, { kind: "primary", isDisabled: !isChanged, onPress: () => save(tag), children: t("Save") })}</div>
    ${isOvertaken ? h(Overtaken, { id, error, onMine: () => save(null), onTheirs: async () => (set({ text: newest().saved }), await reload()), text }) : error ? h(Failure, { error }) : null}
    ${problems.length ? html`<ul class="c-card c-small">${problems.slice(0, 20).map((/** @type {any} */ one) => html`<li>${asLine(one)}</li>`)}</ul>` : null}
    ${place < 0 ? h(Empty, { children: html`<p>${t("This draft has no game of two. Its file needs a stage of the kind matrix_game; the template Arena has one.")}</p>` })
      : html`${h(Pairings, { document, library, stage: stages[place].id, change })}${h(GameFields, { stage: stages[place], place: `stages[${place}]`, path: ["stages", place], change })}`}`;
}
