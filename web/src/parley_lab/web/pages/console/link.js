/** The link by which people take part, and its QR code. */
import { h, html } from "../vendor/preact.js";
import { saveAs } from "./api.js";
import { qrCode } from "./qr.js";
import { Copy, Go, Press } from "./ui.js";
import { t } from "./words.js";

const MARGIN = 4;
const MODULE_PX = 12;

/** @param {{ experiment: any }} props */
export default function Link({ experiment }) {
  const address = `${location.origin}/join/${experiment.join_code}`;
  return html`<p><code class="c-source">${address}</code></p>
    <div class="c-acts">${h(Copy, { text: address, children: t("Copy the link") })}${h(Go, { to: address, isNewTab: true, children: t("Open it") })}${h(Press, { icon: "download", onPress: () => store(address, experiment.name), children: t("QR code as a picture") })}</div>
    ${h(Code, { address })}`;
}

/** @param {{ address: string }} props */
function Code({ address }) {
  const rows = qrCode(address);
  const side = rows.length + 2 * MARGIN;
  const path = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x + MARGIN} ${y + MARGIN}h1v1h-1z`] : []))).join("");
  return h("svg", { class: "c-qr", role: "img", "aria-label": t("QR code of the link"), viewBox: `0 0 ${side} ${side}` }, [h("rect", { width: side, height: side, fill: "#ffffff" }), h("path", { d: path, fill: "#000000" })]);
}

/** @param {string} address @param {string} name */
async function store(address, name) {
  const rows = qrCode(address);
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = (rows.length + 2 * MARGIN) * MODULE_PX;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.fillStyle = "#ffffff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = "#000000";
  rows.forEach((row, y) => row.forEach((isDark, x) => isDark && context.fillRect((x + MARGIN) * MODULE_PX, (y + MARGIN) * MODULE_PX, MODULE_PX, MODULE_PX)));
  const picture = await new Promise((/** @type {(blob: Blob | null) => void} */ give) => canvas.toBlob(give, "image/png"));
  if (picture) saveAs(picture, `${name}.png`);
}
