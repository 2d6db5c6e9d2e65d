/** The data: all files to take home, and how a program reads them. */
import { h, html } from "../vendor/preact.js";
import { download } from "./api.js";
import { act } from "./confirm.js";
import { Copy, Press } from "./ui.js";
import { t } from "./words.js";

const IN_PYTHON = `import pandas as pd

answers = pd.read_csv(
    "answers.csv", keep_default_na=False, na_values=[""]
)`;
const IN_R = `answers <- readr::read_csv("answers.csv", na = "")`;

/** @param {import("./experiment.js").PageProps} props */
export default function Data({ id, experiment }) {
  const take = (/** @type {string} */ format) => act(() => download(`/experiments/${id}/export${format ? `?format=${format}` : ""}`, `${experiment.name}${format ? `-${format}` : ""}.zip`), t("The file is stored."));
  return html`<section class="c-card"><h2>${t("Take home")}</h2><div class="c-acts">
      ${h(Press, { kind: "primary", icon: "download", onPress: () => take(""), children: t("All data (CSV and JSON)") })}
      ${h(Press, { icon: "download", onPress: () => take("csv"), children: t("CSV only") })}${h(Press, { icon: "download", onPress: () => take("json"), children: t("JSON only") })}</div></section>
    ${h(Code, { title: t("In Python"), code: IN_PYTHON })}${h(Code, { title: t("In R"), code: IN_R })}`;
}

/** @param {{ title: string, code: string }} props */
const Code = ({ title, code }) => html`<section class="c-card"><h2>${title}</h2><pre class="c-raw" tabindex="0" aria-label=${title}>${code}</pre>${h(Copy, { text: code, children: t("Copy") })}</section>`;
