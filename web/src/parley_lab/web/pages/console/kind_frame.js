/** The page of a kind as participants see it, in a frame of its own: it keeps its styles, and cannot be used. */
import { h, html, render, useEffect, useRef, useState } from "../vendor/preact.js";
import { fetched } from "../lab/api.js";
import { sayInstead, speak } from "../lab/words.js";
import { loadPage } from "../participant/kinds.js";
import { Failure, Loading, Switch } from "./ui.js";
import { t } from "./words.js";

const lab = JSON.parse(document.getElementById("lab")?.textContent ?? "{}");
const nothing = async () => undefined;
/** Without a participant there is nothing to read, and the page says nothing of that. */
const unanswered = () => new Promise(() => {});

/**
 * @typedef {{ me: any, page: any, read?: (path: string) => Promise<any>, words?: Record<string, any> }} Props
 *   `read`: reads as the participant; without it nothing is read. `words`: those of the experiment for the lab's.
 */

/** @param {Props} props */
export default function KindFrame(props) {
  const { page } = props;
  const [width, setWidth] = useState("phone");
  return html`<div>${h(Switch, { label: t("Width"), value: width, options: [["phone", t("phone")], ["desk", t("desk")]], onChoose: setWidth })}
    <div class=${`c-frame c-${width}`}>${h(Inside, { key: page.id, ...props })}</div></div>`;
}

/** @param {Props} props */
function Inside({ me, page, read = unanswered, words = {} }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [state, setState] = useState(/** @type {{ isThere: boolean, error: unknown }} */ ({ isThere: false, error: null }));
  async function show() {
    try {
      const inside = document.createElement("div");
      const sheetsOf = stylesOf(page.kind);
      await speak([me.language ?? "en"], lab, inside);
      sayInstead(words);
      const [module, sheets] = await Promise.all([loadPage(page.kind, lab), sheetsOf]);
      const root = host.current?.shadowRoot ?? host.current?.attachShadow({ mode: "open" });
      if (!root) return;
      root.adoptedStyleSheets = sheets;
      inside.className = "shell";
      inside.inert = true;
      root.replaceChildren(inside);
      const stage = { me, page, isCurrent: true, api: { get: read, post: nothing, put: nothing, hint: () => {}, remove: nothing }, advance: nothing, answer: nothing, act: nothing, refresh: () => {}, listen: () => () => {} };
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
