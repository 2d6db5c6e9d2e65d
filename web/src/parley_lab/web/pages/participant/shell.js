/** The frame around the stages of one participant: where they are, what the lab tells, and the page of the stage. */
import { h, html, useEffect, useErrorBoundary, useRef, useState } from "../vendor/preact.js";
import { newId } from "../lab/api.js";
import { Logo } from "../lab/appearance.js";
import { forgetAll } from "../lab/memory.js";
import { reason } from "../lab/refusals.js";
import { Links, Notice } from "../lab/ui.js";
import { say } from "../lab/words.js";
import { loadedPage, loadPage } from "./kinds.js";
import { useParticipant } from "./live.js";
import { Check, Help, LabNotice, Leave, Offer } from "./notices.js";
import { Elsewhere, End, Failed, NotLoaded, Taken, TakenUp, Waiting } from "./parts.js";
import { LookingBack, Progress } from "./progress.js";

/** @param {{ token: string, placeKey: string, lab: { kinds: string[], spoken: Record<string, string[]>, assets: string, languages: string[] } }} props */
export function Shell({ token, placeKey, lab }) {
  const readAgain = useRef(() => {});
  const tab = useOneTab(placeKey, readAgain);
  const { me, page, appearance, isSignedOut, taken, isConnected, wasAway, api, read, refresh, show, listen } = useParticipant({ token, placeKey }, lab, tab);
  const [failure, setFailure] = useState("");
  const [pastId, setPastId] = useState(/** @type {string | null} */ (null));
  readAgain.current = () => void read();
  useEffect(() => void import("./focus.js").then((focus) => focus.keepFocus(), () => {}), []);
  const behind = useLater(() => import("./looking_back.js"), me?.stages[0]?.state === "done", pastId);
  const clock = useLater(() => import("./clock.js"), me !== null && (me.timers.length > 0 || me.waiting !== null), me);
  const wait = useLater(() => import("./group_wait.js"), me?.waiting?.expected != null, me);
  useEffect(() => wait?.tellOnceItBegins(page), [page?.state]);
  useEffect(() => setPastId(null), [me?.stage_id, me?.is_over]);
  // That the lab cannot be reached is not true any more.
  useEffect(() => void (isConnected && setFailure("")), [isConnected]);
  useEffect(() => preload(me, lab), [me?.stage_id]);
  // The next person at this computer is not shown what was never sent.
  useEffect(() => {
    if (me?.is_over) forgetAll(`draft:${me.member_id}:`);
  }, [me?.is_over]);

  if (isSignedOut) return h(TakenUp, {});
  if (taken !== null) return h(Taken, { error: taken });
  if (!tab.isActive) return h(Elsewhere, { onTake: tab.take });
  if (me === null) {
    return html`<main>${isConnected ? html`<p role="status">${say("loading")}</p>` : h(Notice, { tone: "warning", children: say("offline") })}</main>`;
  }

  /** @param {() => Promise<any>} work */
  async function act(work) {
    setFailure("");
    try {
      await work();
    } catch (error) {
      setFailure(reason(error));
    } finally {
      await read();
    }
  }

  /** @param {any} shown @returns {import("../lab/page.js").StageProps} */
  const stageOf = (shown) => ({
    me,
    page: shown,
    api,
    isCurrent: shown.state === "current",
    refresh,
    listen,
    act,
    advance: async (answer) => {
      try {
        await show(api.post(`/v1/me/stages/${shown.stage_id}/advance`, answer === undefined ? {} : { answer }));
        setFailure("");
      } catch (error) {
        // A form shows what was wrong with its answer; a refusal of the page's own button is shown above it.
        if (answer !== undefined) throw error;
        setFailure(reason(error));
        refresh();
      }
    },
    answer: async (askId, answer) => {
      await api.post(`/v1/me/asks/${askId}/answer`, { answer });
      await read();
    },
  });
  const past = me.stages.find((/** @type {any} */ one) => one.id === pastId);

  return html`<div class="shell">
    <header>
      ${h(Logo, { appearance })}
      ${me.is_over ? null : h(Progress, { stages: me.stages, current: me.stage_id, shown: pastId, onShow: setPastId })}
    </header>
    <main>
      <div class="notices">
        ${isConnected || me.is_over ? null : h(Notice, { key: "offline", tone: "warning", children: say("offline") })}
        ${isConnected && wasAway && !me.is_over ? h(Notice, { key: "online", children: say("online") }) : null}
        ${me.notices.map((/** @type {any} */ one) => h(LabNotice, { key: one.id, notice: one, onRead: () => act(() => api.post(`/v1/me/notices/${one.id}/read`)) }))}
        ${me.check ? h(Check, { check: me.check, onHere: () => act(() => api.post("/v1/me/check")) }) : null}
        ${me.offer ? h(Offer, { onAnswer: (/** @type {boolean} */ accept) => act(() => api.post("/v1/me/transfer", { accept }, newId())) }) : null}
        ${me.is_over || clock === null ? null : h(clock.Clock, { me, onEnd: refresh })}
        ${me.is_paused ? h(Notice, { children: say("paused") }) : null}
        ${me.is_held ? h(Notice, { tone: "warning", children: say("held") }) : null}
        ${failure ? h(Notice, { tone: "error", children: failure }) : null}
        ${past ? h(LookingBack, { title: past.title, onBack: () => setPastId(null) }) : null}
      </div>
      ${past && behind ? h(behind.PastStage, { key: past.id, stageId: past.id, api, children: (/** @type {any} */ found) => h(StagePage, { stage: stageOf(found), lab }) }) : null}
      <div hidden=${past !== undefined}>
        ${me.is_over ? h(End, { me }) : page?.state === "waiting" ? h(Waiting, { page, me, children: wait && me.waiting ? h(wait.GroupWait, { waiting: me.waiting, onHere: () => act(() => api.post("/v1/me/confirm")) }) : null }) : page ? h(StagePage, { key: page.stage_id, stage: stageOf(page), lab }) : null}
      </div>
    </main>
    ${me.is_over ? null : html`<footer tabindex="-1">
          ${h(Help, { memberId: me.member_id, onAsk: (/** @type {string} */ text, /** @type {string} */ key) => api.post("/v1/me/help", { text }, key) })}
          ${h(Leave, { onLeave: () => act(() => api.post("/v1/me/leave")) })}
        </footer>`}
  </div>`;
}

