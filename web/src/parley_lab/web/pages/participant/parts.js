/** Pages of the shell that belong to no stage. */
import { h, html, useEffect, useState } from "../vendor/preact.js";
import { Button, Heading, Notice } from "../lab/ui.js";
import { hasWords, say } from "../lab/words.js";
import { code } from "./start.js";

/** This browser has no place in a study. */
export function Nowhere() {
  return html`<main>${h(Heading, { children: say("join_title") })}${h(Notice, { children: say("no_place") })}</main>`;
}

/** The place that this browser had is under another token: most often the participant goes on in another browser. */
export function TakenUp() {
  return html`<main>${h(Heading, { children: say("join_title") })}${h(Notice, { children: say("place_taken_up") })}
    ${code ? html`<p class="actions"><a class="button" href=${`/join/${encodeURIComponent(code)}`}>${say("go_on_here")}</a></p>` : null}</main>`;
}

/** The study goes on in another tab of this browser. @param {{ onTake: () => void }} props */
export function Elsewhere({ onTake }) {
  return html`<main>${h(Heading, { children: say("second_tab") })}<p>${say("second_tab_text")}</p>
    <p class="actions">${h(Button, { onPress: onTake, children: say("use_this_tab") })}</p></main>`;
}

/** The page of a stage that is not open yet. The live stream reports people who come and go. @param {{ page: any, me: any, children: any }} props */
export function Waiting({ page, me, children }) {
  const { waiting } = me;
  const lock = waiting?.expected != null ? waiting : page.lock;
  const missing = me.members.filter((/** @type {any} */ one) => !one.is_ready);
  const called = (/** @type {any} */ one) => (one.presence === "gone" ? `${one.profile.name} (${say("is_away")})` : one.profile.name);
  return html`<article class="waiting">
    ${h(Heading, { children: say("waiting") })}
    ${waiting?.confirm_until || waiting?.is_passed_over ? null : html`<p>${say("waiting_text")}</p>`}
    ${lock?.arrived !== null && lock?.expected !== null
      ? html`<p role="status">${say("waiting_count", { count: lock.arrived, expected: lock.expected })}</p>
          <progress value=${lock.arrived} max=${lock.expected} aria-label=${say("waiting")}></progress>`
      : null}
    ${children}
    ${me.waiting?.missing && missing.length ? html`<p>${say("waiting_names", { names: missing.map(called).join(", ") })}</p>` : null}
  </article>`;
}

/** The participant's part is over. @param {{ me: any }} props */
export function End({ me }) {
  const key = `end_${me.status}`;
  return h(Farewell, { said: hasWords(key) ? say(key) : say("end_other"), completion: me.completion });
}

/** Another player has taken the place of the participant. @param {{ error: import("../lab/api.js").Refused }} props */
export function Taken({ error }) {
  return html`<main>${h(Farewell, { said: say("refused_place_taken"), completion: error.params.completion })}</main>`;
}

/** @param {{ said: string, completion: { code?: string, redirect?: string } | null | undefined }} props */
export function Farewell({ said, completion }) {
  return html`<article class="end">
    ${h(Heading, { children: said })}
    ${completion?.code ? html`<p>${say("completion_code")}: <strong class="code">${completion.code}</strong></p>` : null}
    ${completion?.redirect ? html`<p class="actions"><a class="button primary" href=${completion.redirect}>${wayOn(completion.redirect)}</a></p>` : null}
  </article>`;
}

/** Services that send people, by the end of their host. */
const SERVICES = { "prolific.com": "Prolific", "prolific.co": "Prolific", "cloudresearch.com": "CloudResearch", "mturk.com": "Mechanical Turk", "sona-systems.com": "Sona" };

/** Where the last button leads, in words. @param {string} address */
function wayOn(address) {
  const host = URL.canParse(address) ? new URL(address).hostname : "";
  const found = Object.entries(SERVICES).find(([end]) => host === end || host.endsWith(`.${end}`));
  return found ? say("return_to", { name: found[1] }) : say("finish");
}

const AGAIN_MS = 5000;

/** The script of a page did not come; it is asked for again until it does. @param {{ onAgain: () => Promise<void> }} props */
export function NotLoaded({ onAgain }) {
  const [isBusy, setBusy] = useState(false);
  async function again() {
    setBusy(true);
    await onAgain();
    setBusy(false);
  }
  useEffect(() => {
    const trying = setInterval(onAgain, AGAIN_MS);
    addEventListener("online", onAgain);
    return () => {
      clearInterval(trying);
      removeEventListener("online", onAgain);
    };
  }, []);
  return html`<article>${h(Notice, { tone: "error", children: say("not_loaded") })}
    <p class="actions">${h(Button, { isBusy, onPress: again, children: say("try_again") })}</p></article>`;
}

/** A page that failed. @param {{ error: unknown }} props */
export function Failed({ error }) {
  console.error(error);
  return html`<article>${h(Notice, { tone: "error", children: say("failed") })}
    <p class="actions">${h(Button, { onPress: () => location.reload(), children: say("reload") })}</p></article>`;
}
