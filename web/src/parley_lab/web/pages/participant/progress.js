/** The way through the study: where the participant is, and the stages that lie behind them. Those to come have no names. */
import { h, html } from "../vendor/preact.js";
import { Button } from "../lab/ui.js";
import { say } from "../lab/words.js";

/** @param {{ stages: any[], current: string, shown: string | null, onShow: (stageId: string) => void }} props */
export function Progress({ stages, current, shown, onShow }) {
  const number = stages.findIndex((one) => one.id === current) + 1;
  return html`<nav aria-label=${say("your_steps")}>
      <progress value=${number} max=${stages.length} aria-label=${say("your_steps")}></progress>
      <details>
        <summary>${say("step", { number, count: stages.length })}</summary>
        <ol class="steps">${stages.filter((one) => one.state !== "locked").map((one) => html`<li key=${one.id} class=${one.state} aria-current=${one.id === current ? "step" : undefined}>
          ${one.state === "done" && one.look_back !== "none" && one.id !== shown
            ? h(Button, { kind: "link", onPress: () => onShow(one.id), children: one.title })
            : html`<span>${one.title}</span>`}
          ${" "}<span class="hint">${say(one.state === "done" ? "done" : "current")}</span>
        </li>`)}</ol>
      </details>
    </nav>`;
}

/** Above a stage that is over, when the participant looks back at it. @param {{ title: string, onBack: () => void }} props */
export function LookingBack({ title, onBack }) {
  return html`<section class="notice" role="status">
    <p>${say("looking_back", { title })}</p>
    <p class="actions">${h(Button, { kind: "quiet", onPress: onBack, children: say("back_to_now") })}</p>
  </section>`;
}
