/** Who is typing in a conversation: the others as the lab tells, and saying so oneself. */
import { html, useEffect, useRef, useState } from "./preact.js";
import { say } from "./words.js";

const AGAIN_MS = 3000;
const PAUSE_MS = 5000;

/** @param {{ stage: import("./page.js").StageProps }} props */
export function Typists({ stage }) {
  const threadId = stage.page.thread.id;
  const [typing, setTyping] = useState(/** @type {string[]} */ ([]));
  useEffect(
    () =>
      stage.listen((type, event) => {
        const stops = (/** @type {string} */ id) => setTyping((all) => all.filter((one) => one !== id));
        // Who types while the connection is away is not known, and another stream begins with those who type then.
        if (type === "cut" || type === "live") setTyping([]);
        else if (type === "message.created" && event.data.author) stops(event.data.author.id);
        else if (type === "thread.typing" && event.data.thread_id === threadId) {
          const { member_id: id, is_typing: isTyping } = event.data;
          if (isTyping) setTyping((all) => [...all.filter((one) => one !== id), id]);
          else stops(id);
        }
      }),
    [threadId],
  );
  const people = /** @type {{ id: string, profile: any }[]} */ (stage.page.view.people ?? []);
  const names = typing.map((id) => people.find((one) => one.id === id)?.profile.name).filter(Boolean);
  return html`<p class="typing hint" aria-live="off">${names.length > 0 ? say("types", { count: names.length, names: names.join(", ") }) : null}</p>`;
}

/**
 * Tells the lab while one types: at the first key, again every few seconds, and when one pauses. A message that is sent
 * says itself that one has stopped.
 * @param {import("./page.js").StageProps} stage
 * @returns {(text: string | null) => void} To be called with the text at each change; null: it was sent.
 */
export function useOwnTyping(stage) {
  const told = useRef(0);
  const pause = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  const threadId = stage.page.thread.id;
  // Whether it arrives does not matter: nothing waits for it, and nothing repeats it. In a pause the lab takes none.
  const tell = (/** @type {boolean} */ isTyping) =>
    stage.me.is_paused ? undefined : stage.api.hint(`/v1/me/threads/${threadId}/typing`, { is_typing: isTyping });

  function stop() {
    clearTimeout(pause.current);
    if (told.current !== 0) tell(false);
    told.current = 0;
  }

  useEffect(() => stop, [threadId]);
  return (text) => {
    clearTimeout(pause.current);
    if (text === null) {
      told.current = 0;
      return;
    }
    if (text.trim() === "") return stop();
    pause.current = setTimeout(stop, PAUSE_MS);
    if (performance.now() - told.current > AGAIN_MS || told.current === 0) {
      told.current = performance.now();
      tell(true);
    }
  };
}
