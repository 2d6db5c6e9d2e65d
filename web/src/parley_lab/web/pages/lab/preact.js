/** The library that pages are written with, under the name that kinds import. */
export * from "../vendor/preact.js";
