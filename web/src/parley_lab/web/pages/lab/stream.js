/**
 * Server-sent events over fetch: EventSource cannot send the Authorization header. Where a network holds the stream back,
 * as some proxies and virus scanners do, the same events are asked for by requests.
 */
import { about, LONGEST_WAIT_MS } from "./api.js";

const FIRST_WAIT_MS = 500;
const LONGEST_PAUSE_MS = 8000;
/** The lab says something as soon as a stream is open, and gives a sign of life every 15 s. */
const FIRST_SIGN_MS = 4000;
const LONGEST_SILENCE_MS = 35_000;
/** How often the lab is asked while streams are held back, and how often a stream is tried meanwhile. */
const ASK_MS = 3000;
const TRY_STREAM_MS = 60_000;

/** When a stream was silent last; 0: the network holds none back. */
let heldBackAt = 0;

/**
 * Follow a stream until `stop` is called. After a cut it goes on from the last event that came, so that none is missed
 * and none comes twice. A connection that is silent for too long counts as cut.
 * @param {string} path @param {string} token @param {string} cursor
 * @param {{ onEvent: (type: string, data: any) => void, onState: (isLive: boolean) => void, onEnd: () => void }} on
 * @param {{ asked?: string }} [how] `asked`: the address of requests in place of a stream that is held back. An answer that brings no
 * events calls `onState` alone.
 * @returns {{ stop: () => void }}
 */
export function follow(path, token, cursor, on, { asked = `${path}${path.includes("?") ? "&" : "?"}wait=false` } = {}) {
  const ending = new AbortController();
  let last = cursor;
  let wait = FIRST_WAIT_MS;

  async function run() {
    while (!ending.signal.aborted) {
      const isStream = heldBackAt === 0 || performance.now() - heldBackAt > TRY_STREAM_MS;
      const end = isStream ? await connect(path, FIRST_SIGN_MS, LONGEST_SILENCE_MS) : await connect(asked, LONGEST_WAIT_MS, LONGEST_WAIT_MS);
      if (end === "over" || ending.signal.aborted) return;
      if (isStream && end === "silent") {
        // Whether the network is away, or holds the stream back, the next request shows.
        heldBackAt = performance.now();
        continue;
      }
      if (!isStream && end === "heard") {
        await pause(about(ASK_MS), ending.signal);
        continue;
      }
      heldBackAt = 0;
      on.onState(false);
      await pause(about(wait), ending.signal);
      wait = Math.min(2 * wait, LONGEST_PAUSE_MS);
    }
  }

  /**
   * One connection to the lab, until it ends. `silent`: it was there, and nothing has come for too long; `over`: the lab
   * tells the participant nothing more.
   * @param {string} address @param {number} firstMs @param {number} silenceMs
   * @returns {Promise<"heard" | "silent" | "lost" | "over">}
   */
  async function connect(address, firstMs, silenceMs) {
    const connection = new AbortController();
    let isSilent = false;
    const end = () => connection.abort();
    const fallSilent = () => {
      isSilent = true;
      end();
    };
    ending.signal.addEventListener("abort", end);
    let timer = setTimeout(fallSilent, firstMs);
    let isLive = false;
    const hear = () => {
      clearTimeout(timer);
      timer = setTimeout(fallSilent, silenceMs);
      if (isLive) return;
      isLive = true;
      wait = FIRST_WAIT_MS;
      if (address === path) heldBackAt = 0;
      on.onState(true);
    };
    try {
      const answer = await fetch(address, {
        headers: { Authorization: `Bearer ${token}`, "Last-Event-ID": last },
        signal: connection.signal,
        cache: "no-store",
      });
      if (answer.status === 401 || answer.status === 409) {
        on.onEnd();
        return "over";
      }
      // A cursor of the group before, which a cut kept the page from leaving.
      if (answer.status === 422) on.onEnd();
      if (!answer.ok || !answer.body) return "lost";
      await read(answer.body, hear);
      return isLive ? "heard" : "lost";
    } catch {
      return isSilent ? "silent" : "lost";
    } finally {
      clearTimeout(timer);
      ending.signal.removeEventListener("abort", end);
      connection.abort();
    }
  }

  /** @param {ReadableStream<BufferSource>} body @param {() => void} hear Called for each sign of life. */
  async function read(body, hear) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      hear();
      const blocks = (rest + value).split(/\r?\n\r?\n/);
      rest = blocks.pop() ?? "";
      for (const block of blocks) take(block);
    }
  }

  /** @param {string} block */
  function take(block) {
    let type = "message";
    const lines = [];
    for (const line of block.split(/\r?\n/)) {
      if (line.startsWith("id:")) last = line.slice(3).trim();
      else if (line.startsWith("event:")) type = line.slice(6).trim();
      else if (line.startsWith("data:")) lines.push(line.slice(5).trimStart());
    }
    if (lines.length > 0) on.onEvent(type, JSON.parse(lines.join("\n")));
  }

  void run();
  return { stop: () => ending.abort() };
}

/** @param {number} milliseconds @param {AbortSignal} signal */
function pause(milliseconds, signal) {
  return new Promise((wake) => {
    const timer = setTimeout(wake, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      wake(undefined);
    });
  });
}
