import { Beginning, Conversation, LeaveTalk, People } from "parley/chat.js";
import { h, html } from "parley/preact.js";
import { Button, Head } from "parley/ui.js";
import { say, whyNot } from "parley/words.js";

/** @param {import("parley/page.js").StageProps} stage */
export default function PrivateChatPage(stage) {
  const { view, thread } = stage.page;
  const blocked = whyNot(stage.page);
  const isUsedUp = view.max_turns !== null && view.turns >= view.max_turns;
  const mayWrite = stage.isCurrent && view.is_open && !isUsedUp && !(view.turn_based && view.is_waiting_for_reply);
  const callOff = () => stage.act(() => stage.api.post(`/v1/me/threads/${thread.id}/call-off`));
  return html`<div class="chat">
    ${h(Head, { view })} ${h(People, { people: view.people, members: stage.me.members })}
    ${thread
      ? h(Conversation, {
          key: thread.id,
          stage,
          hasReactions: view.replies_and_reactions,
          mayWrite,
          whyNot: view.has_ended ? say("talk_has_ended") : view.is_waiting_for_reply ? say("waits_for_reply") : undefined,
        })
      : h(Beginning, { stage })}
    ${view.max_turns !== null ? html`<p class="hint">${say("turns_used", { used: view.turns, most: view.max_turns })}</p>` : null}
    ${view.max_turns === null && view.turns < view.min_turns ? html`<p class="hint">${say("turns_needed", { used: view.turns, least: view.min_turns })}</p>` : null}
    ${stage.isCurrent
      ? html`<p class="actions">
          ${view.may_call_off ? h(Button, { kind: "quiet", onPress: callOff, children: say("call_off") }) : null}
          ${h(LeaveTalk, { label: say("go_on"), isOpen: view.is_open && !isUsedUp, isDisabled: blocked.length > 0, onLeave: () => stage.advance() })}
        </p>`
      : null}
    ${blocked.map((/** @type {string} */ why) => html`<p class="hint">${why}</p>`)}
  </div>`;
}
