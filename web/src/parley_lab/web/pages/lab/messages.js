/** The messages of a conversation: the newest, what comes, and what one says oneself on its way to the lab. */
import { isForNow, isOfCheck, newId, Refused, waitAfter } from "./api.js";
import { forget, recall, remember } from "./memory.js";
import { useEffect, useRef, useState } from "./preact.js";
import { reason } from "./refusals.js";
import { say } from "./words.js";

/**
 * @typedef {{ id: string, seq: number, author: { id: string, profile: any } | null, text: string,
 *   line?: { code: string, params: Record<string, any> } | null, topic: string | null,
 *   quote: { author: { profile: any } | null, text: string } | null,
 *   reactions: { reaction: string, count: number, member_ids: string[] }[] }} Message
 * @typedef {{ key: string, text: string, replyTo: string | null, error: string, isRefused?: boolean, waitsForCheck?: boolean, after?: number,
 *   process?: import("./process.js").Numbers }} Pending
 *   `after`: the newest message when it was said. `process`: how it came about, where the study records it.
 * @typedef {import("./page.js").StageProps} StageProps
 */

const AT_ONCE = 100;
const AGAIN_MS = 5000;
const MAY_GO_ON = ["connected", "experiment.resumed", "member.resumed", "member.check_passed"];

/**
 * The newest messages, and what comes. `first` is the number of the oldest that was read.
 * @param {StageProps} stage
 */
export function useMessages(stage) {
  const thread = stage.page.thread;
  const [messages, setMessages] = useState(/** @type {Message[]} */ ([]));
  const [first, setFirst] = useState(Math.max(1, thread.last_seq - AT_ONCE + 1));
  const [isRead, setRead] = useState(false);
  const [wasCut, setCut] = useState(false);
  const newest = useRef(first - 1);
  const reading = useRef(false);
  // A reader at the top turns the wheel no further: reading back does not wait for the newest messages.
  const readingBack = useRef(false);
  // From then on the stream tells all: after a cut it goes on where it was.
  const isWhole = useRef(false);
  const again = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));

  /** @param {Message[]} found */
  function add(found) {
    setMessages((all) => merged(all, found));
  }

  async function readOn() {
    if (reading.current) return;
    reading.current = true;
    clearTimeout(again.current);
    try {
      for (;;) {
        const answer = await stage.api.get(`/v1/me/threads/${thread.id}/messages?after_seq=${newest.current}&limit=${AT_ONCE}`);
        add(answer.messages);
        const isAll = answer.read_to <= newest.current || answer.messages.length < AT_ONCE;
        newest.current = Math.max(newest.current, answer.read_to);
        if (isAll) break;
      }
      isWhole.current = true;
      setRead(true);
      setCut(false);
    } catch (error) {
      setCut(true);
      if (isForNow(error)) again.current = setTimeout(readOn, waitAfter(error, AGAIN_MS));
    } finally {
      reading.current = false;
    }
  }

  useEffect(() => {
    void readOn();
    const stop = stage.listen((type, event) => {
      if (type === "connected" && !isWhole.current) void readOn();
      else if (type === "message.created" && event.data.thread_id === thread.id) {
        add([event.data]);
      } else if ((type === "message.reacted" || type === "message.unreacted") && event.data.thread_id === thread.id) {
        setMessages((all) =>
          all.map((one) => (one.id === event.data.message_id ? { ...one, reactions: event.data.reactions } : one)),
        );
      }
    });
    return () => {
      stop();
      clearTimeout(again.current);
    };
  }, [thread.id]);

  async function older() {
    const from = Math.max(1, first - AT_ONCE);
    if (readingBack.current || from === first) return;
    readingBack.current = true;
    try {
      const answer = await stage.api.get(`/v1/me/threads/${thread.id}/messages?after_seq=${from - 1}&limit=${first - from}`);
      add(answer.messages);
      setFirst(from);
    } catch {
      setCut(true);
    } finally {
      readingBack.current = false;
    }
  }

  // What came by the stream meanwhile may be newer.
  const stored = (/** @type {Message} */ one) => setMessages((all) => merged([one], all));
  return { messages, first, older, isRead, wasCut, stored };
}

/** Both lists as one, each message once as the second has it, in the order of the thread. @param {Message[]} known @param {Message[]} found */
function merged(known, found) {
  const byId = new Map(known.map((one) => [one.id, one]));
  for (const one of found) byId.set(one.id, one);
  return [...byId.values()].sort((left, right) => left.seq - right.seq);
}

/** Whether the lab takes nothing until it goes on by itself. @param {unknown} error */
const isOfPause = (error) => error instanceof Refused && error.reason === "paused";

/**
 * What one says: one message goes out after the other, or a slow one would be said after the next. While the lab cannot
 * be reached or the study is paused they wait; the lab knows each by its key.
 * @param {StageProps} stage @param {Message[]} messages @param {(message: Message) => void} onStored
 */
