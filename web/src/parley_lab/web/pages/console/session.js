/** The sign-in of this browser: kept by each tab for itself, handed to new tabs, over in all tabs at once. */
import { fetched, Refused, Unreachable } from "../lab/api.js";
import { signal } from "../vendor/preact.js";

const KEPT = "parley.sign-in";
const LONGEST_ANSWER_MS = 250;

/**
 * @typedef {{ token: string, experimenter: string, scopes: string[], expires_at: string, begun_at: string, idle_seconds: number, skew?: number }} SignIn
 *   `skew`: by how much the clock of the browser was ahead of the lab's, in milliseconds.
 */

/** The sign-in of this tab; null without one. @type {import("@preact/signals").Signal<SignIn | null>} */
export const signIn = signal(null);
/** Whether a sign-in has ended under a page that is open: the page stays, and asks to sign in again. */
export const isOver = signal(false);

/** So long before a sign-in ends, the page says so. */
const SAID_BEFORE_MS = 15 * 60_000;
const LOOKED_MS = 20_000;

/** Since when the lab has heard nothing of this tab. */
let askedAt = Date.now();
/** When the sign-in ends, once that is soon; `isIdle`: a request is enough to keep it. @type {import("@preact/signals").Signal<{ at: number, isIdle: boolean } | null>} */
export const endsSoon = signal(null);

/** The lab has answered a request with the sign-in. */
export function heard() {
  askedAt = Date.now();
  look();
}

/** Look whether the sign-in ends soon. */
function look() {
  const own = signIn.value;
  const last = Date.parse(own?.expires_at ?? "") + (own?.skew ?? 0);
  const idle = askedAt + (own?.idle_seconds ?? Infinity) * 1000;
  const at = Math.min(last, idle);
  const isSoon = own !== null && !isOver.value && at - Date.now() < SAID_BEFORE_MS;
  if (isSoon !== (endsSoon.value !== null) || (isSoon && endsSoon.value?.at !== at)) endsSoon.value = isSoon ? { at, isIdle: idle < last } : null;
}
setInterval(look, LOOKED_MS);

const channel = "BroadcastChannel" in window ? new BroadcastChannel(KEPT) : null;
if (channel !== null) channel.onmessage = ({ data }) => hear(data);

/** @type {((given: SignIn) => void) | null} */
let waiting = null;

/** @param {{ ask?: true, given?: SignIn, out?: true }} told by another tab */
function hear({ ask, given, out }) {
  if (ask && signIn.value !== null && !isOver.value) channel?.postMessage({ given: signIn.value });
  if (given && waiting !== null) waiting(given);
  else if (given && follows(given)) keep(given);
  if (out) forget();
}

/** Whether this tab goes on with the sign-in of another tab: its own is over or older. @param {SignIn} given */
function follows(given) {
  const own = signIn.value;
  return own !== null && own.experimenter === given.experimenter && (isOver.value || Date.parse(given.begun_at) > Date.parse(own.begun_at));
}

/** The sign-in that this tab has kept, or that another tab hands over. @returns {Promise<SignIn | null>} */
export async function found() {
  const kept = remembered();
  if (kept !== null || channel === null) return kept;
  const given = new Promise((take) => (waiting = take));
  channel.postMessage({ ask: true });
  const late = new Promise((give) => setTimeout(give, LONGEST_ANSWER_MS, null));
  const result = /** @type {SignIn | null} */ (await Promise.race([given, late]));
  waiting = null;
  return result;
}

/** @returns {SignIn | null} */
function remembered() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
  } catch {
    return null;
  }
}

/** Sign this tab in. @param {SignIn} given */
export function keep(given) {
  signIn.value = given;
  isOver.value = false;
  heard();
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(given));
  } catch {
    // A browser that keeps nothing: the sign-in ends with the page.
  }
}

/** Sign this tab in anew, and all others of the same experimenter. @param {SignIn} given */
export function keepAnew(given) {
  keep(given);
  channel?.postMessage({ given });
}

function forget() {
  signIn.value = null;
  isOver.value = false;
  try {
    sessionStorage.removeItem(KEPT);
  } catch {
    // Nothing was kept.
  }
}

/** The lab does not know a sign-in any more; another one may have followed it since. @param {string | undefined} token */
export function signedOut(token) {
  if (signIn.value !== null && signIn.value.token === token) isOver.value = true;
}

/** A sign-in for a one-time code or a key, which is not kept. @param {{ code: string } | { key: string }} by @returns {Promise<SignIn>} */
export async function begin(by) {
  const given = await ("code" in by ? ask("POST", "/v1/sign-ins", { body: JSON.stringify(by) }) : ask("POST", "/v1/sign-ins", { token: by.key }));
  return { ...given, skew: Date.now() - Date.parse(given.begun_at) };
}

/** End a sign-in at the lab. @param {SignIn} given */
export const end = (given) => ask("DELETE", "/v1/sign-ins/current", { token: given.token });

/** Sign out: here, at the lab, and in all tabs. */
export async function signOut() {
  const ended = signIn.value;
  forget();
  channel?.postMessage({ out: true });
  if (ended !== null) await end(ended).catch(() => undefined);
}

/** @param {string} method @param {string} path @param {{ body?: string, token?: string }} options @returns {Promise<any>} */
async function ask(method, path, { body, token }) {
  /** @type {Record<string, string>} */
  const headers = { "Content-Type": "application/json" };
  if (token !== undefined) headers.Authorization = `Bearer ${token}`;
  const { answer, text } = await fetched(path, { method, headers, body }).catch((error) => {
    throw new Unreachable("The lab cannot be reached.", { cause: error });
  });
  const content = text === "" ? null : JSON.parse(text);
  if (!answer.ok) throw new Refused(answer.status, content ?? {}, Number(answer.headers.get("Retry-After")) || 0);
  return content;
}
