/** What happens in the lab, as it happens. */
import { follow } from "../lab/stream.js";
import { effect, signal } from "../vendor/preact.js";
import { signedOut, signIn } from "./session.js";

/** Whether the connection to the lab is lost. */
export const lost = signal(false);

/** A tab that is hidden for so long closes its stream: a browser opens six connections to a host. */
const HIDDEN_MS = 60_000;
/** Until an experiment is read again once its stream is open. */
const READ_AGAIN_MS = 2000;

/** The stream of all experiments. Its events cannot be asked for, since it has no cursors: while a network holds it back, `onLive` reads again. */
const ALL = "/stream";
const ASKED = "/v1/experiments?limit=1";

/**
 * Follow a stream from a cursor, until the answer is called. A tab that comes back after a hidden minute begins with `onBack`, which
 * gives the cursor to go on from; so does one that is signed in anew.
 * @param {string} path below `/v1` @param {string} cursor empty: from now on
 * @param {{ onEvent: (type: string, event: any) => void, onBack: () => Promise<string>, onLive?: () => void }} on
 * @returns {() => void}
 */
export function listen(path, cursor, on) {
  let following = begin(cursor);
  let isClosed = false;
  let timer = 0;
  let turn = 0;

  /** @param {string} from */
  function begin(from) {
    const token = signIn.value?.token ?? "";
    return follow(`/v1${path}`, token, from, {
      onEvent: on.onEvent,
      onState: (isLive) => {
        lost.value = !isLive;
        if (isLive) on.onLive?.();
      },
      onEnd: () => signedOut(token),
    }, path === ALL ? { asked: ASKED } : {});
  }

  async function look() {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(close, HIDDEN_MS);
    else if (isClosed) {
      isClosed = false;
      await restart();
    }
  }

  async function restart() {
    following.stop();
    const mine = (turn += 1);
    const from = await on.onBack();
    if (mine === turn && !isClosed) following = begin(from);
  }

  function close() {
    isClosed = true;
    following.stop();
  }

  let before = signIn.peek()?.token;
  const ignoreSignIns = effect(() => {
    const token = signIn.value?.token;
    if (token === before || token === undefined) return;
    before = token;
    if (!isClosed) queueMicrotask(restart);
  });

  const onVisible = () => void look();
  document.addEventListener("visibilitychange", onVisible);
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", onVisible);
    ignoreSignIns();
    close();
    lost.value = false;
  };
}

/**
 * Hear of the state of one experiment, and each time that the connection is there.
 * @param {string} id @param {(status: string) => void} onStatus @param {() => unknown} onLive @returns {() => void}
 */
export function followOne(id, onStatus, onLive) {
  let timer = 0;
  const again = async () => {
    await onLive();
    return "";
  };
  const stop = listen(ALL, "", {
    onEvent: (type, { data }) => type === "experiment.changed" && data.id === id && onStatus(data.status),
    onBack: again,
    // Also the first time, since something may have happened before the stream was open. The page's own requests come first.
    onLive: () => {
      clearTimeout(timer);
      timer = setTimeout(onLive, READ_AGAIN_MS);
    },
  });
  return () => {
    clearTimeout(timer);
    stop();
  };
}

/** Hear of each change of any experiment, and each time that the connection is there. @param {() => void} onChange @returns {() => void} */
export function followAll(onChange) {
  const heard = async () => {
    onChange();
    return "";
  };
  return listen(ALL, "", { onEvent: onChange, onBack: heard, onLive: onChange });
}
