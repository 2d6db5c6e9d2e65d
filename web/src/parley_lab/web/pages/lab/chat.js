/** A conversation: its messages as they come, a composer, replies and reactions. */
import { h, html, useEffect, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { about } from "./api.js";
import { forget, recall, remember } from "./memory.js";
import { useMessages, useOutgoing } from "./messages.js";
import { useIsTranslated } from "./translated.js";
import { Typists, useOwnTyping } from "./typing.js";
import { Button, Name, useFieldId, Words, isOfWord } from "./ui.js";
import { say, sayOr } from "./words.js";

/**
 * @typedef {import("./messages.js").Message} Message
 * @typedef {import("./messages.js").Pending} Pending
 * @typedef {import("./page.js").StageProps} StageProps
 */

const LONGEST_MESSAGE = 10_000;
const LOOK_MS = 20_000;
const FIELD = "text";
const REACTIONS = /** @type {const} */ ([["heart", "❤️", "react_heart"], ["thumbs_up", "👍", "react_thumbs_up"]]);

/** @param {{ stage: StageProps, hasReactions: boolean, mayWrite: boolean, whyNot?: string }} props */
export function Conversation({ stage, hasReactions, mayWrite, whyNot }) {
  const thread = stage.page.thread;
  const { messages, first, older, isRead, wasCut, stored } = useMessages(stage);
  const outgoing = useOutgoing(stage, messages, stored);
  const [answered, setAnswered] = useState(/** @type {Message | null} */ (null));
  const [said, setSaid] = useState(0);
  const field = useRef(/** @type {HTMLElement | null} */ (null));
  const you = stage.me.member_id;
  const isOver = !stage.isCurrent || stage.page.view.has_ended;
  const typing = useOwnTyping(stage);
  const isTranslated = useIsTranslated();
  const [mayTranslate, setMayTranslate] = useState(false);

  /** @param {string} text @param {import("./process.js").Numbers} [process] */
  function send(text, process) {
    outgoing.send(text, answered?.id ?? null, process);
    setSaid(said + 1);
    setAnswered(null);
  }

  /** @param {Message | null} message */
  function answer(message) {
    setAnswered(message);
    field.current?.focus();
  }

  return html`<section class="conversation" aria-label=${say("messages")} tabindex="-1">
    ${isTranslated
      ? html`<p class="hint">${h(Button, { kind: "quiet", isPressed: mayTranslate, onPress: () => setMayTranslate(!mayTranslate), children: say("translate_said") })}</p>`
      : null}
    ${h(Log, { messages, mayTranslate, pending: outgoing.pending, said, you, hasReactions, hasOlder: first > 1, onOlder: older, onAgain: isOver ? null : outgoing.sendAgain, onHere: outgoing.answerCheck, isRead, wasCut,
      onReply: hasReactions && mayWrite ? answer : null,
      onReact: isOver ? null : (/** @type {Message} */ message, /** @type {string} */ reaction) => react(stage, message, reaction, you) })}
    ${answered
      ? html`<p class="answered" translate=${false}>${say("reply_to", { name: nameOf(answered), text: short(answered.text) })}
          ${h(Button, { kind: "quiet", label: say("cancel_reply"), onPress: () => answer(null), children: "×" })}</p>`
      : null}
    ${h(Typists, { stage })}
    ${mayWrite ? h(Composer, { mayPaste: stage.page.paste !== "refused", isRecorded: stage.page.record === "process", field, draftKey: `draft:${you}:${thread.id}`, onSend: send, onType: typing }) : whyNot ? html`<p class="hint" role="status">${whyNot}</p>` : null}
  </section>`;
}

/**
 * In place of a conversation that has not begun. Where it waits for no one, the lab begins it a moment after the first has
 * come. An event tells of that, and the page is read anew; while a lab is updated, an orchestrator of the version before
 * may begin it without one, so the page also looks now and then.
 * @param {{ stage: StageProps }} props
 */
export function Beginning({ stage }) {
  useEffect(() => {
    if (!stage.isCurrent) return undefined;
    const looking = setInterval(stage.refresh, about(LOOK_MS));
    return () => clearInterval(looking);
  }, [stage.isCurrent]);
  return html`<p role="status">${say("waiting_for_others")}</p>`;
}

/** @param {StageProps} stage @param {Message} message @param {string} reaction @param {string} you */
async function react(stage, message, reaction, you) {
  const has = message.reactions.some((one) => one.reaction === reaction && one.member_ids.includes(you));
  const path = `/v1/me/messages/${message.id}/reactions/${reaction}`;
  await (has ? stage.api.remove(path) : stage.api.put(path)).catch(() => stage.refresh());
}

/** @param {Message} message */
const nameOf = (message) => message.author?.profile.name ?? say("lab_says");

/** @param {string} text */
const short = (text) => (text.length > 80 ? `${text.slice(0, 79)}…` : text);

/** @param {any} props */
function Log({ messages, mayTranslate, pending, said, you, hasReactions, hasOlder, onOlder, onAgain, onHere, onReply, onReact, isRead, wasCut }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const isAtEnd = useRef(true);
  const size = useRef("");
  const seen = useRef(0);
  const isReadingBack = useRef(false);
  const [unseen, setUnseen] = useState(0);
  // What was said before is not read out: not when the page comes, and not when one reads back.
  const [isQuiet, setQuiet] = useState(true);
  const newest = messages[messages.length - 1]?.seq ?? 0;
  const oldest = messages[0]?.seq ?? 0;
  const top = isReadingBack.current ? firstLine(box.current) : null;

  // What was read stays where it was on the screen.
  useLayoutEffect(() => {
    if (top !== null && box.current !== null) box.current.scrollTop += top.line.offsetTop - top.was;
  }, [oldest]);

  useLayoutEffect(() => {
    const news = messages.filter((/** @type {Message} */ one) => one.seq > seen.current && one.author?.id !== you).length;
    seen.current = newest;
    if (isAtEnd.current && !isNeededAbove()) toEnd();
    else if (news > 0) setUnseen((count) => count + news);
  }, [newest, pending]);

  // Who says something sees it.
  useLayoutEffect(toEnd, [said]);

  useEffect(() => {
    if (isRead) requestAnimationFrame(() => setQuiet(false));
  }, [isRead]);

  // The keyboard of a phone makes the log shorter: the newest message stays in sight.
  useEffect(() => {
    const resizing = new ResizeObserver(() => {
      size.current = sizeOf(box.current);
      if (isAtEnd.current) toEnd();
    });
    if (box.current) resizing.observe(box.current);
    return () => resizing.disconnect();
  }, []);

  function toEnd() {
    const element = box.current;
    if (element) element.scrollTop = element.scrollHeight;
    setUnseen(0);
  }

  /** Whether what those who use keys have the focus on would be out of sight at the end. */
  function isNeededAbove() {
    const [element, focused] = [box.current, box.current?.querySelector(":focus-visible")];
    if (!element || !focused) return false;
    const below = element.getBoundingClientRect().bottom - focused.getBoundingClientRect().bottom;
    return below + element.scrollHeight - element.scrollTop - element.clientHeight > element.clientHeight - focused.clientHeight;
  }

  function toNews() {
    toEnd();
    box.current?.focus({ preventScroll: true });
  }

  function onScroll() {
    const element = box.current;
    // While the size changes a scroll does not show where one was; the observer of the size follows.
    if (!element || isReadingBack.current || sizeOf(element) !== size.current) return;
    isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 40;
    if (isAtEnd.current) setUnseen(0);
    else if (hasOlder && element.scrollTop < 40) void showOlder();
  }

  async function showOlder() {
    isAtEnd.current = false;
    isReadingBack.current = true;
    setQuiet(true);
    await onOlder();
    requestAnimationFrame(() => {
      isReadingBack.current = false;
      setQuiet(false);
    });
  }

  return html`<div class="log-frame">
    <div class="log" ref=${box} onScroll=${onScroll} tabindex="0" role="log" aria-live=${isQuiet ? "off" : "polite"} aria-label=${say("messages")}>
      ${hasOlder ? html`<p>${h(Button, { kind: "quiet", onPress: showOlder, children: say("earlier_messages") })}</p>` : null}
      ${messages.length + pending.length === 0 && (wasCut || isRead) ? html`<p class="hint">${say(wasCut ? "offline" : "no_messages")}</p>` : null}
      ${messages.map((/** @type {Message} */ one) => h(Line, { key: mayTranslate ? `translated:${one.id}` : one.id, mayTranslate, message: one, you, hasReactions, onReply, onReact }))}
      ${pending.map(
        (/** @type {Pending} */ one) => html`<article key=${one.key} class="message own pending" aria-live="off">
          <p class="said" dir="auto" translate=${false}>${one.text}</p>
          <p class="hint" role=${one.error ? "alert" : undefined}>${one.error ? html`${say("not_sent")}: ${one.error} ${h(Again, { one, onAgain, onHere })}` : say("sending")}</p>
        </article>`,
      )}
    </div>
    ${unseen > 0 ? html`<p class="new-messages">${h(Button, { kind: "quiet", onPress: toNews, children: say("new_messages", { count: unseen }) })}</p>` : null}
  </div>`;
}

/** What to do about a message that was not sent; nothing where the conversation is over. @param {{ one: Pending, onAgain: ((one: Pending) => void) | null, onHere: () => void }} props */
function Again({ one, onAgain, onHere }) {
  if (one.waitsForCheck) return h(Button, { kind: "quiet", onPress: onHere, children: say("i_am_here") });
  return onAgain ? h(Button, { kind: "quiet", onPress: () => onAgain(one), children: say("try_again") }) : null;
}

/** @param {HTMLElement | null} element */
const sizeOf = (element) => `${element?.clientWidth}x${element?.clientHeight}`;

/** The first line of a conversation, and where it is. @param {HTMLElement | null} box */
function firstLine(box) {
  const line = /** @type {HTMLElement | null | undefined} */ (box?.querySelector(".message, .lab-line"));
  return line ? { line, was: line.offsetTop } : null;
}

/** The lab's own sentences in the language of the page. @param {Message} message */
const saidByLab = ({ line, text }) => (line ? sayOr(`line_${line.code}`, line.params, text) : text);

/** What the lab writes in place of words that it has deleted. */
const DELETED = "[deleted]";

/** @typedef {{ message: Message, mayTranslate: boolean, you: string, hasReactions: boolean, onReply: any, onReact: any }} LineProps */

/** Whether a line is to be drawn anew: there may be thousands. @this {{ props: LineProps }} @param {LineProps} next */
function isOther(next) {
  const { message, hasReactions, onReply, onReact } = this.props;
  const mayOther = (next.onReply === null) !== (onReply === null) || (next.onReact === null) !== (onReact === null);
  return next.message !== message || next.hasReactions !== hasReactions || mayOther;
}

/** @this {any} @param {LineProps} props */
function Line(props) {
  const { message, mayTranslate, you, hasReactions, onReply, onReact } = props;
  // Others have not agreed to what a browser makes of their words; readers may ask for it.
  const translate = mayTranslate;
  this.shouldComponentUpdate = isOther;
  if (message.author === null) return html`<p class="lab-line">${h(Words, { text: saidByLab(message) })}</p>`;
  const isOwn = message.author.id === you;
  return html`<article class=${isOwn ? "message own" : "message"}>
    <p class="author">${h(Name, { profile: message.author.profile, isYou: isOwn })}</p>
    ${message.quote ? html`<blockquote translate=${translate}>${say("answers_message", { name: message.quote.author?.profile.name ?? say("lab_says"), text: message.quote.text })}</blockquote>` : null}
    <p class="said" dir="auto" translate=${translate}>${h(Words, { text: message.text === DELETED ? say("deleted") : message.text })}</p>
    ${hasReactions
      ? html`<p class="reactions" aria-live="off">
          ${REACTIONS.map(([name, sign, label]) => {
            const found = message.reactions.find((one) => one.reaction === name);
            const count = found?.count ?? 0;
            if (onReact === null) return count > 0 ? html`<span key=${name}>${sign} ${count}</span>` : null;
            const counted = count > 0 ? `, ${say("reaction_count", { count })}` : "";
            return h(Button, { key: name, kind: "quiet", isPressed: found?.member_ids.includes(you) ?? false, label: `${say(label)}${counted}`, onPress: () => onReact(message, name), children: html`${sign}${count > 0 ? ` ${count}` : ""}` });
          })}
          ${onReply ? h(Button, { kind: "quiet", onPress: () => onReply(message), children: say("reply") }) : null}
        </p>`
      : null}
  </article>`;
}

/**
 * @param {{ mayPaste: boolean, isRecorded: boolean, field: any, draftKey: string,
 *   onSend: (text: string, process?: import("./process.js").Numbers) => void, onType: (text: string | null) => void }} props
 */
function Composer({ mayPaste, isRecorded, field, draftKey, onSend, onType }) {
  const [text, setText] = useState(recall(draftKey) ?? "");
  const id = useFieldId();
  const excess = [...text].length - LONGEST_MESSAGE;
  const [isPasteRefused, setPasteRefused] = useState(false);

  /** @param {Event} event */
  function refusePaste(event) {
    if (mayPaste) return;
    event.preventDefault();
    setPasteRefused(true);
  }

  /** @param {Event} [event] */
  function send(event) {
    event?.preventDefault();
    if (text.trim() === "" || excess > 0) return;
    onType(null);
    onSend(text.trim(), process.current?.taken(FIELD));
    setText("");
    forget(draftKey);
  }

  /** @param {KeyboardEvent} event */
  function onKeyDown(event) {
    if (event.key === "Enter" && !event.shiftKey && !isOfWord(event)) send(event);
  }

  const form = useInSight();
  const process = useProcess(form, isRecorded);

  return html`<form class="composer" ref=${form} onSubmit=${send}>
    <label class="hidden" for=${id}>${say("say_something")}</label>
    <textarea id=${id} ref=${field} data-field=${FIELD} rows="2" placeholder=${say("say_something")} value=${text} onKeyDown=${onKeyDown} aria-describedby=${excess > 0 ? `${id}-problem` : undefined}
      onPaste=${refusePaste} onDrop=${refusePaste}
      onInput=${(/** @type {any} */ event) => {
        setPasteRefused(false);
        setText(event.target.value);
        onType(event.target.value);
        remember(draftKey, event.target.value);
      }}></textarea>
    ${h(Button, { isSubmit: true, isDisabled: text.trim() === "" || excess > 0, children: say("say_it") })}
    ${isPasteRefused ? html`<p class="problem" role="alert">${say("paste_refused")}</p>` : null}
    ${excess > 0 ? html`<p class="problem" id=${`${id}-problem`}>${say("too_long", { count: excess })}</p>` : null}
  </form>`;
}

/** Counts how messages come about, where the study records it. @param {{ current: HTMLElement | null }} form @param {boolean} isRecorded */
function useProcess(form, isRecorded) {
  const process = useRef(/** @type {ReturnType<typeof import("./process.js").counted> | null} */ (null));
  useEffect(() => {
    if (isRecorded) import("./process.js").then(({ counted }) => form.current && (process.current = counted(form.current)), () => {});
    return () => process.current?.stop();
  }, []);
  return process;
}

/** A part that is in sight stays so when the window changes: a keyboard comes up, or a phone is turned. */
function useInSight() {
  const part = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const { current } = part;
    if (!current) return undefined;
    let isInSight = false;
    // Told after a change of the window, so that a change finds how it was before.
    const watching = new IntersectionObserver(([{ isIntersecting }]) => void (isInSight = isIntersecting));
    const keep = () => {
      if (isInSight || current.contains(document.activeElement)) requestAnimationFrame(() => current.scrollIntoView({ block: "end" }));
    };
    watching.observe(current);
    addEventListener("resize", keep);
    visualViewport?.addEventListener("resize", keep);
    return () => {
      watching.disconnect();
      removeEventListener("resize", keep);
      visualViewport?.removeEventListener("resize", keep);
    };
  }, []);
  return part;
}

