/** One tab of a browser takes part at a time: the newest, or the one in which the participant goes on. */
import { newId } from "../lab/api.js";
import { handOver } from "../lab/saving.js";

const LONGEST_WAIT_MS = 1500;

/** @typedef {{ at: number, id: string }} Claim The latest one counts; of two at the same time the greater id. */

/**
 * Be the tab that takes part, and hear of it when another one is. A tab that is replaced leaves what was entered there to
 * the other one, which waits for that (`whenFree`) before it reads what was entered; where it did not wait, it hears of it
 * by `onYielded`.
 * @param {string} placeKey What the tabs of one study have in common.
 * @param {{ onActive: (isActive: boolean) => void, onYielded: () => void }} on
 * @returns {{ take: () => void, whenFree: () => Promise<void> }}
 */
export function takePart(placeKey, { onActive, onYielded }) {
  if (!("BroadcastChannel" in window)) return { take() {}, whenFree: async () => {} };
  const channel = new BroadcastChannel(placeKey);
  let [isOne, isFree] = [false, false];
  /** @type {Claim} */
  let newest = { at: 0, id: "" };
  // While another tab leaves: what ends the wait for it, once this tab waits.
  let leaving = { isGoingOn: false, end: /** @type {(() => void) | null} */ (null) };

  function claim() {
    newest = { at: Math.max(Date.now(), newest.at + 1), id: newId() };
    become(true);
    channel.postMessage({ claim: newest });
  }

  /** @param {boolean} now */
  function become(now) {
    isOne = now;
    isFree = false;
    onActive(now);
  }

  /** @param {Claim} other */
  async function yieldTo(other) {
    // Two tabs that begin at the same time do not both yield.
    if (isLater(newest, other)) return isOne ? channel.postMessage({ claim: newest }) : undefined;
    newest = other;
    if (!isOne) return;
    become(false);
    channel.postMessage({ leaving: other.id });
    await handOver();
    channel.postMessage({ yielded: other.id });
  }

  function hearYield() {
    const { end } = leaving;
    leaving = { isGoingOn: false, end: null };
    (end ?? onYielded)();
  }

  async function whenFree() {
    if (!leaving.isGoingOn) return;
    await new Promise((end) => {
      leaving.end = () => end(undefined);
      setTimeout(end, LONGEST_WAIT_MS);
    });
  }

  channel.onmessage = ({ data }) => {
    if (data.claim) void yieldTo(data.claim);
    else if (data.leaving === newest.id) leaving = { isGoingOn: true, end: null };
    else if (data.yielded === newest.id && isOne) hearYield();
    else if (data.gone && !isOne) document.hidden ? (isFree = true) : claim();
  };
  const onVisibility = () => void (isFree && !document.hidden && claim());
  const leave = () => void (isOne && channel.postMessage({ gone: true }));
  const comeBack = (/** @type {PageTransitionEvent} */ event) => void (event.persisted && claim());
  document.addEventListener("visibilitychange", onVisibility);
  addEventListener("pagehide", leave);
  addEventListener("pageshow", comeBack);
  claim();
  return { take: claim, whenFree };
}

/** @param {Claim} one @param {Claim} other */
const isLater = (one, other) => one.at > other.at || (one.at === other.at && one.id > other.id);
