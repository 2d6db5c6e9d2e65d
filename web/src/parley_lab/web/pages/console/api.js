/** Requests to the lab's REST API on behalf of one experimenter. */
import { about, fetched, isForNow, Refused, Unreachable } from "../lab/api.js";
import { heard, signIn, signedOut } from "./session.js";
import { t } from "./words.js";

const WAITS_MS = [400, 1500];
const YAML = "application/yaml";
const JSON_TYPE = "application/json";
/** Shorter texts are never too large. */
const LONG_TEXT = 200_000;

/**
 * @typedef {{ body?: unknown, type?: string, headers?: Record<string, string>, mayRepeat?: boolean }} Options
 *   `type`: what the body is, where it is no JSON; FormData says so itself.
 */

/**
 * One request; its answer, and the `ETag` of that. What only reads is tried again while the lab is away.
 * @param {string} method @param {string} path below `/v1` @param {Options} [options]
 * @returns {Promise<{ content: any, etag: string | null }>}
 */
export async function send(method, path, options = {}) {
  const { mayRepeat = method === "GET" } = options;
  for (let turn = 0; ; turn += 1) {
    const token = signIn.value?.token;
    try {
      return await once(method, path, options);
    } catch (error) {
      if (error instanceof Refused && error.status === 401) signedOut(token);
      // Nothing was done: the sign-in had ended, and there is a newer one.
      if (error instanceof Refused && error.status === 401 && signIn.value && signIn.value.token !== token) continue;
      const isLimited = error instanceof Refused && error.status === 429;
      if (!isForNow(error) || isLimited || !mayRepeat || turn >= WAITS_MS.length) throw error;
      await new Promise((wake) => setTimeout(wake, about(WAITS_MS[turn])));
    }
  }
}

/** @param {string} method @param {string} path @param {Options} options */
async function once(method, path, { body, type, headers = {} }) {
  const { answer, text } = await fetched(`/v1${path}`, { method, headers: { ...withToken(), ...typed(body, type), ...headers }, body: packed(body, type), cache: "no-store" }).catch((error) => {
    throw new Unreachable(t("The lab cannot be reached."), { cause: error });
  });
  const isJson = (answer.headers.get("Content-Type") ?? "").includes("json");
  const content = isJson && text !== "" ? JSON.parse(text) : text;
  if (answer.ok) heard();
  if (!answer.ok) throw new Refused(answer.status, isJson ? content : {}, Number(answer.headers.get("Retry-After")) || 0);
  return { content, etag: answer.headers.get("ETag") };
}

/** @returns {Record<string, string>} */
const withToken = () => (signIn.value === null ? {} : { Authorization: `Bearer ${signIn.value.token}` });

/** @param {unknown} body @param {string} [type] @returns {Record<string, string>} */
function typed(body, type) {
  if (body === undefined || body instanceof FormData) return {};
  return { "Content-Type": type ?? JSON_TYPE };
}

/** @param {any} body @param {string} [type] @returns {BodyInit | undefined} */
const packed = (body, type) => (body === undefined || body instanceof FormData || type !== undefined ? body : JSON.stringify(body));

/** @param {string} path @returns {Promise<any>} */
export const get = async (path) => (await send("GET", path)).content;
/** @param {string} path @param {unknown} [body] @param {string} [key] The lab does the request once however often it comes with this key. @returns {Promise<any>} */
export const post = async (path, body, key) => (await send("POST", path, key === undefined ? { body } : { body, headers: { "Idempotency-Key": key }, mayRepeat: true })).content;

/** A request whose body is the text of an experiment file, with the tables and pictures beside it, if any. @param {string} method @param {string} path @param {string} text @param {Record<string, string>} [headers] @param {File[]} [files] */
export async function sendFile(method, path, text, headers, files = []) {
  const type = isJson(text) ? JSON_TYPE : YAML;
  if (text.length > LONG_TEXT) await requireBody(new Blob([text]).size, t("The text"));
  if (files.length === 0) return await send(method, path, { body: text, type, headers });
  await requireSizes(files);
  const form = new FormData();
  form.append("experiment", new Blob([text], { type }), isJson(text) ? "experiment.json" : "experiment.yaml");
  for (const file of files) form.append("file", file, file.name);
  return await send(method, path, { body: form, headers });
}

