/** Server-sent events over fetch: EventSource cannot send the Authorization header. */
import { about, LONGEST_WAIT_MS } from "./api.js";

const FIRST_WAIT_MS = 500;
const LONGEST_PAUSE_MS = 8000;
/** The lab gives a sign of life every 15 s. */
const LONGEST_SILENCE_MS = 45_000;

/**
 * Follow a stream until `stop` is called. After a cut it goes on from the last event that came, so that none is missed
 * and none comes twice. A connection that is silent for too long counts as cut.
 * @param {string} path @param {string} token @param {string} cursor
 * @param {{ onEvent: (type: string, data: any) => void, onState: (isLive: boolean) => void, onEnd: () => void }} on
 * @returns {{ stop: () => void }}
 */
export function follow(path, token, cursor, on) {
  const ending = new AbortController();
  let last = cursor;
  let wait = FIRST_WAIT_MS;

  async function run() {
    while (!ending.signal.aborted) {
      const connection = new AbortController();
      const end = () => connection.abort();
      ending.signal.addEventListener("abort", end);
      let timer = setTimeout(end, LONGEST_WAIT_MS);
      const hear = () => {
        clearTimeout(timer);
        timer = setTimeout(end, LONGEST_SILENCE_MS);
      };
      try {
        const answer = await fetch(path, {
          headers: { Authorization: `Bearer ${token}`, "Last-Event-ID": last },
          signal: connection.signal,
          cache: "no-store",
        });
        if (answer.status === 401 || answer.status === 409) {
          on.onEnd();
          return;
        }
        // A cursor of the group before, which a cut kept the page from leaving.
        if (answer.status === 422) on.onEnd();
        if (answer.ok && answer.body) {
          wait = FIRST_WAIT_MS;
          on.onState(true);
          await read(answer.body, hear);
        }
      } catch {
        if (ending.signal.aborted) return;
      } finally {
        clearTimeout(timer);
        ending.signal.removeEventListener("abort", end);
        connection.abort();
      }
      if (ending.signal.aborted) return;
      on.onState(false);
      await pause(about(wait), ending.signal);
      wait = Math.min(2 * wait, LONGEST_PAUSE_MS);
    }
  }

  /** @param {ReadableStream<BufferSource>} body @param {() => void} hear Called for each sign of life. */
  async function read(body, hear) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      hear();
      const { done, value } = await reader.read();
      if (done) return;
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
