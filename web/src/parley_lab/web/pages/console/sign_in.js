/** Signing in: by the code of an address or by a key; in place where a sign-in has ended under an open page. */
import { h, html, useEffect, useState } from "../vendor/preact.js";
import { Heading } from "../lab/ui.js";
import { get, inWords } from "./api.js";
import { Mark } from "./icons.js";
import { begin, end, endsSoon, found, isOver, keep, keepAnew, signIn } from "./session.js";
import { Dialog, Field, Loading, Press, useOneRun } from "./ui.js";
import { t } from "./words.js";

const LOOPBACK = /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** The page for who is not signed in; `code` is that of the address. @param {{ code: string | null, onDone: () => void }} props */
export function SignInPage({ code, onDone }) {
  const [state, setState] = useState({ isLooking: true, error: /** @type {unknown} */ (null) });
  const [other, setOther] = useState(/** @type {import("./session.js").SignIn | null} */ (null));
  async function look() {
    const kept = await found();
    if (kept !== null) keep(kept);
    if (code === null) return kept === null ? setState({ isLooking: false, error: null }) : onDone();
    try {
      const given = await begin({ code });
      if (kept !== null && kept.experimenter !== given.experimenter) return setOther(given);
      keepAnew(given);
      onDone();
    } catch (error) {
      // A code works once: an address that is opened again leads to the sign-in which it gave.
      if (kept !== null) return onDone();
      setState({ isLooking: false, error });
    }
  }
  useEffect(() => void look(), []);
  if (other !== null) return h(Replacing, { given: other, onDone });
  return html`<main class="c-door"><p class="c-brand">${h(Mark, {})} Parley</p>
    ${h(Heading, { children: t("Sign in") })}
    ${state.isLooking ? h(Loading, {}) : html`${state.error ? html`<p class="notice error" role="alert">${t("The address with the code did not work: {why} Run parley console for a new one.", { why: inWords(state.error) })}</p>` : null}
      ${h(ByKey, { onDone })}`}</main>`;
}

/** @param {{ given: import("./session.js").SignIn, onDone: () => void }} props */
function Replacing({ given, onDone }) {
  const before = signIn.value?.experimenter ?? "";
  async function stay() {
    onDone();
    await end(given).catch(() => undefined);
  }
  function replace() {
    keepAnew(given);
    onDone();
  }
  return html`<main class="c-door">${h(Heading, { children: t("Sign in as somebody else?") })}
    <p>${t("You are signed in as {before}. This address signs in {name}.", { before, name: given.experimenter })}</p>
    <p class="c-acts">${h(Press, { kind: "primary", onPress: stay, children: t("Stay {name}", { name: before }) })}
      ${h(Press, { onPress: replace, children: t("Sign in as {name}", { name: given.experimenter }) })}</p></main>`;
}

/** @param {{ onDone: () => void }} props */
function ByKey({ onDone }) {
  const [key, setKey] = useState("");
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const enter = useOneRun(async () => {
    if (key.trim() === "") return;
    setError(null);
    try {
      keepAnew(await begin({ key: key.trim() }));
      onDone();
    } catch (wrong) {
      setError(wrong);
    }
  });
  const isPlain = location.protocol === "http:" && !LOOPBACK.test(location.hostname);
  return html`<div class="c-card">
    ${isPlain ? html`<p class="notice warning">${t("This page comes over plain HTTP from another machine. Others on the network can read a key that you type here. Use HTTPS.")}</p>` : null}
    <p>${t("Open the address that your terminal shows. The command parley console prints a new one.")}</p>
    ${error ? html`<p class="notice error" role="alert">${inWords(error)}</p>` : null}
    ${h(Field, { label: t("Or paste an API key"), value: key, onInput: setKey, isSecret: true, onEnter: enter, hint: t("The key is not stored. It becomes a sign-in that ends 8 hours after your last request.") })}
    <p>${h(Press, { kind: "primary", onPress: enter, isDisabled: key.trim() === "", children: t("Sign in") })}</p></div>`;
}

/** A line that says when the sign-in ends, from a quarter of an hour before: a press keeps it, or signs in again in place. */
export function EndsSoon() {
  const [isAsked, setAsked] = useState(false);
  const soon = endsSoon.value;
  // Another tab may have signed in anew.
  useEffect(() => setAsked(false), [signIn.value?.token]);
  if (soon === null) return null;
  const before = signIn.value;
  async function renewed() {
    setAsked(false);
    if (before !== null) await end(before).catch(() => undefined);
  }
  const at = new Date(soon.at).toLocaleTimeString(undefined, { timeStyle: "short" });
  return html`<div class="c-soon notice warning" role="status"><span>${t("Your sign-in ends at {time}.", { time: at })}</span>
      ${soon.isIdle ? h(Press, { onPress: () => get("/whoami").catch(() => undefined), children: t("Stay signed in") }) : h(Press, { onPress: () => setAsked(true), children: t("Sign in again") })}</div>
    ${isAsked ? h(Dialog, { title: t("Sign in again"), onClose: () => setAsked(false), children: html`<p>${t("The page stays as it is.")}</p>${h(ByKey, { onDone: renewed })}` }) : null}`;
}

/** Over a page whose sign-in has ended. Everything that was typed stays. */
export function SignInAgain() {
  if (!isOver.value) return null;
  return h(Dialog, { title: t("Your sign-in has ended"), onClose: () => undefined, children: html`<p>${t("The page stays as it is. Sign in again to go on.")}</p>${h(ByKey, { onDone: () => undefined })}` });
}
