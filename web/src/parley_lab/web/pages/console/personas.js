/** Agents: the personas of the library, by which experiments share them. */
import { h, html, useRef } from "../vendor/preact.js";
import { go } from "./address.js";
import { all, download, post, sendText } from "./api.js";
import { Acts, act, askFirst } from "./confirm.js";
import { takeFiles } from "./drop.js";
import { Persona } from "./persona.js";
import { Empty, Head, Loaded, Press, useLoaded } from "./ui.js";
import { t } from "./words.js";

/** @param {{ id: string }} props */
export default function Personas({ id }) {
  return html`${id ? h(Persona, { key: id, id }) : h(Library, {})}${h(Acts, {})}`;
}

function Library() {
  const loaded = useLoaded(() => all("/personas", "personas"), []);
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const agentInput = useRef(/** @type {HTMLInputElement | null} */ (null));
  const seed = () => act(async () => (await post("/persona-library/arena"), await loaded.again()), t("The agents of the arena are in the library."));
  const take = (/** @type {File} */ file) => act(async () => {
    await sendText("POST", "/persona-library", file);
    await loaded.again();
  }, t("The file is in the library."));
  /** An agent file names no id: the name of the file is it. @param {File} file */
  async function takeAgent(file) {
    const id = file.name.replace(/\.[^.]*$/, "").toLowerCase().replace(/[^a-z0-9_-]+/g, "-").replace(/^[-_]+/, "").slice(0, 64) || "agent";
    const put = async () => {
      await sendText("PUT", `/personas/${encodeURIComponent(id)}/agent`, file);
      await loaded.again();
    };
    if (!loaded.data?.some((one) => one.id === id)) await act(put, t("The agent {id} is in the library.", { id }));
    else askFirst({ title: t("Replace {name}?", { name: id }), text: t("The library has an agent with this id. Experiments that were stored keep it as it was."), act: t("Replace it"), run: put });
  }
  return html`${h(Head, { title: t("Agents"), children: html`${h(Press, { icon: "upload", onPress: () => input.current?.click(), children: t("Import a file") })}
      ${h(Press, { icon: "upload", onPress: () => agentInput.current?.click(), children: t("Import an agent file") })}
      ${h(Press, { icon: "download", onPress: () => act(() => download("/persona-library?format=yaml", "personas.yaml"), ""), children: t("Export all") })}
      ${h(Press, { onPress: seed, children: t("Add the agents of the arena") })}` })}
    <input ref=${input} type="file" class="hidden" tabindex="-1" accept=".yaml,.yml,.json" aria-label=${t("File of personas")} onChange=${(/** @type {any} */ event) => takeFiles(event).slice(0, 1).forEach(take)} />
    <input ref=${agentInput} type="file" class="hidden" tabindex="-1" accept=".yaml,.yml,.json" aria-label=${t("Agent file")} onChange=${(/** @type {any} */ event) => takeFiles(event).slice(0, 1).forEach(takeAgent)} />
    ${h(Loaded, { of: loaded, show: (found) => found.length === 0 ? h(Empty, { children: html`<p>${t("The library is empty. Import a file of personas, or begin with the agents of the arena.")}</p>` })
      : html`<ul class="c-cards">${found.map((/** @type {any} */ one) => h(Card, { key: one.id, one: one.persona }))}</ul>` })}`;
}

/** @param {{ one: any }} props */
function Card({ one }) {
  const kind = one.player === "script" ? t("a rule: {policy}", { policy: one.script?.matrix_game?.policy ?? "" }) : one.model.model;
  return html`<li class="c-card"><a href=${`/console/personas/${encodeURIComponent(one.id)}`}><span class="c-face" aria-hidden="true">${one.profile.avatar || (one.profile.name || one.id).slice(0, 1)}</span><strong>${one.profile.name || one.id}</strong></a>
    <p class="c-small">${kind}</p><p class="c-clamp">${one.text || one.role}</p></li>`;
}

/** Back to the library. */
export const leave = () => go("/console/personas");
