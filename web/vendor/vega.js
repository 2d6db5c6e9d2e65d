// What the console draws charts with: a compiler of Vega-Lite, and Vega with an interpreter in place of `Function`.
export { compile } from "vega-lite";
export { parse, View } from "vega";
export { expressionInterpreter } from "./node_modules/vega-interpreter/index.js";
