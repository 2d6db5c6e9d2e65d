/** The names of seats. */
import { word } from "./words.js";

/** @param {any} seat @returns {[string, string]} Its path, and how it is shown. */
export const named = ({ path, kind, player, persona }) => [path, `${path} · ${kind === "mediator" ? word(kind) : word(player)}${persona ? ` ${persona}` : ""}`];