/**
 * A script that the first page does without. It is fetched once it is needed, and at each `again` if that has failed.
 * @template Module
 * @param {() => Promise<Module>} fetched @param {boolean} isNeeded @param {unknown} again
 */
function useLater(fetched, isNeeded, again) {
  const [found, setFound] = useState(/** @type {Module | null} */ (null));
  useEffect(() => {
    if (isNeeded && found === null) fetched().then(setFound, () => {});
  }, [isNeeded, again]);
  return found;
}

/**
 * Whether this tab of the browser is the one that takes part, and how to make it that.
 * @param {string} placeKey
 * @param {{ current: () => void }} onYielded What is done when another tab has left what was entered there.
 */
function useOneTab(placeKey, onYielded) {
  const [isActive, setActive] = useState(true);
  const tab = useRef(/** @type {ReturnType<typeof import("./tabs.js").takePart> | null} */ (null));
  useEffect(() => {
    import("./tabs.js").then(({ takePart }) => {
      tab.current = takePart(placeKey, { onActive: setActive, onYielded: () => onYielded.current() });
    }, () => {});
  }, []);
  return { isActive, take: () => tab.current?.take(), whenFree: async () => tab.current?.whenFree() };
}

/** Fetch this stage's page while the participant waits for it, and the next one's meanwhile. @param {any} me @param {any} lab */
function preload(me, lab) {
  const at = me?.stages.findIndex((/** @type {any} */ one) => one.id === me.stage_id) ?? -1;
  if (at >= 0) for (const one of me.stages.slice(at, at + 2)) loadPage(one.kind, lab).catch(() => {});
}

/** The page of the stage's kind. @param {{ stage: import("../lab/page.js").StageProps, lab: any }} props */
function StagePage({ stage, lab }) {
  const { kind } = stage.page;
  const [, setLoaded] = useState(loadedPage(kind));
  const [error] = useErrorBoundary();
  const [isMissing, setMissing] = useState(false);
  const found = loadedPage(kind);
  const load = () => loadPage(kind, lab).then(setLoaded, (failure) => {
    console.error(failure);
    setMissing(true);
  });
  useEffect(() => {
    if (found === null) void load();
  }, [kind]);
  if (error) return h(Failed, { error });
  if (found === null && isMissing) return h(NotLoaded, { onAgain: load });
  if (found === null) return html`<p role="status">${say("loading")}</p>`;
  return h(Links.Provider, { value: stage.page.links, children: h(found.default, stage) });
}
