/** Requests to the lab's REST API on behalf of one participant. */

/**
 * What the lab answers when it refuses: problem details of RFC 9457.
 * @typedef {{ where: string, found: string, expected: string, wrong?: string, hint?: string, code?: string,
 *   params?: Record<string, any> }} ProblemItem
 */

export class Refused extends Error {
  /**
   * @param {number} status
   * @param {{ detail?: string, code?: string, reason?: string, params?: Record<string, any>, problems?: ProblemItem[] }} body
   * @param {number} [seconds] What `Retry-After` says; the lab says it in its answer, too.
   */
  constructor(status, body, seconds = 0) {
    super(body.detail ?? `HTTP ${status}`);
    this.status = status;
    this.code = body.code ?? "";
    this.reason = body.reason ?? "";
    /** @type {Record<string, any>} */
    this.params = { count: body.params?.seconds, ...body.params };
    if (status === 429 && body.params === undefined && seconds > 0) this.params = { count: seconds, seconds };
    /** @type {ProblemItem[]} */
    this.problems = body.problems ?? [];
    this.waitMs = 1000 * (body.params?.seconds ?? seconds);
  }
}

/** The lab did not answer: the network is away, or the lab is. */
export class Unreachable extends Error {}

const WAITS_MS = [300, 1000, 3000];
/** What has not begun to come by then is lost. */
export const LONGEST_WAIT_MS = 20_000;
const LONGEST_ANSWER_MS = 60_000;
const LATER = new Set([408, 429, 500, 502, 503, 504]);

/** Whether the same request may be taken later: nothing is wrong with it, as far as one can know. @param {unknown} error */
export const isForNow = (error) => error instanceof Unreachable || (error instanceof Refused && LATER.has(error.status));

/** Whether another player has the place of the participant by now. @param {unknown} error @returns {error is Refused} */
export const isTaken = (error) => error instanceof Refused && error.reason === "place_taken";

/** Whether an attention check has to be answered first. @param {unknown} error */
export const isOfCheck = (error) => error instanceof Refused && error.reason === "attention_check";

/** How long to wait before the same request at least. @param {unknown} error @param {number} least in milliseconds */
export const waitAfter = (error, least) => Math.max(least, error instanceof Refused ? error.waitMs : 0);

/** A wait of about this length: those who were cut off together do not come back at once. @param {number} milliseconds */
export const about = (milliseconds) => milliseconds * (0.5 + Math.random());

/**
 * One request. What may be repeated without harm is tried again while the lab does not answer.
 * @param {string} method @param {string} path
 * @param {{ token?: string | null, body?: unknown, mayRepeat?: boolean, key?: string }} [options] `key`: the lab does the
 *   request once however often it comes with this key.
 * @returns {Promise<any>}
 */
export async function request(method, path, { token = null, body, mayRepeat = true, key } = {}) {
  for (let turn = 0; ; turn += 1) {
    try {
      return await once(method, path, token, body, key);
    } catch (error) {
      const isAway = isForNow(error) && !(error instanceof Refused && error.status === 429);
      if (!isAway || !mayRepeat || turn >= WAITS_MS.length) throw error;
      await new Promise((wake) => setTimeout(wake, WAITS_MS[turn]));
    }
  }
}

/** @param {string} method @param {string} path @param {string | null} token @param {unknown} body @param {string} [key] */
async function once(method, path, token, body, key) {
  /** @type {Record<string, string>} */
  const headers = {};
  if (token !== null) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key !== undefined) headers["Idempotency-Key"] = key;
  const sent = { method, headers, body: body === undefined ? undefined : JSON.stringify(body) };
  const { answer, text } = await fetched(path, sent).catch((error) => {
    throw new Unreachable("The lab cannot be reached.", { cause: error });
  });
  const content = answer.status === 204 ? null : parsed(text);
  if (!answer.ok) throw new Refused(answer.status, content ?? {}, Number(answer.headers.get("Retry-After")) || 0);
  if (content === undefined) throw new Unreachable("The answer is not the lab's, but that of a network which wants a log-in, for example.");
  return content;
}

/** What an address answers, with its text; it fails where that does not come in time. @param {string} address @param {RequestInit} [options] */
export async function fetched(address, options = {}) {
  const ending = new AbortController();
  const within = (/** @type {number} */ milliseconds) => setTimeout(() => ending.abort(), milliseconds);
  let timer = within(LONGEST_WAIT_MS);
  try {
    const answer = await fetch(address, { ...options, signal: ending.signal });
    clearTimeout(timer);
    timer = within(LONGEST_ANSWER_MS);
    return { answer, text: await answer.text() };
  } finally {
    clearTimeout(timer);
  }
}

/** @param {string} text @returns {any} undefined: it is no JSON. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A new id. `crypto.randomUUID` is missing where a page comes over plain HTTP from another machine. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
