/** The page of a kind as participants see it, in a frame of its own: it keeps its styles, and cannot be used. */
import { h, html, render, useEffect, useRef, useState } from "../vendor/preact.js";
import { fetched } from "../lab/api.js";
import { speak } from "../lab/words.js";
import { loadPage } from "../participant/kinds.js";
import { Failure, Loading, Switch } from "./ui.js";
import { t } from "./words.js";

const lab = JSON.parse(document.getElementById("lab")?.textContent ?? "{}");
const nothing = async () => undefined;
/** What a page would ask the lab for is asked by no one here. */
const API = { get: () => new Promise(() => {}), post: nothing, put: nothing, hint: () => {}, remove: nothing };

/** @param {{ me: any, page: any }} props */
export default function KindFrame({ me, page }) {
  const [width, setWidth] = useState("phone");
  return html`<div>${h(Switch, { label: t("Width"), value: width, options: [["phone", t("phone")], ["desk", t("desk")]], onChoose: setWidth })}
    <div class=${`c-frame c-${width}`}>${h(Inside, { key: page.id, me, page })}</div></div>`;
}

/** @param {{ me: any, page: any }} props */
function Inside({ me, page }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [state, setState] = useState(/** @type {{ isThere: boolean, error: unknown }} */ ({ isThere: false, error: null }));
  async function show() {
    try {
      const [module, sheets] = await Promise.all([loadPage(page.kind, lab), stylesOf(page.kind), speak([me.language ?? "en"], lab)]);
      const root = host.current?.shadowRoot ?? host.current?.attachShadow({ mode: "open" });
      if (!root) return;
      root.adoptedStyleSheets = sheets;
      const inside = document.createElement("div");
      inside.className = "shell";
      inside.inert = true;
      root.replaceChildren(inside);
      const stage = { me, page, isCurrent: true, api: API, advance: nothing, answer: nothing, act: nothing, refresh: () => {}, listen: () => () => {} };
      render(h(module.default, stage), inside);
      setState({ isThere: true, error: null });
    } catch (error) {
      setState({ isThere: false, error });
    }
  }
  useEffect(() => void show(), [page]);
  return html`${state.error ? h(Failure, { error: state.error, onAgain: show }) : state.isThere ? null : h(Loading, {})}<div ref=${host} class="c-inside"></div>`;
}

/** The style sheets of participants' pages, made here since a frame of its own takes no links. @param {string} kind @returns {Promise<CSSStyleSheet[]>} */
async function stylesOf(kind) {
  const own = lab.styled.includes(kind) ? [`${lab.assets}/kinds/${kind}/page.css`] : [];
  const texts = await Promise.all([`${lab.assets}/lab.css`, ...own].map(async (address) => {
    const { answer, text } = await fetched(address);
    return answer.ok ? text : "";
  }));
  return texts.filter(Boolean).map((text) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
    return sheet;
  });
}
