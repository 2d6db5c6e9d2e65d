/** An agent for a group that runs: a persona of the file, or one with a new text. */
import { h, html, useState } from "../vendor/preact.js";
import { get, post } from "./api.js";
import { Choice, Dialog, Failure, Field, Press, useLoaded, useRequestKey } from "./ui.js";
import { t, word } from "./words.js";

const NEW = "";

/** @typedef {{ base: string, name: string, text: string }} Written `base`: the persona whose model and settings the new one has. */

/** @param {{ board: import("./board_state.js").BoardState, group: import("./placing.js").Group, onClose: () => void }} props */
export function AddAgent({ board, group, onClose }) {
  const { personas, stages } = board.about;
  const [persona, setPersona] = useState(personas[0] ?? NEW);
  const [written, setWritten] = useState(/** @type {Written} */ ({ base: personas[0] ?? "", name: "", text: "" }));
  const [kind, setKind] = useState("participant");
  const [stage, setStage] = useState("");
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const isNew = persona === NEW;
  const key = useRequestKey();
  async function add() {
    setError(null);
    try {
      const who = isNew ? await personaOf(board.id, written) : persona;
      const asked = { persona: who, kind, ...(kind === "participant" && stage ? { stage_id: stage } : {}) };
      await post(`/cohorts/${group.id}/members`, asked, key.of(asked));
      onClose();
      await board.read();
    } catch (wrong) {
      setError(wrong);
    }
  }
  const isReady = !isNew || (written.name.trim() !== "" && written.text.trim() !== "");
  return h(Dialog, { title: t("Add an agent to {name}", { name: group.name }), onClose, children: html`${error ? h(Failure, { error }) : null}
    ${h(Choice, { label: t("Persona"), isHidden: false, value: persona, options: [...personas.map(twice), [NEW, t("a new one")]], onChoose: setPersona })}
    ${isNew ? h(NewPersona, { id: board.id, personas, written, onWrite: setWritten }) : null}
    ${h(Choice, { label: t("As"), isHidden: false, value: kind, options: [["participant", word("participant")], ["mediator", word("mediator")]], onChoose: setKind })}
    ${kind === "participant" ? h(Choice, { label: t("Begins on"), isHidden: false, value: stage, options: [["", t("the first stage")], ...stages.map((/** @type {any} */ one) => [one.id, one.name])], onChoose: setStage }) : null}
    <div class="c-acts">${h(Press, { kind: "primary", isDisabled: !isReady, onPress: add, children: t("Add") })}${h(Press, { onPress: onClose, children: t("Cancel") })}</div>` });
}

/** @param {string} one @returns {[string, string]} */
const twice = (one) => [one, one];

/** @param {{ id: string, personas: string[], written: Written, onWrite: (written: Written) => void }} props */
function NewPersona({ id, personas, written, onWrite }) {
  const loaded = useLoaded(() => personasOf(id), [id]);
  const textOf = (/** @type {string} */ base) => loaded.data?.find((/** @type {any} */ one) => one.id === base)?.text ?? "";
  // The text of the persona is a beginning, until another one is written.
  const choose = (/** @type {string} */ base) => onWrite({ ...written, base, text: [textOf(written.base), ""].includes(written.text) ? textOf(base) : written.text });
  return html`${loaded.error ? h(Failure, { error: loaded.error, onAgain: loaded.again }) : null}
    ${h(Field, { label: t("Name"), value: written.name, onInput: (name) => onWrite({ ...written, name }) })}
    ${h(Field, { label: t("Who the agent is"), isLong: true, value: written.text, onInput: (text) => onWrite({ ...written, text }) })}
    ${personas.length ? h(Choice, { label: t("Model and settings of"), isHidden: false, value: written.base, options: personas.map(twice), onChoose: choose }) : null}`;
}

/** The personas of the experiment's file. @param {string} id @returns {Promise<any[]>} */
const personasOf = async (id) => (await get(`/experiments/${id}/file`)).personas;

/** A persona with an id of its own, which is like the one that it is based on but for name and text. @param {string} id @param {Written} written */
async function personaOf(id, { base, name, text }) {
  const known = await personasOf(id);
  const like = known.find((one) => one.id === base) ?? {};
  const slug = name.toLowerCase().replace(/[^a-z0-9_-]+/g, "-").replace(/^[-_]+|[-_]+$/g, "").slice(0, 50) || "agent";
  const taken = new Set(known.map((one) => one.id));
  let own = slug;
  for (let number = 2; taken.has(own); number += 1) own = `${slug}-${number}`;
  return { ...like, id: own, profile: { ...like.profile, name: name.trim() }, text };
}