/** Say that the body of a request is too large before it is sent. @param {number} size in bytes @param {string} name */
export async function requireBody(size, name) {
  const { limits } = await get("/whoami");
  if (size > limits.body_bytes) throw new Error(t("{name} is too large: it has {size} MB, and a file may have {most} MB.", { name, ...inMegabytes(size, limits.body_bytes) }));
}

/** A request whose body is the text of a file as it is. @param {string} method @param {string} path @param {File} file */
export const sendText = async (method, path, file) => await send(method, path, { body: await file.text(), type: /json$/i.test(file.name) ? JSON_TYPE : YAML });

/** Say that a file is too large before it is sent: the lab ends the connection over it. @param {File[]} files */
async function requireSizes(files) {
  const { limits } = await get("/whoami");
  const large = files.find((one) => one.size > limits.file_bytes);
  if (large) throw new Error(t("{name} is too large: it has {size} MB, and a file may have {most} MB.", { name: large.name, ...inMegabytes(large.size, limits.file_bytes) }));
  requireTogether(files, limits.files_bytes);
}

/** The same of an archive, which has all files of an experiment. @param {File} archive */
export async function requireSize(archive) {
  const { limits } = await get("/whoami");
  requireTogether([archive], limits.files_bytes);
}

/** @param {File[]} files @param {number} most */
function requireTogether(files, most) {
  const size = files.reduce((sum, one) => sum + one.size, 0);
  if (size > most) throw new Error(t("The files are too large: they have {size} MB, and those of an experiment may have {most} MB.", inMegabytes(size, most)));
}

/** @param {number} size @param {number} most */
const inMegabytes = (size, most) => ({ size: (size / 1_048_576).toFixed(1), most: (most / 1_048_576).toFixed(0) });

/** @param {string} text */
const isJson = (text) => text.trimStart().startsWith("{");

const MOST_ITEMS = 1000;

/** So many of a list, and whether there are more. @param {string} path @param {string} name of the list in the answer @param {number} most @returns {Promise<{ found: any[], hasMore: boolean }>} */
export async function some(path, name, most) {
  const found = [];
  let [after, before] = [null, null];
  do {
    const rest = query({ limit: Math.min(MOST_ITEMS, most - found.length), after, before });
    const page = await get(path.includes("?") ? `${path}&${rest.slice(1)}` : path + rest);
    found.push(...page[name]);
    [after, before] = [page.next_after ?? null, page.next_before ?? null];
  } while ((after ?? before) !== null && found.length < most);
  return { found, hasMore: (after ?? before) !== null };
}

/** Every page of a list. @param {string} path @param {string} name of the list in the answer @param {number} [most] @returns {Promise<any[]>} */
export async function all(path, name, most = 20_000) {
  const found = [];
  let after = null;
  do {
    const page = await get(path + (after === null ? "" : `${path.includes("?") ? "&" : "?"}after=${encodeURIComponent(after)}`));
    found.push(...page[name]);
    after = page.next_after;
  } while (after !== null && after !== undefined && found.length < most);
  return found;
}

/** A file of the lab. @param {string} path @returns {Promise<Blob>} */
export async function fileOf(path) {
  const token = signIn.value?.token;
  const answer = await fetch(`/v1${path}`, { headers: withToken(), cache: "no-store" });
  if (answer.status === 401) signedOut(token);
  if (!answer.ok) throw new Refused(answer.status, await answer.json().catch(() => ({})));
  return await answer.blob();
}

/** Store a file of the lab on the experimenter's disk. @param {string} path @param {string} name */
export const download = async (path, name) => saveAs(await fileOf(path), name);

/** @param {Blob} content @param {string} name */
export function saveAs(content, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Only what has a value. @param {Record<string, string | number | boolean | null | undefined>} values */
export function query(values) {
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return given.length ? `?${new URLSearchParams(given.map(([key, value]) => [key, String(value)]))}` : "";
}

/** Whether there is no such thing, or it is another's. @param {unknown} error */
export const isMissing = (error) => error instanceof Refused && error.status === 404;

/** What went wrong, for a reader. @param {unknown} error */
export function inWords(error) {
  if (error instanceof Refused && error.status === 429) return t("Too many requests. Try again in {count} second.|Too many requests. Try again in {count} seconds.", { count: Math.ceil(error.waitMs / 1000) || 1 });
  return error instanceof Error ? error.message : String(error);
}
