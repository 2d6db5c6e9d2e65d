/** Where the participant is, read anew when something has happened, and the live stream that tells of it. */
import { useEffect, useRef, useState } from "../vendor/preact.js";
import { about, isOfCheck, isTaken, Refused, request, waitAfter } from "../lab/api.js";
import { takeOn } from "../lab/appearance.js";
import { forget, recall } from "../lab/memory.js";
import { follow } from "../lab/stream.js";
import { speak } from "../lab/words.js";
import { showsItself } from "./kinds.js";

const GATHER_MS = 40;
/** People who wait see that others come and go a little later: where hundreds wait, all would look at each. */
const GATHER_OTHERS_MS = 1500;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 8000;
const SHOWN_MS = 5000;
const HIDDEN_MS = 120_000;
/** What is not held back by an open attention check: its answer, and messages, which wait in the conversation. */
const SENT_AT_ONCE = /^\/v1\/me\/(check|threads\/[^/]+\/messages)$/;

/**
 * What the lab tells of the participant. It is read until the lab answers, and again after each cut of the connection.
 * @param {{ token: string, placeKey: string }} who Who asks, and what their token is remembered under.
 * @param {{ assets: string, languages: string[] }} lab
 * @param {{ isActive: boolean, whenFree: () => Promise<void> }} tab Where it does not take part, the lab is asked nothing.
 */