/**
 * The button with which one leaves a conversation. While it goes on, it asks once: there is no way back, and on a phone it
 * is close to where one writes.
 * @param {{ label: string, isOpen: boolean, isDisabled: boolean, onLeave: () => Promise<void> }} props
 */
export function LeaveTalk({ label, isOpen, isDisabled, onLeave }) {
  const [isAsked, setAsked] = useState(false);
  const question = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => question.current?.focus(), [isAsked]);
  if (!isAsked || !isOpen || isDisabled) {
    return h(Button, { leadsOn: true, isDisabled, onPress: () => (isOpen ? setAsked(true) : void onLeave()), children: label });
  }
  return html`<span class="leave-talk" role="group" aria-label=${say("leave_talk")} tabindex="-1" ref=${question}>
    <span>${say("leave_talk")}</span>
    ${h(Button, { leadsOn: true, onPress: onLeave, children: say("leave_talk_yes") })}
    ${h(Button, { kind: "quiet", onPress: () => setAsked(false), children: say("leave_talk_no") })}
  </span>`;
}

/** Who is in a conversation, and who of them is away or ready. @param {{ people: any[], members: any[] }} props */
export function People({ people, members }) {
  const byId = new Map(members.map((one) => [one.member_id, one]));
  return html`<section class="people"><h2>${say("people_here")}</h2>
    <ul>${people.map((one) => html`<li key=${one.id}>${h(Name, { profile: one.profile, isYou: one.is_you })}${h(HowTheyAre, { member: byId.get(one.id) })}</li>`)}</ul></section>`;
}

/** @param {{ member: any }} props */
function HowTheyAre({ member }) {
  const word = member?.presence === "gone" ? "is_away" : member?.is_ready ? "others_are_ready" : null;
  return word === null ? null : html` <span class="hint">(${say(word)})</span>`;
}
