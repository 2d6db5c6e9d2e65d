/** Waiting for a group of those who are there: how long it may take, whether one is there, and that it begins. */
import { h, html, useEffect } from "../vendor/preact.js";
import { Button, callInTitle, Notice } from "../lab/ui.js";
import { say } from "../lab/words.js";
import { Check } from "./notices.js";

const MINUTE_SECONDS = 60;

/** @param {{ waiting: any, onHere: () => Promise<void> }} props `onHere`: the participant is there. */
export function GroupWait({ waiting, onHere }) {
  const isAsked = waiting.confirm_until !== null;
  useEffect(() => {
    hasWaited = true;
    if (isAsked) chime();
  }, [isAsked]);
  return html`${isAsked ? h(Check, { check: { text: say("confirm_here") }, onHere }) : null}
    ${waiting.is_passed_over
      ? html`${h(Notice, { tone: "warning", children: say("confirm_missed") })}
          <p class="actions">${h(Button, { onPress: onHere, children: say("i_am_here") })}</p>`
      : null}
    ${waiting.position === null ? null : html`<p>${[say("waiting_position", { position: waiting.position }),
        ...(waiting.wait_seconds ? [say("waiting_about", { count: Math.ceil(waiting.wait_seconds / MINUTE_SECONDS) })] : [])].join(" ")}</p>`}`;
}

/** Two tones, a second in all. A browser that lets pages make no sound before a person has pressed something stays silent. */
function chime() {
  try {
    const audio = new AudioContext();
    const volume = audio.createGain();
    volume.gain.value = 0.15;
    volume.connect(audio.destination);
    [660, 880].forEach((hertz, place) => {
      const tone = audio.createOscillator();
      tone.frequency.value = hertz;
      tone.connect(volume);
      tone.start(audio.currentTime + place * 0.35);
      tone.stop(audio.currentTime + place * 0.35 + 0.3);
    });
    setTimeout(() => void audio.close().catch(() => {}), 2000);
  } catch (error) {
    console.error(error);
  }
}

let hasWaited = false;

/**
 * Once the stage has opened for which the participant has waited, say so: with a sound, and in the title until they look.
 * @param {any} page
 */
export function tellOnceItBegins(page) {
  const begins = hasWaited && page?.state === "current";
  hasWaited = page?.state === "waiting";
  if (begins) tellThatItBegins();
}

function tellThatItBegins() {
  chime();
  if (!document.hidden) return;
  const done = callInTitle(say("it_begins"));
  addEventListener("visibilitychange", function look() {
    if (document.hidden) return;
    done();
    removeEventListener("visibilitychange", look);
  });
}
