/** The guest list: the external ids of people who may join, and who of them came. */
import { h, html, useRef, useState } from "../vendor/preact.js";
import { get } from "./api.js";
import { askFirst, change } from "./confirm.js";
import { takeFiles } from "./drop.js";
import { Failure, Field, Loaded, Press, Rows, useLoaded } from "./ui.js";
import { t, word } from "./words.js";

/** The ids in a text: one a line, of a table the first column. @param {string} text */
const idsIn = (text) => text.split(/\r?\n/).map((line) => line.split(/[,;\t]/)[0].trim().replace(/^"(.*)"$/, "$1")).filter(Boolean);

/** @param {{ experiment: any }} props */
export default function Guests({ experiment }) {
  const path = `/experiments/${experiment.id}/guests`;
  const loaded = useLoaded(() => get(path), [path]);
  return h(Loaded, { of: loaded, show: (found) => h(List, { key: `${found.has_list} ${found.guests.length}`, path, found, again: loaded.again }) });
}

/** @param {{ path: string, found: any, again: () => Promise<void> }} props */
function List({ path, found, again }) {
  const [text, setText] = useState(found.guests.map((/** @type {any} */ one) => one.external_id).join("\n"));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const [said, setSaid] = useState("");
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const ids = idsIn(text);
  const read = async (/** @type {File | undefined} */ file) => file && setText(await file.text());
  async function store() {
    await change("PUT", path, { guests: ids });
    setSaid(t("The list is saved."));
    await again();
  }
  async function takeAway() {
    await change("DELETE", path);
    await again();
  }
  const letNoOne = () => askFirst({ title: t("Let no one join?"), text: t("The list is empty: no one may join until it has ids, or is deleted."), act: t("Save an empty list"), run: store });
  const letEverybody = () => askFirst({ title: t("Let everybody join?"), text: t("This deletes the guest list: everybody who has the link may join then."), act: t("Delete the list"), run: takeAway });
  async function save() {
    setError(null);
    // Also where a list has only guests who are not shown, and where another window saved one since.
    if (!ids.length) return letNoOne();
    try {
      await store();
    } catch (wrong) {
      setError(wrong);
    }
  }
  return html`<p>${found.has_list ? t("Only people with one of these ids in their link may join.") : t("There is no list: everybody who has the link may join. With a list, only people with one of its ids in their link may.")}</p>${error ? h(Failure, { error }) : null}
    ${h(Field, { label: t("External ids, one a line"), value: text, onInput: setText, isLong: true })}
    <input ref=${input} class="hidden" type="file" tabindex="-1" accept=".csv,.txt" aria-label=${t("File of a guest list")} onChange=${(/** @type {any} */ event) => read(takeFiles(event)[0])} />
    <div class="c-acts">${h(Press, { kind: "primary", onPress: save, children: t("Save {count} guest|Save {count} guests", { count: ids.length }) })}${h(Press, { icon: "upload", onPress: () => input.current?.click(), children: t("Read a file") })}${found.has_list ? h(Press, { icon: "trash", onPress: letEverybody, children: t("Delete the list") }) : null}<span class="c-small" role="status">${said}</span></div>
    ${found.forgotten ? html`<p class="c-small">${t("{count} guest whose data was deleted is not shown; the list stays closed to everybody else.|{count} guests whose data was deleted are not shown; the list stays closed to everybody else.", { count: found.forgotten })}</p>` : null}
    ${found.guests.length ? html`<h3>${t("{number} of {all} came", { number: found.came, all: found.guests.length })}</h3>${h(Rows, { caption: t("Guests"), isCompact: true, columns: [t("external id"), t("member"), t("state")], rows: found.guests.map((/** @type {any} */ one) => [one.external_id, one.path ?? "", word(one.status)]) })}` : null}`;
}
