/** The focus stays when what had it goes: on the nearest part around it that takes it, else on the title of the page. */

const IN_THE_TREE = { subtree: true, childList: true, attributes: true, attributeFilter: ["disabled", "hidden"] };

/** Watch over the focus of the whole document. */
export function keepFocus() {
  /** What had the focus last, and all around it. @type {HTMLElement[]} */
  let last = [];
  const isLost = () => document.activeElement === null || document.activeElement === document.body;

  /** @param {Element | null} from */
  function note(from) {
    last = [];
    for (let one = from; one instanceof HTMLElement && one !== document.body; one = one.parentElement) last.push(one);
  }

  // A click beside everything takes the focus away on purpose.
  const letGo = () => setTimeout(() => void (isLost() && last[0] && isThere(last[0]) && (last = [])), 0);

  function mend() {
    if (last.length === 0 || !isLost()) return;
    const title = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("main h1"))].find(isThere);
    const near = last.find((one) => one.hasAttribute("tabindex") && isThere(one)) ?? title;
    near?.focus({ preventScroll: true });
  }

  // A title shows that it has the focus to those who use keys; to others it is a title.
  document.addEventListener("keydown", () => void (document.documentElement.dataset.keys = ""), true);
  document.addEventListener("pointerdown", () => void delete document.documentElement.dataset.keys, true);
  note(document.activeElement);
  new MutationObserver(mend).observe(document.body, IN_THE_TREE);
  document.addEventListener("focusin", (event) => note(/** @type {Element} */ (event.target)));
  document.addEventListener("focusout", letGo);
}

/** @param {HTMLElement} one */
const isThere = (one) => one.isConnected && one.getClientRects().length > 0;
