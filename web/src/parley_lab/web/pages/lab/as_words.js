/** Names and values of any shape in words. */
import { say } from "./words.js";

/** The name of a field, for people. @param {string} name */
export function inWords(name) {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** @param {any} value @returns {string} */
export function asWords(value) {
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value === "boolean") return say(value ? "yes" : "no");
  if (Array.isArray(value)) return value.map(asWords).join(", ");
  if (typeof value === "object") return Object.entries(value).map(([key, part]) => `${inWords(key)}: ${asWords(part)}`).join(", ");
  return String(value);
}
