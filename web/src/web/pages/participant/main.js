/** Taking part: the stages, the end. */
import { h } from "../vendor/preact.js";
import { recall } from "../lab/memory.js";
import { Nowhere } from "./parts.js";
import { Shell } from "./shell.js";
import { start } from "./start.js";

const token = recall("parley.token");
start((lab) => (token === null ? h(Nowhere, {}) : h(Shell, { token, lab })));
