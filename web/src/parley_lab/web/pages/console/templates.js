/** Experiments that come with the lab, to begin with. */
import { h, html } from "../vendor/preact.js";
import { go } from "./address.js";
import { download, fileOf, get, post, send } from "./api.js";
import { act } from "./confirm.js";
import { Loaded, Press, useLoaded } from "./ui.js";
import { t } from "./words.js";

const YAML = "application/yaml";
const FIRST = "deliberation";
/** In the address of a board whose experiment is the demo: it leads on to the results. */
export const IS_DEMO = "demo";

/** Store the file of a template as a draft; a workbook gives one for each permutation. @param {{ id: string, media_type: string }} template @returns {Promise<any>} */
export async function store({ id, media_type: type }) {
  const body = await fileOf(`/templates/${id}`);
  return (await send("POST", type === YAML ? "/experiments" : "/experiments/import", { body, type })).content;
}

/** Run the first demo by the mock, and show its board. */
export const runDemo = () => act(async () => {
  const { id } = await store({ id: FIRST, media_type: YAML });
  await post(`/experiments/${id}/start`);
  go(`/console/e/${id}?${IS_DEMO}=1`);
}, "");

/** @param {{ onChoose: (template: any) => Promise<void> }} props */
export function Templates({ onChoose }) {
  const loaded = useLoaded(() => get("/templates"), []);
  return html`<section><h3>${t("Or begin with a template")}</h3>${h(Loaded, { of: loaded, show: ({ templates }) => html`<ul class="c-list">${templates.map((/** @type {any} */ one) => html`<li class="c-line" key=${one.id}>
    <span class="c-line-name"><strong>${t(one.title)}</strong><br /><span class="c-small">${t(one.about)}</span></span>${one.media_type === YAML ? null : h(Press, { icon: "download", onPress: () => act(() => download(`/templates/${one.id}`, `${one.id}.xlsx`), t("The file is stored.")), label: t("Download {name}", { name: t(one.title) }), children: t("Download") })}${h(Press, { onPress: () => onChoose(one), label: t("Use {name}", { name: t(one.title) }), children: t("Use it") })}</li>`)}</ul>` })}</section>`;
}