export function useParticipant(who, lab, { isActive, whenFree }) {
  const { token } = who;
  const [place, setPlace] = useState(/** @type {{ me: any, page: any } | null} */ (null));
  const [isAway, setAway] = useState(false);
  const [isLive, setLive] = useState(true);
  const [isSignedOut, setSignedOut] = useState(false);
  const [taken, setTaken] = useState(/** @type {Refused | null} */ (null));
  const listeners = useRef(/** @type {Set<(type: string, event: any) => void>} */ (new Set()));
  // Who types now, as the stream has told: a kind's page may be loaded later than that.
  const typing = useRef(/** @type {Map<string, any>} */ (new Map()));
  // The next look: its time-out, and when it is due.
  const wanted = useRef(/** @type {{ timer: ReturnType<typeof setTimeout>, due: number } | null} */ (null));
  // Whether the look is for more than an event, which what is shown may have seen by then.
  const isAsked = useRef(false);
  const wait = useRef(FIRST_WAIT_MS);
  const last = useRef(/** @type {Promise<void>} */ (Promise.resolve()));
  // Counts what the participant did: an answer of the lab from before that says nothing any more.
  const acts = useRef(0);
  // What the participant does just now: the answer tells what its events would.
  const acting = useRef(/** @type {Promise<unknown>} */ (Promise.resolve()));
  // The cursors of the newest event and of what is shown: either may be older.
  const heard = useRef("");
  const seen = useRef("");
  const appearance = useRef(/** @type {any} */ (null));
  // Whether an attention check is open, and what waits for its answer.
  const asked = useRef({ isOpen: false, waiting: /** @type {Set<(value: unknown) => void>} */ (new Set()) });
  const shown = useRef(/** @type {any} */ (null));
  shown.current = place?.page ?? null;
  const isAsleep = useRef(!isActive);
  isAsleep.current = !isActive;

  /** @type {import("../lab/page.js").Api} */
  const api = {
    get: (path) => onOwnSeat(() => request("GET", path, { token })),
    post: (path, body, key) => afterCheck(() => request("POST", path, { token, body, key }), !SENT_AT_ONCE.test(path)),
    put: (path, body) => onOwnSeat(() => request("PUT", path, { token, body })),
    hint: (path, body) => void request("POST", path, { token, body, mayRepeat: false }).catch(() => {}),
    remove: (path) => onOwnSeat(() => request("DELETE", path, { token })),
  };

  /**
   * Do it, once more if an agent has the seat by now and has done nothing on it: the lab gives the seat back. A page that
   * waits to connect again may be used before it knows that the seat was taken.
   * @template T
   * @param {() => Promise<T>} work
   */
  async function onOwnSeat(work) {
    try {
      return await work();
    } catch (error) {
      if (!isTaken(error) || !(await comesBack())) throw error;
      refresh();
      return work();
    }
  }

  /** Whether the lab gives the seat back. */
  const comesBack = () => request("POST", "/v1/me/return", { token }).then(() => true, () => false);

  /**
   * Do it; what an open attention check refuses is done once that is answered.
   * @param {() => Promise<any>} work @param {boolean} mayWait
   */
  async function afterCheck(work, mayWait) {
    for (;;) {
      try {
        return await onOwnSeat(work);
      } catch (error) {
        if (!isOfCheck(error) || !mayWait) throw error;
        await read();
        if (asked.current.isOpen) await new Promise((go) => asked.current.waiting.add(go));
      }
    }
  }

  // A failed look is followed by the next one; it needs no repeats of its own.
  const look = (/** @type {string} */ path) => request("GET", path, { token, mayRepeat: false });

  /** One read at a time, in the order in which they were asked for. */
  function read() {
    last.current = last.current.then(readNow);
    return last.current;
  }

  async function readNow() {
    wanted.current = null;
    isAsked.current = false;
    if (isAsleep.current) return;
    const before = acts.current;
    try {
      const [me, looks] = await Promise.all([look("/v1/me"), appearance.current ?? look("/v1/me/appearance")]);
      await whenFree();
      const page = me.stage_id && !me.is_over ? await look(`/v1/me/stages/${me.stage_id}`) : null;
      if (me.language) await speak([me.language], lab);
      if (appearance.current === null) {
        appearance.current = looks;
        takeOn(looks);
      }
      if (isAsleep.current) return;
      if (before === acts.current) take({ me, page });
      else refresh();
      wait.current = FIRST_WAIT_MS;
      setAway(false);
    } catch (error) {
      if (isAsleep.current) return;
      if (error instanceof Refused && error.status === 401) {
        // The place was taken again in another tab, under a token of its own.
        if (isReplaced(who)) return location.reload();
        forget(who.placeKey);
        return setSignedOut(true);
      }
      if (isTaken(error)) return (await comesBack()) ? refresh() : setTaken(error);
      setAway(true);
      setTimeout(refresh, waitAfter(error, about(wait.current)));
      wait.current = Math.min(2 * wait.current, LONGEST_WAIT_MS);
    }
  }

  function refresh() {
    isAsked.current = true;
    lookSoon();
  }

  /** Several events in a row lead to one look, and those that what is shown has seen by then to none. */
  function lookSoon(gatherMs = GATHER_MS) {
    const due = performance.now() + gatherMs;
    if (wanted.current) {
      if (wanted.current.due <= due) return;
      clearTimeout(wanted.current.timer);
    }
    const look = async () => {
      if (!isAsked.current) await Promise.race([acting.current.catch(() => {}), pause(FIRST_WAIT_MS)]);
      if (isAsked.current || isNews(heard.current, seen.current)) void read();
      else wanted.current = null;
    };
    wanted.current = { timer: setTimeout(look, gatherMs), due };
  }

  /** @param {{ me: any, page: any }} next */
  function take(next) {
    seen.current = next.me.cursor;
    asked.current.isOpen = next.me.check !== null;
    if (!asked.current.isOpen) {
      for (const go of asked.current.waiting) go(undefined);
      asked.current.waiting.clear();
    }
    setPlace({ me: next.me, page: next.page });
  }

  /** Show what an act of the participant leads to, as it was then. @param {Promise<{ me: any, page: any }>} act */
  async function show(act) {
    acting.current = act;
    const next = await act;
    acts.current += 1;
    // An answer that was long on its way may be older than what a look has shown meanwhile.
    if (isOlder(next.me.cursor, seen.current)) return refresh();
    take(next);
    if (isNews(heard.current, seen.current)) lookSoon();
  }

  useEffect(() => {
    if (!isActive) return setPlace(null);
    if (isReplaced(who)) return location.reload();
    void read();
  }, [isActive]);

  useEffect(() => {
    // An answer that comes just then would say that all is well: the next look finds out.
    const lose = () => {
      setAway(true);
      refresh();
    };
    addEventListener("online", refresh);
    addEventListener("offline", lose);
    return () => {
      removeEventListener("online", refresh);
      removeEventListener("offline", lose);
    };
  }, []);

  const isConnected = isLive && !isAway;
  const me = place?.me ?? null;
  const waits = me?.waiting != null;
  // A move to another group leads to that group's stream.
  useEffect(() => {
    if (me === null || me.is_over || !isActive) return undefined;
    let cursor = me.cursor;
    let wasCut = false;
    /** @type {{ stop: () => void } | null} */
    let stream = null;

    function connect() {
      stream = follow("/v1/me/stream", token, cursor, {
        onEvent: (type, event) => {
          if (event.cohort_id) heard.current = cursor = `${event.cohort_id}:${event.stream_seq}`;
          note(typing.current, type, event);
          for (const hear of listeners.current) hear(type, event);
          // Who has left the group is told nothing more: the lab ends this stream, and the connection is not lost.
          if (type === "member.left" && event.data.member_id === me.member_id) stream?.stop();
          const isOfOthers = waits && type !== "stage.unlocked" && event.data.member_id !== me.member_id;
          if (type !== "thread.typing" && !showsItself(shown.current, type, event)) lookSoon(isOfOthers ? about(GATHER_OTHERS_MS) : GATHER_MS);
        },
        onState: (live) => {
          setLive(live);
          // Each stream begins with those who type then; that others have stopped before, nothing tells.
          typing.current.clear();
          for (const hear of listeners.current) hear(live ? "live" : "cut", null);
          if (live && wasCut) {
            refresh();
            for (const hear of listeners.current) hear("connected", null);
          }
          wasCut = !live;
        },
        onEnd: refresh,
      });
    }

    function rest() {
      stream?.stop();
      wasCut = true;
    }

    // A browser keeps six connections to a host, and a stream holds one: tabs that are hidden for long give theirs back.
    // Not at once, since a person without a stream is gone to the lab. A page that waits for others keeps its stream: they
    // come while the person reads another page. A page that slept cannot know whether its stream still lives.
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let resting;
    function onVisibility() {
      clearTimeout(resting);
      if (document.hidden) {
        if (!waits) resting = setTimeout(rest, HIDDEN_MS);
      } else {
        rest();
        connect();
      }
    }

    if (!document.hidden || waits) connect();
    document.addEventListener("visibilitychange", onVisibility);
    return () => {
      clearTimeout(resting);
      stream?.stop();
      document.removeEventListener("visibilitychange", onVisibility);
    };
  }, [me?.cohort_id, me?.is_over, isActive, waits]);

  return {
    me,
    page: place?.page ?? null,
    appearance: appearance.current,
    isSignedOut,
    taken,
    isConnected,
    wasAway: useWasAway(isConnected),
    api,
    read,
    refresh,
    show,
    listen: (/** @type {(type: string, event: any) => void} */ hear) => {
      listeners.current.add(hear);
      for (const event of typing.current.values()) hear("thread.typing", event);
      return () => void listeners.current.delete(hear);
    },
  };
}

