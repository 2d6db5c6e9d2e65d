/** Two prompts of one stage, of two arms or two seats, with the lines that only one of them has. */
import { h, html } from "../vendor/preact.js";
import { diff } from "./diff.js";
import { textOf } from "./prompt.js";
import { named } from "./seats.js";
import { Choice, Loaded, Press, useLoaded } from "./ui.js";
import { t } from "./words.js";

/** So many equal lines stay around a difference; the others are counted. */
const AROUND = 3;

/** @typedef {{ treatment: string, seat: string }} Other The second prompt; empty: the first arm or seat. */

/**
 * @param {{ stage: string, found: any, other: Other, load: (place: { stage: string } & Other) => Promise<any>, onChoose: (other: Other | null) => void }} props
 *   `found`: what is seen already; `onChoose(null)` ends the comparison.
 */
export function Compare({ stage, found, other, load, onChoose }) {
  const loaded = useLoaded(() => load({ stage, ...other }), [stage, other.treatment, other.seat]);
  return html`<section class="c-card c-compare" aria-label=${t("Compare prompts")}><h2>${t("Compare prompts")}</h2>
    ${h(Loaded, { of: loaded, show: (second) => html`<div class="c-filters">
      ${second.treatments.length ? h(Choice, { label: t("other arm"), isHidden: false, value: second.treatment_id ?? "", options: second.treatments.map((/** @type {string} */ one) => [one, one]), onChoose: (treatment) => onChoose({ treatment, seat: "" }) }) : null}
      ${h(Choice, { label: t("other seat"), isHidden: false, value: second.seat, options: second.seats.map(named), onChoose: (seat) => onChoose({ treatment: other.treatment, seat }) })}
      ${h(Press, { kind: "bare", icon: "close", onPress: () => onChoose(null), children: t("Close the comparison") })}</div>
      ${found.prompt && second.prompt ? h(Difference, { left: found, right: second }) : html`<p class="notice">${found.why_no_prompt || second.why_no_prompt}</p>`}` })}</section>`;
}

/** @param {any} seen */
const placeOf = ({ treatment_id: treatment, seat }) => [treatment, seat].filter(Boolean).join(" · ");

/** @param {{ left: any, right: any }} props */
function Difference({ left, right }) {
  const places = { left: placeOf(left), right: placeOf(right) };
  return h(Differing, { left: textOf(left.prompt), right: textOf(right.prompt), title: t("Prompts of {left} and {right}", places), same: t("The two prompts are the same."), said: t("Lines with − are in the prompt of {left} alone, lines with + in that of {right}.", places) });
}

/** Two texts line by line. @param {{ left: string, right: string, title: string, said: string, same: string }} props `said`: whose lines are which. `same`: where there is no difference. */
export function Differing({ left, right, title, said, same }) {
  const found = diff(left, right);
  if (found.every((one) => one.kind === "same")) return html`<p>${same}</p>`;
  return html`<p class="c-small">${said}</p>
    <div class="c-raw c-diff" role="region" tabindex="0" aria-label=${title}>${folded(found).map((one) => (one.count ? html`<p class="c-small">${t("{count} equal line|{count} equal lines", { count: one.count })}</p>` : h(Line, { line: one })))}</div>`;
}

/** @param {{ line: import("./diff.js").Line }} props */
function Line({ line: { kind, text } }) {
  if (kind === "left") return html`<del><span aria-hidden="true">− </span>${text || " "}</del>`;
  if (kind === "right") return html`<ins><span aria-hidden="true">+ </span>${text || " "}</ins>`;
  return html`<div>${`  ${text}`}</div>`;
}

/** Leave out equal lines that are far from a difference; `count`: how many are not there. @param {import("./diff.js").Line[]} lines @returns {(import("./diff.js").Line & { count?: number })[]} */
function folded(lines) {
  const isNear = lines.map((_, at) => lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some((one) => one.kind !== "same"));
  /** @type {(import("./diff.js").Line & { count?: number })[]} */
  const found = [];
  lines.forEach((line, at) => {
    const last = found.at(-1);
    if (isNear[at]) found.push(line);
    else if (last?.count) last.count += 1;
    else found.push({ kind: "same", text: "", count: 1 });
  });
  return found;
}
