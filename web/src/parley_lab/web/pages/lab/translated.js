/**
 * Pages that a browser translates. It puts an element in place of each text, and what the page draws into that text later
 * would not be seen. So the text comes back, empty, beside its translation: a change or an end of it ends the translation.
 */
import { useEffect, useState } from "./preact.js";

/** @type {WeakMap<Node, { text: Text, was: string }>} By the element that has the translation. */
const texts = new WeakMap();
/** @type {WeakMap<Node, Element>} By the text. */
const translations = new WeakMap();
/** @type {Set<(is: boolean) => void>} */
const listeners = new Set();
let isTranslated = false;

/** Watch over the whole document. */
export function watchTranslation() {
  const watching = new MutationObserver((records) => {
    for (const record of records) mend(record);
    // What was changed just now is no news.
    watching.takeRecords();
  });
  watching.observe(document.body, { childList: true, characterData: true, subtree: true });
}

/** @param {MutationRecord} record */
function mend({ type, target, removedNodes, addedNodes, previousSibling, nextSibling }) {
  if (type === "characterData") return drop(target);
  const around = [...addedNodes, previousSibling, nextSibling];
  for (const one of removedNodes) {
    const found = around.find((other) => other instanceof Element && other.tagName === "FONT" && !texts.has(other));
    if (!(one instanceof Text)) restore(one);
    else if (found instanceof Element && found.isConnected && !one.isConnected && one.data.trim() !== "") keep(one, found);
    else if (!one.isConnected) drop(one);
  }
}

/** @param {Text} text @param {Element} translation */
function keep(text, translation) {
  texts.set(translation, { text, was: text.data });
  translations.set(text, translation);
  translation.before(text);
  text.data = "";
  if (isTranslated) return;
  isTranslated = true;
  for (const hear of listeners) hear(true);
}

/** The page has changed this text, or taken it away. @param {Node} text */
function drop(text) {
  const translation = translations.get(text);
  if (!translation) return;
  translations.delete(text);
  texts.delete(translation);
  translation.remove();
}

/** The browser shows the original again. @param {Node} translation */
function restore(translation) {
  const found = texts.get(translation);
  if (!found || translation.isConnected) return;
  texts.delete(translation);
  translations.delete(found.text);
  if (found.text.isConnected && found.text.data === "") found.text.data = found.was;
}

/** Whether the browser translates this page. */
export function useIsTranslated() {
  const [is, setIs] = useState(isTranslated);
  useEffect(() => {
    listeners.add(setIs);
    setIs(isTranslated);
    return () => void listeners.delete(setIs);
  }, []);
  return is;
}
