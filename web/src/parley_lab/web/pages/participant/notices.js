/** What the lab tells a participant beside the stage, and what a participant may do at any time. */
import { h, html, useEffect, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { newId } from "../lab/api.js";
import { Form } from "../lab/form.js";
import { Button, callInTitle } from "../lab/ui.js";
import { say, sayOr } from "../lab/words.js";

/** What the lab has said to the participant. @param {{ notice: any, onRead: () => Promise<void> }} props */
export function LabNotice({ notice, onRead }) {
  return html`<section class="notice" role="status">
    <p><strong>${say("lab_says")}:</strong> ${notice.text}</p>
    <p class="actions">${h(Button, { kind: "quiet", onPress: onRead, children: say("have_read") })}</p>
  </section>`;
}

/**
 * The lab asks whether the participant is still there: in sight wherever they are on the page, in the title for those who
 * look at something else, and with the focus, which goes back to where it was.
 * @param {{ check: any, onHere: () => Promise<void> }} props
 */
export function Check({ check, onHere }) {
  const question = check.code ? sayOr(`check_${check.code}`, {}, check.text) : check.text;
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => callInTitle(question), [question]);
  useLayoutEffect(() => {
    const before = document.activeElement;
    box.current?.querySelector("button")?.focus({ preventScroll: true });
    return () => {
      if (before instanceof HTMLElement) setTimeout(() => before.isConnected && before.focus({ preventScroll: true }), 0);
    };
  }, []);
  return html`<section class="notice warning check" role="alertdialog" aria-label=${question} ref=${box}>
    <p>${question}</p>
    <p class="actions">${h(Button, { onPress: onHere, children: say("i_am_here") })}</p>
  </section>`;
}

/** A move to another group is offered. @param {{ onAnswer: (accept: boolean) => Promise<void> }} props */
export function Offer({ onAnswer }) {
  return html`<section class="notice warning" role="alertdialog" aria-label=${say("offer")}>
    <p>${say("offer")}</p>
    <p class="actions">
      ${h(Button, { onPress: () => onAnswer(true), children: say("offer_yes") })}
      ${h(Button, { kind: "quiet", onPress: () => onAnswer(false), children: say("offer_no") })}
    </p>
  </section>`;
}

/** Asking the experimenter for help. @param {{ memberId: string, onAsk: (text: string, key: string) => Promise<any> }} props */
export function Help({ memberId, onAsk }) {
  const [state, setState] = useState(/** @type {"closed" | "open" | "sent"} */ ("closed"));
  // The same words sent again, because no answer came, are one request.
  const asked = useRef({ text: "", key: "" });
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => box.current?.querySelector("textarea")?.focus(), [state]);
  const open = () => setState("open");
  if (state === "closed") return h(Button, { kind: "quiet", onPress: open, children: say("help") });
  if (state === "sent") return html`<p role="status">${say("help_sent")}</p> ${h(Button, { kind: "quiet", onPress: open, children: say("help_again") })}`;
  return html`<div class="help" ref=${box}>${h(Form, {
    schema: { type: "string", title: say("help_question"), minLength: 1, maxLength: 2000, "x-widget": "textarea" },
    draftKey: `draft:${memberId}:help`,
    onSubmit: async (/** @type {any} */ text) => {
      if (asked.current.text !== text) asked.current = { text, key: newId() };
      await onAsk(text, asked.current.key);
      asked.current = { text: "", key: "" };
      setState("sent");
    },
  })}</div>`;
}

/** @param {{ onLeave: () => Promise<void> }} props */
export function Leave({ onLeave }) {
  const [isAsked, setAsked] = useState(false);
  const question = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => question.current?.focus(), [isAsked]);
  if (!isAsked) return h(Button, { kind: "quiet", onPress: () => setAsked(true), children: say("leave") });
  return html`<div class="leave" role="group" aria-label=${say("leave")} tabindex="-1" ref=${question}>
    <p>${say("leave_question")}</p>
    <p class="actions">${h(Button, { kind: "quiet", onPress: onLeave, children: say("leave_yes") })}
      ${h(Button, { onPress: () => setAsked(false), children: say("leave_no") })}</p>
  </div>`;
}
