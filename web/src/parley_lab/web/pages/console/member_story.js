/** What has happened to a member, what they have answered, and what their models have replied. */
import { h, html, useEffect } from "../vendor/preact.js";
import { get } from "./api.js";
import { useList } from "./lists.js";
import { Loaded, Press, useLoaded } from "./ui.js";
import { atTime, t, word } from "./words.js";

/** @typedef {import("./member_panel.js").Props} Props */

/** Read again soon after something happened to the member. @param {Props} props @param {() => void} again */
function useNews({ board, member }, again) {
  useEffect(() => {
    let timer = 0;
    const stop = board.hear((_, event) => {
      if (event.data?.member_id !== member.id && event.subject_id !== member.id) return;
      clearTimeout(timer);
      timer = setTimeout(again, 300);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [member.id]);
}

/** @param {Props} props */
export function Story(props) {
  const loaded = useList(`/members/${props.member.id}/events`, "events");
  useNews(props, loaded.again);
  return h(Loaded, { of: loaded, show: ({ found, hasMore }) => html`<ol class="c-story">${found.map((/** @type {any} */ one) => html`<li><time class="c-small" datetime=${one.at}>${atTime(one.at)}</time> ${saidOfEvent(one, props.board.about.stages)}</li>`)}</ol>${hasMore ? h(Press, { onPress: loaded.more, children: t("Show more") }) : null}` });
}

/** @param {any} event @param {any[]} stages */
function saidOfEvent(event, stages) {
  const stage = stages.find((one) => one.id === event.data?.to_stage_id)?.name;
  if (event.type === "member.moved") return stage ? t("moved to {stage}", { stage }) : t("is through");
  if (event.data?.text) return `${word(event.type.split(".").pop())}: ${event.data.text}`;
  return `${word(event.type.split(".").pop())}${event.data?.stage_id ? ` · ${event.data.stage_id}` : ""}`;
}

/** @param {Props} props */
export function Answers(props) {
  const { member } = props;
  const loaded = useLoaded(() => get(`/members/${member.id}/answers`), [member.id]);
  useNews(props, loaded.again);
  return h(Loaded, { of: loaded, show: ({ answers }) => answers.length === 0 ? html`<p class="c-small">${t("No answers yet.")}</p>`
    : html`<dl class="c-answers">${answers.map((/** @type {any} */ one) => html`<dt>${one.stage_id}${one.key ? ` · ${one.key}` : ""}</dt><dd>${inText(one.value)}</dd>`)}</dl>` });
}

/** An answer as a text, whatever shape it has. @param {any} value @returns {string} */
function inText(value) {
  if (value === null || value === undefined) return t("none");
  if (Array.isArray(value)) return value.map(inText).join(", ");
  return typeof value === "object" ? Object.entries(value).map(([key, one]) => `${key}: ${inText(one)}`).join("\n") : String(value);
}

/** @param {Props} props */
export function Replies(props) {
  const { member, experiment } = props;
  const loaded = useList(`/members/${member.id}/drafts`, "drafts");
  useNews(props, loaded.again);
  const calls = `/console/e/${experiment.id}/calls?of=${member.id}`;
  return h(Loaded, { of: loaded, show: ({ found: drafts, hasMore }) => drafts.length === 0 ? html`<p class="c-small">${t("No replies yet.")}</p>`
    : html`<p class="c-acts"><a href=${calls}>${t("All calls")}</a><a href=${`${calls}&status=failed`}>${t("Failed calls")}</a></p><ul class="c-story">${drafts.map((/** @type {any} */ one) => html`<li><a href=${`${calls}&draft=${one.id}`}>${word(one.state)}</a> <span class="c-small">${one.stage_id} · ${word(one.purpose)}</span></li>`)}</ul>${hasMore ? h(Press, { onPress: loaded.more, children: t("Show more") }) : null}` });
}
