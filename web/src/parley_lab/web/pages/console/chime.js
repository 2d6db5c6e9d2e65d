/** A short tone for a new alert, unless it is off. A browser plays none before the first press on the page. */

const KEPT = "parley.sound";
const OFF = "off";
const TONES_HZ = [660, 880];
const TONE_S = 0.15;
const LOUD = 0.1;

/** @type {AudioContext | null} */
let sound = null;

/** @returns {boolean} */
export function isChimeOn() {
  try {
    return localStorage.getItem(KEPT) !== OFF;
  } catch {
    return true;
  }
}

/** @param {boolean} isOn */
export function setChime(isOn) {
  try {
    if (isOn) localStorage.removeItem(KEPT);
    else localStorage.setItem(KEPT, OFF);
  } catch {
    // A browser that keeps nothing: the tone stays on.
  }
}

/** Sound once, if it is on. */
export function chime() {
  if (!isChimeOn() || !navigator.userActivation?.hasBeenActive) return;
  sound ??= new AudioContext();
  const context = sound;
  TONES_HZ.forEach((tone, index) => {
    const [from, voice, volume] = [context.currentTime + index * TONE_S, context.createOscillator(), context.createGain()];
    voice.frequency.value = tone;
    volume.gain.setValueAtTime(LOUD, from);
    volume.gain.exponentialRampToValueAtTime(0.001, from + TONE_S);
    voice.connect(volume).connect(context.destination);
    voice.start(from);
    voice.stop(from + TONE_S);
  });
}
