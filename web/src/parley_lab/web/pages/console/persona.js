/** One persona of the library: its fields, its file, and a test chat. */
import { h, html, useRef, useState } from "../vendor/preact.js";
import { Refused } from "../lab/api.js";
import { download, inWords, send } from "./api.js";
import { act, askFirst, change } from "./confirm.js";
import { Chat } from "./persona_chat.js";
import { PersonaPrompt } from "./persona_prompt.js";
import { leave } from "./personas.js";
import { Failure, Field, Head, Loaded, Press, useLoaded } from "./ui.js";
import { useText } from "./unsaved.js";
import { t } from "./words.js";

/** @param {{ id: string }} props */
export function Persona({ id }) {
  const loaded = useLoaded(() => send("GET", `/personas/${encodeURIComponent(id)}`), [id]);
  return h(Loaded, { of: loaded, show: ({ content, etag }) => h(Shown, { key: etag, id, persona: content.persona, etag, again: loaded.again }) });
}

/** @param {{ id: string, persona: any, etag: string | null, again: () => Promise<void> }} props */
function Shown({ id, persona, etag, again }) {
  const entered = useText(`persona ${id}`, asText(persona), etag);
  /** @type {Entered} */
  const { fields, all } = JSON.parse(entered.text);
  const enter = (/** @type {Partial<Entered>} */ values) => entered.set({ text: JSON.stringify({ ...JSON.parse(entered.newest().text), ...values }) });
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const path = `/personas/${encodeURIComponent(id)}`;
  const refused = useRef(/** @type {any} */ (null));
  /** @param {any} changed @param {string | null} over the version that is saved over; null: any */
  async function store(changed, over = entered.newest().tag) {
    setError(null);
    try {
      const sent = entered.newest().text;
      const answer = await send("PUT", path, { body: changed, headers: over === null ? {} : { "If-Match": over } });
      const stored = asText(answer.content.persona);
      entered.set({ ...(entered.newest().text === sent ? { text: stored } : {}), saved: stored, tag: answer.etag });
      await again();
    } catch (wrong) {
      refused.current = changed;
      setError(wrong);
    }
  }
  const takeTheirs = async () => {
    entered.set({ text: entered.newest().saved });
    await again();
  };
  const isOvertaken = error instanceof Refused && error.status === 412;
  const { name, avatar, model, provider, prompt, ...rest } = fields;
  const save = () => store({ ...withPrompt(persona, prompt), ...rest, profile: { ...persona.profile, name, avatar }, model: { ...persona.model, model, provider } });
  const saveAll = async () => {
    try {
      await store(JSON.parse(all));
    } catch (wrong) {
      setError(wrong);
    }
  };
  const field = (/** @type {keyof typeof fields} */ key, /** @type {string} */ label, isLong = false) => h(Field, { label, isLong, value: fields[key], onInput: (value) => enter({ fields: { ...fields, [key]: value } }) });
  const remove = () => askFirst({ title: t("Take {name} out of the library?", { name: persona.profile.name || id }), text: t("Experiments that were stored keep the persona as it was."), act: t("Take it out"), run: async () => (await change("DELETE", path), entered.set({ text: entered.newest().saved }), leave()) });
  return html`${h(Head, { title: `${persona.profile.avatar} ${persona.profile.name || id}`.trim(), trail: html`<a href="/console/personas">${t("Agents")}</a> / ${id}`, children: html`
      ${h(Press, { icon: "download", onPress: () => act(() => download(`${path}/agent`, `${id}.yaml`), ""), children: t("Agent file") })}${h(Press, { kind: "bare", icon: "trash", onPress: remove, children: t("Take out") })}` })}
    ${isOvertaken
      ? html`<div class="notice warning" role="alert"><p>${inWords(error)}</p><div class="c-acts">${h(Press, { onPress: () => store(refused.current, null), children: t("Save mine over it") })}${h(Press, { onPress: takeTheirs, children: t("Take theirs") })}</div></div>`
      : error ? h(Failure, { error }) : null}
    <div class="c-pair"><section class="c-card"><h2>${t("Fields")}</h2>${field("name", t("Name"))}${field("avatar", t("Avatar, an emoji"))}${field("text", t("Who the agent is"), true)}${field("role", t("Role"))}${field("goal", t("Goal"))}${field("provider", t("Provider"))}${field("model", t("Model"))}${hasOwnItems(persona) ? null : field("prompt", t("Own system prompt in games, in place of role and goal"), true)}
        ${h(Press, { kind: "primary", onPress: save, children: t("Save") })}
        <details><summary>${t("All fields, as JSON")}</summary><div class="c-json">${h(Field, { label: t("All fields"), isHidden: true, isLong: true, value: all, onInput: (value) => enter({ all: value }) })}</div>${h(Press, { onPress: saveAll, children: t("Save all fields") })}</details></section>
      ${persona.player === "script" ? html`<section class="c-card"><h2>${t("Test chat")}</h2><p>${t("This agent is a rule. It plays games and does not talk.")}</p></section>` : h(Chat, { id })}</div>
    ${persona.player === "script" ? null : h(PersonaPrompt, { persona })}`;
}

/** @typedef {{ fields: ReturnType<typeof fieldsOf>, all: string }} Entered */

/** The fields before anything is changed, as a text. @param {any} persona */
const asText = (persona) => JSON.stringify({ fields: fieldsOf(persona), all: JSON.stringify(persona, null, 2) });

/** @param {any} persona */
const fieldsOf = (persona) => ({ name: persona.profile.name, avatar: persona.profile.avatar, text: persona.text, role: persona.role, goal: persona.goal, model: persona.model.model, provider: persona.model.provider, prompt: promptOf(persona) });

const GAME = "matrix_game";

/** Whether its prompt in games is made of other items than one text before the round. @param {any} persona */
const hasOwnItems = (persona) => persona.player === "script" || (persona.prompts[GAME]?.length > 0 && persona.prompts[GAME][0].type !== "text");

/** @param {any} persona @returns {string} */
const promptOf = (persona) => (hasOwnItems(persona) ? "" : (persona.prompts[GAME]?.[0]?.text ?? ""));

/** The persona with this system prompt in games, as agent files of an arena have it; "" is none. @param {any} persona @param {string} prompt */
function withPrompt(persona, prompt) {
  if (prompt === promptOf(persona)) return persona;
  const { [GAME]: items, ...others } = persona.prompts;
  const round = items?.slice(1) ?? [{ type: "stage_context", heading: false }, { type: "task", heading: false }];
  return { ...persona, prompts: prompt === "" ? others : { ...others, [GAME]: [{ type: "text", text: prompt }, ...round] } };
}
