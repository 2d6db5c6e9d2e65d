/** Small pictures, drawn as lines. Paths are those of Lucide (ISC licence). */
import { h } from "../vendor/preact.js";

/** @type {Record<string, string[]>} */
const PATHS = {
  search: ["M21 21l-4.3-4.3", "M19 11a8 8 0 1 1-16 0 8 8 0 0 1 16 0"],
  play: ["M6 3l14 9-14 9z"],
  pause: ["M6 4h4v16H6z", "M14 4h4v16h-4z"],
  stop: ["M5 5h14v14H5z"],
  copy: ["M9 9h12v12H9z", "M5 15H3V3h12v2"],
  close: ["M18 6L6 18", "M6 6l12 12"],
  check: ["M20 6L9 17l-5-5"],
  bell: ["M6 8a6 6 0 0 1 12 0c0 7 3 9 3 9H3s3-2 3-9", "M10.3 21a2 2 0 0 0 3.4 0"],
  clock: ["M22 12a10 10 0 1 1-20 0 10 10 0 0 1 20 0", "M12 6v6l4 2"],
  download: ["M21 15v4a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2v-4", "M7 10l5 5 5-5", "M12 15V3"],
  upload: ["M21 15v4a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2v-4", "M17 8l-5-5-5 5", "M12 3v12"],
  message: ["M21 15a2 2 0 0 1-2 2H7l-4 4V5a2 2 0 0 1 2-2h14a2 2 0 0 1 2 2z"],
  eye: ["M2 12s3-7 10-7 10 7 10 7-3 7-10 7-10-7-10-7z", "M15 12a3 3 0 1 1-6 0 3 3 0 0 1 6 0"],
  arrow: ["M5 12h14", "M12 5l7 7-7 7"],
  trash: ["M3 6h18", "M19 6l-1 14H6L5 6", "M8 6V4h8v2"],
  lock: ["M5 11h14v10H5z", "M8 11V7a4 4 0 0 1 8 0v4"],
  plus: ["M12 5v14", "M5 12h14"],
  link: ["M10 13a5 5 0 0 0 7 0l3-3a5 5 0 0 0-7-7l-1.5 1.5", "M14 11a5 5 0 0 0-7 0l-3 3a5 5 0 0 0 7 7l1.5-1.5"],
  step: ["M5 4l10 8-10 8z", "M19 5v14"],
  back: ["M19 4L9 12l10 8z", "M5 5v14"],
  alert: ["M12 3L2 21h20z", "M12 10v4", "M12 17.5v.5"],
  list: ["M8 6h13", "M8 12h13", "M8 18h13", "M3 6h.01", "M3 12h.01", "M3 18h.01"],
  grid: ["M3 3h8v8H3z", "M13 3h8v8h-8z", "M3 13h8v8H3z", "M13 13h8v8h-8z"],
  coin: ["M22 12a10 10 0 1 1-20 0 10 10 0 0 1 20 0", "M15 8.5a3.5 3.5 0 1 0 0 7"],
  file: ["M14 2H6v20h12V6z", "M14 2v4h4"],
};

/** @param {{ name: string }} props */
export function Icon({ name }) {
  return h(
    "svg",
    { class: "c-icon", viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" },
    PATHS[name].map((d) => h("path", { d })),
  );
}

/** A circle and a square side by side: people and agents. */
export function Mark() {
  return h("svg", { class: "c-mark", viewBox: "0 0 32 20", "aria-hidden": "true", focusable: "false" }, [
    h("rect", { class: "c-agent", x: 14, y: 2, width: 16, height: 16, rx: 3 }),
    h("circle", { class: "c-person", cx: 10, cy: 10, r: 8 }),
  ]);
}
