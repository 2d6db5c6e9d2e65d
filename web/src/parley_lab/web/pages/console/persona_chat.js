/** A test chat with a persona, by the mock or by its real model. */
import { h, html, useEffect, useState } from "../vendor/preact.js";
import { get, post } from "./api.js";
import { change } from "./confirm.js";
import { Failure, Field, Loaded, Press, Switch, useLoaded, useOneRun, useRequestKey } from "./ui.js";
import { t } from "./words.js";

/** The chat with all that was said: a page of it ends with its thousandth message. @param {string} path */
async function whole(path) {
  const chat = await get(path);
  for (let next = chat.next_after_seq; next !== null; ) {
    const rest = await get(`${path}?after_seq=${next}`);
    chat.messages.push(...rest.messages);
    [next, chat.is_awaiting_reply] = [rest.next_after_seq, rest.is_awaiting_reply];
  }
  return chat;
}

/** @param {{ id: string }} props */
export function Chat({ id }) {
  const path = `/personas/${encodeURIComponent(id)}/chat`;
  const [text, setText] = useState("");
  const [mode, setMode] = useState("mock");
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const loaded = useLoaded(() => whole(path), [id]);
  const isAwaited = loaded.data?.is_awaiting_reply === true;
  useEffect(() => {
    let isOver = false;
    const wait = async () => {
      await get(`${path}?limit=1&wait_seconds=20`).catch(() => undefined);
      if (!isOver) await loaded.again();
    };
    if (isAwaited) void wait();
    return () => void (isOver = true);
  }, [isAwaited, loaded.data]);
  /** @param {() => Promise<any>} run */
  async function attempt(run) {
    setError(null);
    try {
      await run();
      await loaded.again();
    } catch (wrong) {
      setError(wrong);
    }
  }
  const key = useRequestKey();
  const say = useOneRun(() => attempt(async () => {
    if (text.trim() === "" || isAwaited) return;
    await post(path, { text, client_message_id: key.of(text), model_mode: mode });
    key.done();
    setText((newest) => (newest === text ? "" : newest));
  }));
  return html`<section class="c-card"><h2>${t("Test chat")}</h2>${h(Switch, { label: t("Models"), value: mode, options: [["mock", t("mock")], ["real", t("real model")]], onChoose: setMode })}
    ${h(Loaded, { of: loaded, show: ({ messages }) => html`<div role="log" aria-label=${t("Test chat")} tabindex="0"><ol class="c-chat">${messages.map((/** @type {any} */ one) => html`<li key=${one.id} class=${one.author === "you" ? "c-you" : ""}><span class="hidden">${one.author === "you" ? t("You") : t("The agent")}: </span>${one.text}${one.failure ? html`<span class="c-wrong-text"> ${one.failure.detail}</span>` : null}</li>`)}</ol></div>` })}
    ${isAwaited ? html`<p class="c-small" role="status">${t("The agent thinks …")}</p>` : null}${error ? h(Failure, { error }) : null}
    ${h(Field, { label: t("Your message"), value: text, onInput: setText, onEnter: say })}
    <div class="c-acts">${h(Press, { kind: "primary", isDisabled: text.trim() === "" || isAwaited, onPress: say, children: t("Send") })}${h(Press, { onPress: () => attempt(() => change("DELETE", path)), children: t("Clear the chat") })}</div></section>`;
}