export function useOutgoing(stage, messages, onStored) {
  const you = stage.me.member_id;
  const thread = stage.page.thread;
  const memory = `draft:${you}:${thread.id}:sent`;
  const [pending, setPending] = useState(() => /** @type {Pending[]} */ (JSON.parse(recall(memory) ?? "[]")));
  const all = useRef(pending);
  const isSending = useRef(false);
  const isOver = useRef(false);
  const again = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  // The lab has said how long to wait.
  const isHeld = useRef(false);
  const answered = useRef(/** @type {Set<string>} */ (new Set()));
  const newest = messages[messages.length - 1]?.seq ?? 0;

  /** @param {Pending[]} next */
  function change(next) {
    if (isOver.current) return;
    all.current = next;
    setPending(next);
    if (next.length > 0) remember(memory, JSON.stringify(next));
    else forget(memory);
  }

  /** @param {string} key @param {Partial<Pending>} now */
  const mark = (key, now) => change(all.current.map((one) => (one.key === key ? { ...one, ...now } : one)));

  async function sendAll() {
    if (isSending.current || isHeld.current) return;
    isSending.current = true;
    clearTimeout(again.current);
    try {
      for (let one; !isOver.current && (one = all.current.find((each) => !each.isRefused)); ) {
        const wait = await sendOne(one);
        if (wait > 0) return sendAfter(wait);
      }
    } finally {
      isSending.current = false;
    }
  }

  /** @param {number} wait in milliseconds */
  function sendAfter(wait) {
    again.current = setTimeout(() => {
      isHeld.current = false;
      void sendAll();
    }, wait);
  }

  /** How long to wait until it is sent again; 0: the lab has decided. @param {Pending} one @returns {Promise<number>} */
  async function sendOne({ key, text, replyTo, process }) {
    try {
      if (process) void sayProcess(key, process);
      const body = { text, client_message_id: key, reply_to: replyTo };
      const message = await stage.api.post(`/v1/me/threads/${thread.id}/messages`, body);
      answered.current.add(message.id);
      onStored(message);
      change(all.current.filter((other) => other.key !== key));
      return 0;
    } catch (error) {
      if (isForNow(error) || isOfPause(error) || isOfCheck(error)) {
        const why = isOfCheck(error) ? "refused_attention_check" : isOfPause(error) ? "paused" : "goes_out_by_itself";
        mark(key, { error: say(why), isRefused: false, waitsForCheck: isOfCheck(error) });
        if (isOfCheck(error)) stage.refresh();
        isHeld.current = waitAfter(error, 0) > 0;
        return waitAfter(error, AGAIN_MS);
      }
      mark(key, { error: reason(error), isRefused: true, waitsForCheck: false });
      stage.refresh();
      return 0;
    }
  }

  /** No message waits for it. @param {string} key @param {import("./process.js").Numbers} process */
  const sayProcess = (key, process) =>
    stage.api.put(`/v1/me/stages/${stage.page.stage_id}/process`, { key: `message:${key}`, questions: { "": process } }).catch(console.error);

  useEffect(() => {
    // What a reload has interrupted goes out again.
    change(all.current.map((one) => ({ ...one, error: "", isRefused: false, waitsForCheck: false })));
    void sendAll();
    const stop = stage.listen((type) => void (MAY_GO_ON.includes(type) && sendAll()));
    return () => {
      stop();
      isOver.current = true;
      clearTimeout(again.current);
    };
  }, []);

  /** Say that one is there, and send what has waited for it. */
  const answerCheck = () => stage.act(() => stage.api.post("/v1/me/check")).then(sendAll);
  // Answered elsewhere on the page.
  const isAsked = Boolean(stage.me.check);
  useEffect(() => void (isAsked || sendAll()), [isAsked]);

  return {
    answerCheck,
    pending: notSaidYet(pending, messages.filter((one) => one.author?.id === you && !answered.current.has(one.id))),
    /** @param {string} text @param {string | null} replyTo @param {import("./process.js").Numbers} [process] */
    send(text, replyTo, process) {
      change([...all.current, { key: newId(), text, replyTo, error: "", after: newest, process }]);
      void sendAll();
    },
    /** @param {Pending} one */
    sendAgain(one) {
      mark(one.key, { error: "", isRefused: false });
      isHeld.current = false;
      void sendAll();
    },
  };
}

/** Those that the stream has not told yet: it may be faster than the answer. @param {Pending[]} pending @param {Message[]} own */
function notSaidYet(pending, own) {
  const told = new Set();
  return pending.filter((one) => {
    const found = own.find((message) => message.seq > (one.after ?? Infinity) && message.text === one.text && !told.has(message.id));
    if (found) told.add(found.id);
    return !found;
  });
}
