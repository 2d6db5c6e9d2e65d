/** Charts as SVG; a table with the same numbers belongs beside each. */
import { html } from "../vendor/preact.js";

const WIDTH = 320;
const HEIGHT = 120;

/** A line through numbers, with its first and last name and its bounds. @param {{ label: string, values: number[], names: string[] }} props */
export function Line({ label, values, names }) {
  if (values.length < 2) return null;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const x = (/** @type {number} */ index) => (index / (values.length - 1)) * WIDTH;
  const y = (/** @type {number} */ value) => HEIGHT - ((value - low) / (high - low || 1)) * HEIGHT;
  const points = values.map((value, index) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  return html`<figure class="chart">
    <div class="ends"><span>${high}</span></div>
    <svg viewBox=${`0 -4 ${WIDTH} ${HEIGHT + 8}`} preserveAspectRatio="none" role="img" aria-label=${label}><polyline points=${points} /></svg>
    <div class="ends"><span>${low}</span></div>
    <div class="ends"><span>${names[0]}</span><span>${names[names.length - 1]}</span></div>
  </figure>`;
}
