/** A conversation: its messages as they come, a composer, replies and reactions. */
import { h, html, useEffect, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { newId, Refused } from "./api.js";
import { forget, recall, remember } from "./memory.js";
import { reason } from "./refusals.js";
import { Typists, useOwnTyping } from "./typing.js";
import { Button, Name, useFieldId, Words } from "./ui.js";
import { say, sayOr } from "./words.js";

/**
 * @typedef {{ id: string, seq: number, author: { id: string, profile: any } | null, text: string,
 *   line?: { code: string, params: Record<string, any> } | null, topic: string | null,
 *   quote: { author: { profile: any } | null, text: string } | null,
 *   reactions: { reaction: string, count: number, member_ids: string[] }[] }} Message
 * @typedef {{ key: string, text: string, replyTo: string | null, error: string }} Pending
 * @typedef {import("./page.js").StageProps} StageProps
 */

const AT_ONCE = 100;
const LONGEST_MESSAGE = 10_000;
const REACTIONS = /** @type {const} */ ([["heart", "❤️", "react_heart"], ["thumbs_up", "👍", "react_thumbs_up"]]);

/** @param {{ stage: StageProps, hasReactions: boolean, mayWrite: boolean, whyNot?: string }} props */
export function Conversation({ stage, hasReactions, mayWrite, whyNot }) {
  const thread = stage.page.thread;
  const { messages, first, older, isRead, wasCut } = useMessages(stage);
  const kept = `pending:${stage.me.member_id}:${thread.id}`;
  const [pending, setPending] = useState(() => /** @type {Pending[]} */ (JSON.parse(recall(kept) ?? "[]")));
  // One message goes out after the other, or a slow one would be said after the next.
  const sending = useRef(Promise.resolve());
  const [answered, setAnswered] = useState(/** @type {Message | null} */ (null));
  const you = stage.me.member_id;
  const typing = useOwnTyping(stage);

  /** @param {Pending} one */
  async function post(one) {
    try {
      await stage.api.post(`/v1/me/threads/${thread.id}/messages`, {
        text: one.text,
        client_message_id: one.key,
        reply_to: one.replyTo,
      });
      setPending((all) => all.filter((other) => other.key !== one.key));
    } catch (error) {
      const words = reason(error);
      setPending((all) => all.map((other) => (other.key === one.key ? { ...other, error: words } : other)));
      if (error instanceof Refused) stage.refresh();
    }
  }

  /** @param {string} text */
  function send(text) {
    const one = { key: newId(), text, replyTo: answered?.id ?? null, error: "" };
    setPending((all) => [...all, one]);
    setAnswered(null);
    queue(one);
  }

  /** @param {Pending} one */
  function again(one) {
    setPending((all) => all.map((other) => (other.key === one.key ? { ...other, error: "" } : other)));
    queue({ ...one, error: "" });
  }

  /** @param {Pending} one */
  function queue(one) {
    sending.current = sending.current.then(() => post(one));
  }

  // What a reload has interrupted goes out again; the lab knows each message by its key.
  useEffect(() => pending.forEach(again), []);
  useEffect(() => (pending.length > 0 ? remember(kept, JSON.stringify(pending)) : forget(kept)), [pending]);

  return html`<section class="conversation" aria-label=${say("messages")}>
    ${h(Log, { messages, pending, you, hasReactions, hasOlder: first > 1, onOlder: older, onAgain: again, isRead, wasCut,
      onReply: hasReactions && mayWrite ? setAnswered : null,
      onReact: (/** @type {Message} */ message, /** @type {string} */ reaction) => react(stage, message, reaction, you) })}
    ${answered
      ? html`<p class="answered">${say("reply_to", { name: nameOf(answered), text: short(answered.text) })}
          ${h(Button, { kind: "quiet", label: say("cancel_reply"), onPress: () => setAnswered(null), children: "×" })}</p>`
      : null}
    ${h(Typists, { stage })}
    ${mayWrite ? h(Composer, { draftKey: `draft:${thread.id}`, onSend: send, onType: typing }) : whyNot ? html`<p class="hint" role="status">${whyNot}</p>` : null}
  </section>`;
}

/**
 * The newest messages, and what comes. `first` is the number of the oldest that was read.
 * @param {StageProps} stage
 */
function useMessages(stage) {
  const thread = stage.page.thread;
  const [messages, setMessages] = useState(/** @type {Message[]} */ ([]));
  const [first, setFirst] = useState(Math.max(1, thread.last_seq - AT_ONCE + 1));
  const [isRead, setRead] = useState(false);
  const [wasCut, setCut] = useState(false);
  const newest = useRef(first - 1);
  const reading = useRef(false);

  /** @param {Message[]} found */
  function add(found) {
    setMessages((all) => merged(all, found));
  }

  async function readOn() {
    if (reading.current) return;
    reading.current = true;
    try {
      for (;;) {
        const answer = await stage.api.get(`/v1/me/threads/${thread.id}/messages?after_seq=${newest.current}&limit=${AT_ONCE}`);
        add(answer.messages);
        const isAll = answer.read_to <= newest.current || answer.messages.length < AT_ONCE;
        newest.current = Math.max(newest.current, answer.read_to);
        if (isAll) break;
      }
      setRead(true);
      setCut(false);
    } catch {
      setCut(true);
    } finally {
      reading.current = false;
    }
  }

  useEffect(() => {
    void readOn();
    return stage.listen((type, event) => {
      if (type === "connected") void readOn();
      else if (type === "message.created" && event.data.thread_id === thread.id) {
        add([event.data]);
      } else if ((type === "message.reacted" || type === "message.unreacted") && event.data.thread_id === thread.id) {
        setMessages((all) =>
          all.map((one) => (one.id === event.data.message_id ? { ...one, reactions: event.data.reactions } : one)),
        );
      }
    });
  }, [thread.id]);

  async function older() {
    const from = Math.max(1, first - AT_ONCE);
    if (reading.current || from === first) return;
    reading.current = true;
    try {
      const answer = await stage.api.get(`/v1/me/threads/${thread.id}/messages?after_seq=${from - 1}&limit=${first - from}`);
      add(answer.messages);
      setFirst(from);
    } catch {
      setCut(true);
    } finally {
      reading.current = false;
    }
  }

  return { messages, first, older, isRead, wasCut };
}

/** Both lists as one, each message once, in the order of the thread. @param {Message[]} known @param {Message[]} found */
function merged(known, found) {
  const byId = new Map(known.map((one) => [one.id, one]));
  for (const one of found) byId.set(one.id, one);
  return [...byId.values()].sort((left, right) => left.seq - right.seq);
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
function Log({ messages, pending, you, hasReactions, hasOlder, onOlder, onAgain, onReply, onReact, isRead, wasCut }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const isAtEnd = useRef(true);
  const seen = useRef(0);
  const isReadingBack = useRef(false);
  const [unseen, setUnseen] = useState(0);
  // What was said before is not read out: not when the page comes, and not when one reads back.
  const [isQuiet, setQuiet] = useState(true);
  const newest = messages[messages.length - 1]?.seq ?? 0;

  useLayoutEffect(() => {
    const news = messages.filter((/** @type {Message} */ one) => one.seq > seen.current && one.author?.id !== you).length;
    seen.current = newest;
    if (isAtEnd.current) toEnd();
    else if (news > 0) setUnseen((count) => count + news);
  }, [newest, pending]);

  useEffect(() => {
    if (isRead) requestAnimationFrame(() => setQuiet(false));
  }, [isRead]);

  function toEnd() {
    const element = box.current;
    if (element) element.scrollTop = element.scrollHeight;
    setUnseen(0);
  }

  function onScroll() {
    const element = box.current;
    if (!element || isReadingBack.current) return;
    isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 40;
    if (isAtEnd.current) setUnseen(0);
    else if (hasOlder && element.scrollTop < 40) void showOlder();
  }

  async function showOlder() {
    const element = box.current;
    const height = element?.scrollHeight ?? 0;
    const top = element?.scrollTop ?? 0;
    isAtEnd.current = false;
    isReadingBack.current = true;
    setQuiet(true);
    await onOlder();
    // What was read stays where it was on the screen.
    requestAnimationFrame(() => {
      if (element) element.scrollTop = top + element.scrollHeight - height;
      isReadingBack.current = false;
      setQuiet(false);
    });
  }

  return html`<div class="log-frame">
    <div class="log" ref=${box} onScroll=${onScroll} tabindex="0" role="log" aria-live=${isQuiet ? "off" : "polite"} aria-label=${say("messages")}>
      ${hasOlder ? html`<p>${h(Button, { kind: "quiet", onPress: showOlder, children: say("earlier_messages") })}</p>` : null}
      ${messages.length + pending.length === 0 ? html`<p class="hint">${wasCut ? say("offline") : say("no_messages")}</p>` : null}
      ${messages.map((/** @type {Message} */ message) => h(Line, { key: message.id, message, you, hasReactions, onReply, onReact }))}
      ${pending.map(
        (/** @type {Pending} */ one) => html`<article key=${one.key} class="message own pending" aria-live="off">
          <p class="said" dir="auto">${one.text}</p>
          <p class="hint" role=${one.error ? "alert" : undefined}>${one.error ? html`${say("not_sent")}: ${one.error} ${h(Button, { kind: "quiet", onPress: () => onAgain(one), children: say("try_again") })}` : say("sending")}</p>
        </article>`,
      )}
    </div>
    ${unseen > 0 ? html`<p class="new-messages">${h(Button, { kind: "quiet", onPress: toEnd, children: say("new_messages", { count: unseen }) })}</p>` : null}
  </div>`;
}

/** The lab's own sentences in the language of the page. @param {Message} message */
const saidByLab = ({ line, text }) => (line ? sayOr(`line_${line.code}`, line.params, text) : text);

/** @param {{ message: Message, you: string, hasReactions: boolean, onReply: any, onReact: any }} props */
function Line({ message, you, hasReactions, onReply, onReact }) {
  if (message.author === null) return html`<p class="lab-line">${h(Words, { text: saidByLab(message) })}</p>`;
  const isOwn = message.author.id === you;
  return html`<article class=${isOwn ? "message own" : "message"}>
    <p class="author">${h(Name, { profile: message.author.profile, isYou: isOwn })}</p>
    ${message.quote ? html`<blockquote>${say("answers_message", { name: message.quote.author?.profile.name ?? say("lab_says"), text: message.quote.text })}</blockquote>` : null}
    <p class="said" dir="auto">${h(Words, { text: message.text })}</p>
    ${hasReactions
      ? html`<p class="reactions" aria-live="off">
          ${REACTIONS.map(([name, sign, label]) => {
            const found = message.reactions.find((one) => one.reaction === name);
            const count = found?.count ?? 0;
            const counted = count > 0 ? `, ${say("reaction_count", { count })}` : "";
            return h(Button, { key: name, kind: "quiet", isPressed: found?.member_ids.includes(you) ?? false, label: `${say(label)}${counted}`, onPress: () => onReact(message, name), children: html`${sign}${count > 0 ? ` ${count}` : ""}` });
          })}
          ${onReply ? h(Button, { kind: "quiet", onPress: () => onReply(message), children: say("reply") }) : null}
        </p>`
      : null}
  </article>`;
}

/** @param {{ draftKey: string, onSend: (text: string) => void, onType: (text: string | null) => void }} props */
function Composer({ draftKey, onSend, onType }) {
  const [text, setText] = useState(recall(draftKey) ?? "");
  const id = useFieldId();
  const excess = [...text].length - LONGEST_MESSAGE;

  /** @param {Event} [event] */
  function send(event) {
    event?.preventDefault();
    if (text.trim() === "" || excess > 0) return;
    onType(null);
    onSend(text.trim());
    setText("");
    forget(draftKey);
  }

  /** @param {KeyboardEvent} event */
  function onKeyDown(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) send(event);
  }

  return html`<form class="composer" onSubmit=${send}>
    <label class="hidden" for=${id}>${say("say_something")}</label>
    <textarea id=${id} rows="2" placeholder=${say("say_something")} value=${text} onKeyDown=${onKeyDown} aria-describedby=${excess > 0 ? `${id}-problem` : undefined}
      onInput=${(/** @type {any} */ event) => {
        setText(event.target.value);
        onType(event.target.value);
        remember(draftKey, event.target.value);
      }}></textarea>
    ${h(Button, { isSubmit: true, isDisabled: text.trim() === "" || excess > 0, children: say("say_it") })}
    ${excess > 0 ? html`<p class="problem" id=${`${id}-problem`}>${say("too_long", { count: excess })}</p>` : null}
  </form>`;
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
