/** The console of experimenters. */
import { code } from "./code.js";
import { h, render, useState } from "../vendor/preact.js";
import { parts } from "./address.js";
import { Frame } from "./frame.js";
import { Home } from "./home.js";
import { Lazy } from "./lazy.js";
import { signIn } from "./session.js";
import { SignInPage } from "./sign_in.js";
import "./theme.js";
import { speak } from "./words.js";

function Console() {
  const [isIn, setIn] = useState(false);
  if (!isIn || signIn.value === null) return h(SignInPage, { key: String(isIn), code: isIn ? null : code, onDone: () => setIn(true) });
  return h(Frame, { children: h(Page, {}) });
}

function Page() {
  const [first = "", id = "", ...rest] = parts();
  if (first === "e" && id) return h(Lazy, { key: id, load: () => import("./experiment.js"), props: { id, rest } });
  if (first === "personas") return h(Lazy, { key: first, load: () => import("./personas.js"), props: { id } });
  if (first === "account") return h(Lazy, { key: first, load: () => import("./account.js"), props: {} });
  return h(Home, {});
}

const inDocument = (/** @type {string} */ id) => JSON.parse(document.getElementById(id)?.textContent ?? "{}");
speak(inDocument("lab").language, inDocument("words"));
const root = /** @type {HTMLElement} */ (document.getElementById("page"));
root.replaceChildren();
render(h(Console, {}), root);
