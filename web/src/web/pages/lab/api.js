/** Requests to the lab's REST API on behalf of one participant. */

/**
 * What the lab answers when it refuses: problem details of RFC 9457.
 * @typedef {{ where: string, found: string, expected: string, wrong?: string, hint?: string, code?: string,
 *   params?: Record<string, any> }} ProblemItem
 */

export class Refused extends Error {
  /** @param {number} status @param {{ detail?: string, code?: string, reason?: string, params?: Record<string, any>, problems?: ProblemItem[] }} body */
  constructor(status, body) {
    super(body.detail ?? `HTTP ${status}`);
    this.status = status;
    this.code = body.code ?? "";
    this.reason = body.reason ?? "";
    /** @type {Record<string, any>} */
    this.params = { count: body.params?.seconds, ...body.params };
    /** @type {ProblemItem[]} */
    this.problems = body.problems ?? [];
  }
}

/** The lab did not answer: the network is away, or the lab is. */
export class Unreachable extends Error {}

const WAITS_MS = [300, 1000, 3000];

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
      const isAway = error instanceof Unreachable || (error instanceof Refused && error.status === 503);
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
  let answer;
  try {
    answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    throw new Unreachable("The lab cannot be reached.", { cause: error });
  }
  const text = await answer.text();
  const content = text === "" ? null : parsed(text);
  if (!answer.ok) throw new Refused(answer.status, content ?? {});
  return content;
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A new id. `crypto.randomUUID` is missing where a page comes over plain HTTP from another machine. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
