import { Beginning, Conversation, LeaveTalk, People } from "parley/chat.js";
import { h, html } from "parley/preact.js";
import { Button, Head, Text } from "parley/ui.js";
import { say, whyNot } from "parley/words.js";

/** @param {import("parley/page.js").StageProps} stage */
export default function GroupChatPage(stage) {
  const { view, thread } = stage.page;
  const blocked = whyNot(stage.page);
  const holder = view.people.find((/** @type {any} */ one) => one.id === view.whose_turn);
  const isOthersTurn = view.turn_taking === "round" && holder !== undefined && !holder.is_you;
  const mayWrite = stage.isCurrent && view.is_open && !view.is_ready && !isOthersTurn;
  const topic = view.topics.find((/** @type {any} */ one) => one.id === view.topic);
  return html`<div class="chat">
    ${h(Head, { view })} ${h(People, { people: view.people, members: stage.me.members })}
    ${topic ? h(Topic, { topic }) : null}
    ${holder && stage.isCurrent ? html`<p class="turn" role="status">${holder.is_you ? say("your_turn") : say("turn_of", { name: holder.profile.name })}</p>` : null}
    ${thread
      ? h(Conversation, {
          key: thread.id,
          stage,
          hasReactions: view.replies_and_reactions,
          mayWrite,
          whyNot: view.has_ended ? say("talk_has_ended") : view.is_ready ? say("is_ready") : undefined,
        })
      : h(Beginning, { stage })}
    ${stage.isCurrent ? h(Actions, { stage, topic }) : null}
    ${blocked.map((/** @type {string} */ why) => html`<p class="hint">${why}</p>`)}
  </div>`;
}

/**
 * The conversation shows messages and reactions by itself. Where one speaks after another, a message changes what the
 * page allows.
 * @type {import("parley/page.js").ShowsItself}
 */
export function showsItself(page, type, event) {
  if (type === "message.reacted" || type === "message.unreacted") return true;
  // With the first message the minimum time begins.
  const begins = page.reasons.some((/** @type {any} */ one) => one.code === "goes_on");
  return type === "message.created" && event.data.author !== null && page.view.turn_taking !== "round" && !begins;
}

/** What is talked about now: all that agents read of it, too. @param {{ topic: any }} props */
function Topic({ topic }) {
  return html`<p class="topic">${say("topic_now", { name: topic.name })}</p>
    ${topic.description || topic.items.length > 0
      ? html`<div class="about-topic">
          ${topic.description ? h(Text, { text: topic.description }) : null}
          ${topic.items.length > 0 ? html`<ul>${topic.items.map((/** @type {any} */ one) => html`<li key=${one.id}>${one.name}</li>`)}</ul>` : null}
        </div>`
      : null}`;
}

/** @param {{ stage: import("parley/page.js").StageProps, topic: any }} props */
function Actions({ stage, topic }) {
  const { view, thread } = stage.page;
  const blocked = whyNot(stage.page);
  const isDone = topic && view.is_done_with_topic;
  const goOn = () => stage.act(() => stage.api.post(`/v1/me/threads/${thread.id}/go-on`, { topic: topic.id }));
  return html`<p class="actions">
    ${topic && thread && view.is_open ? h(Button, { kind: "quiet", isDisabled: isDone, onPress: goOn, children: say(isDone ? "done_with_topic_said" : "done_with_topic") }) : null}
    ${h(LeaveTalk, { label: say(view.has_ended ? "go_on" : "ready_to_end"), isOpen: view.is_open && !view.is_ready, isDisabled: blocked.length > 0, onLeave: () => stage.advance() })}
  </p>`;
}