/** Keep who types, until they stop or have sent. @param {Map<string, any>} typing @param {string} type @param {any} event */
function note(typing, type, event) {
  if (type === "message.created" && event.data.author) typing.delete(`${event.data.thread_id}:${event.data.author.id}`);
  if (type !== "thread.typing") return;
  const key = `${event.data.thread_id}:${event.data.member_id}`;
  if (event.data.is_typing) typing.set(key, event);
  else typing.delete(key);
}

/** Whether the connection has come back, for a while. @param {boolean} isConnected */
function useWasAway(isConnected) {
  const [isBack, setBack] = useState(false);
  const was = useRef(isConnected);
  useEffect(() => {
    const hasReturned = isConnected && !was.current;
    was.current = isConnected;
    setBack(hasReturned);
    if (!hasReturned) return undefined;
    const end = setTimeout(() => setBack(false), SHOWN_MS);
    return () => clearTimeout(end);
  }, [isConnected]);
  return isBack;
}

/** @param {number} ms */
function pause(ms) {
  return new Promise((end) => setTimeout(end, ms));
}

/** Whether the event at one cursor is not in what was read at the other. @param {string} heard @param {string} seen */
function isNews(heard, seen) {
  const [cohort, seq] = heard.split(":");
  const [seenCohort, seenSeq] = seen.split(":");
  return heard !== "" && (cohort !== seenCohort || Number(seq) > Number(seenSeq));
}

/** Whether one cursor comes before the other, in the same group. @param {string} one @param {string} other */
function isOlder(one, other) {
  const [cohort, seq] = one.split(":");
  const [otherCohort, otherSeq] = other.split(":");
  return cohort === otherCohort && Number(seq) < Number(otherSeq);
}

/** Whether this browser has another place in the study by now. @param {{ token: string, placeKey: string }} who */
function isReplaced({ token, placeKey }) {
  const newer = recall(placeKey);
  return newer !== null && newer !== token;
}
