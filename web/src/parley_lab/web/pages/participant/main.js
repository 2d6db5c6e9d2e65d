/** Taking part: the stages, the end. */
import { h } from "../vendor/preact.js";
import { recall } from "../lab/memory.js";
import { Nowhere } from "./parts.js";
import { Shell } from "./shell.js";
import { placeKey, start } from "./start.js";

const token = recall(placeKey);
start((lab) => (token === null ? h(Nowhere, {}) : h(Shell, { token, placeKey, lab })));
