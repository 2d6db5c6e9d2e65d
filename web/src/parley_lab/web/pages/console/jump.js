/** Ctrl K: jump to an experiment, a page of the one that is open, or one of its members. */
import { h, html, useEffect, useRef, useState } from "../vendor/preact.js";
import { go, parts } from "./address.js";
import { all, get, query } from "./api.js";
import { homeOf } from "./home.js";
import { Dialog, Failure, Field } from "./ui.js";
import { t } from "./words.js";

const TYPING_MS = 200;
const MOST = 12;

/** @typedef {{ to: string, name: string, about: string }} Place */

/** The places that fit what is typed, those of the open experiment first. @param {string} sought @param {Promise<Place[]>} ofOpen @returns {Promise<Place[]>} */
async function placesFor(sought, ofOpen) {
  const own = await ofOpen;
  const { experiments } = await get(`/experiments${query({ name: sought, limit: MOST })}`);
  const others = experiments.map((/** @type {any} */ one) => ({ to: homeOf(one), name: one.name, about: t("experiment") }));
  const pages = [["/console", t("Experiments")], ["/console/personas", t("Agents")], ["/console/account", t("Account")]].map(([to, name]) => ({ to, name, about: t("page") }));
  const fits = (/** @type {Place} */ one) => one.name.toLowerCase().includes(sought.toLowerCase());
  return [...own.filter(fits), ...others, ...pages.filter(fits)].slice(0, MOST);
}

/** The pages and members of the open experiment. @returns {Promise<Place[]>} */
async function placesOfOpen() {
  const [first = "", id = ""] = parts();
  if (first !== "e" || !id) return [];
  const [{ name, status }, members] = await Promise.all([get(`/experiments/${id}`), all(`/experiments/${id}/members`, "members")]);
  const base = `/console/e/${id}`;
  const pages = [["", t("Board")], ["/threads", t("Conversations")], ["/calls", t("Calls")], ["/file", t("File")], ["/see", t("See as")], ["/results", t("Results")], ["/data", t("Data")]];
  const shown = status === "draft" ? pages.slice(3, 5) : pages;
  return [...shown.map(([path, said]) => ({ to: base + path, name: said, about: name })), ...members.map((/** @type {any} */ one) => ({ to: `${base}?member=${one.id}`, name: `${one.path} ${one.profile.name}`, about: t("member") }))];
}

/** Opens with Ctrl K, anywhere in the console. */
export function Jump() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const press = (/** @type {KeyboardEvent} */ event) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "k" || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      setOpen(true);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return isOpen ? h(Search, { onClose: () => setOpen(false) }) : null;
}

/** @param {{ onClose: () => void }} props */
function Search({ onClose }) {
  const [sought, setSought] = useState("");
  const [places, setPlaces] = useState(/** @type {Place[]} */ ([]));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  // Members are read once for all that is typed.
  const ofOpen = useRef(/** @type {Promise<Place[]> | null} */ (null));
  useEffect(() => {
    let isOver = false;
    const timer = setTimeout(() => placesFor(sought, (ofOpen.current ??= placesOfOpen())).then((found) => isOver || setPlaces(found), setError), TYPING_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [sought]);
  const to = (/** @type {Place | undefined} */ place) => {
    if (place === undefined) return;
    onClose();
    go(place.to);
  };
  return h(Dialog, { title: t("Jump to"), onClose, children: html`${h(Field, { label: t("An experiment, a page or a member"), value: sought, onInput: setSought, type: "search", hasFocus: true, onEnter: () => to(places[0]) })}
    ${error ? h(Failure, { error }) : null}
    <ul class="c-members">${places.map((one) => html`<li key=${one.to}><button type="button" class="c-member" onClick=${() => to(one)}><span>${one.name}</span><span class="c-small">${one.about}</span></button></li>`)}</ul>` });
}
