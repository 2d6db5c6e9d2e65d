/** What is around every page: the bar, where one is, who is signed in, and whether the lab is there. */
import { h, html, useErrorBoundary } from "../vendor/preact.js";
import { parts } from "./address.js";
import { Jump } from "./jump.js";
import { Mark } from "./icons.js";
import { lost } from "./live.js";
import { signIn, signOut } from "./session.js";
import { EndsSoon, SignInAgain } from "./sign_in.js";
import { Failure, Press } from "./ui.js";
import { t } from "./words.js";

/** @param {{ children: any }} props */
export function Frame({ children }) {
  const [first = ""] = parts();
  const [error, reset] = useErrorBoundary();
  if (error) console.error(error);
  const link = (/** @type {string} */ to, /** @type {string} */ name, /** @type {boolean} */ isHere) => html`<a href=${to} aria-current=${isHere ? "page" : undefined}>${name}</a>`;
  return html`<div class="c-shell"><a class="c-skip" href="#main">${t("Skip to the page")}</a>
    <header class="c-bar"><a class="c-brand" href="/console" aria-label="Parley">${h(Mark, {})}<span>Parley</span></a>
      <nav aria-label=${t("Console")}>${link("/console", t("Experiments"), first === "" || first === "e")}${link("/console/personas", t("Agents"), first === "personas")}</nav>
      <span class="c-who">${lost.value ? html`<span class="c-pill c-lost" role="status">${t("connection lost")}</span>` : null}
        <a href="/console/account" aria-current=${first === "account" ? "page" : undefined}>${signIn.value?.experimenter ?? ""}</a>
        ${h(Press, { kind: "bare", onPress: signOut, children: t("Sign out") })}</span></header>
    ${h(EndsSoon, {})}
    <main id="main" class="c-main">${error ? h(Failure, { error: new Error(t("This page has failed. Load it again.")), onAgain: reset }) : children}</main>
    ${h(SignInAgain, {})}${h(Jump, {})}</div>`;
}
