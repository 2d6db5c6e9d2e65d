/** Joining a study by its link. What comes after it is another document. */
import { h, html, useEffect, useRef, useState } from "../vendor/preact.js";
import { Logo, takeOn } from "../lab/appearance.js";
import { isForNow, isTaken, newId, Refused, request } from "../lab/api.js";
import { isPlaceholder } from "../lab/placeholders.js";
import { reason } from "../lab/refusals.js";
import { forget, keepsData, recall, remember } from "../lab/memory.js";
import { Button, callInTitle, Heading, Notice, Text } from "../lab/ui.js";
import { say, speak } from "../lab/words.js";
import { Farewell, Taken } from "./parts.js";
import { code, placeKey, start } from "./start.js";

/** The scripts of the next document, so that they are there when it is. */
const fetchNext = () => void import("./shell.js").catch(() => {});

const MOST_CHARACTERS = 200;
/** How often a page looks whether a place of a full study is free. */
const LOOK_MS = 15000;

/** Whether the lab can keep it: it counts characters beyond the first plane once. @param {string} value */
const isKept = (value) => [...value].length <= MOST_CHARACTERS && !value.includes("\0");

/**
 * Those of the address that have these names and a value that the lab can keep. One that is cut would be another value.
 * @param {URLSearchParams} address
 * @param {string[]} names
 */
const chosen = (address, names) => Object.fromEntries([...address].filter(([name, value]) => names.includes(name) && value && isKept(value)));

/** Whether the lab refuses the external id, such as a placeholder that was not filled in. @param {unknown} error */
const isOfId = (error) => error instanceof Refused && error.problems.some((one) => one.where === "external_id");

/** @param {{ lab: { assets: string, languages: string[] } }} props */
function Join({ lab }) {
  const [study, setStudy] = useState(/** @type {any} */ (null));
  const [failure, setFailure] = useState("");
  const [taken, setTaken] = useState(/** @type {Refused | null} */ (null));
  const [full, setFull] = useState(/** @type {Refused | null} */ (null));
  const [isBusy, setBusy] = useState(false);
  // Whether it makes sense to look for the study once more.
  const [isAgain, setAgain] = useState(false);
  const parameters = new URLSearchParams(location.search);
  const startsAnew = parameters.get("new") === "1";

  // The key of the place, and that of a place of which no answer has come yet.
  const [had, wanted] = [`parley.join.${code}`, `parley.joining.${code}`];

  function look() {
    setBusy(true);
    setFailure("");
    request("GET", `/v1/join/${encodeURIComponent(code)}`).then(
      async (found) => {
        // The browser keeps the key of a place under its code: a code that was typed in another way would take a second place.
        if (found.code && found.code !== code) return location.replace(`/join/${encodeURIComponent(found.code)}${location.search}${location.hash}`);
        // Without the words of the study one can join with those of the browser.
        if (found.language) await speak([found.language], lab).catch(console.error);
        takeOn(found.appearance);
        setStudy(found);
      },
      (error) => {
        const isUnknown = error instanceof Refused && error.status === 404;
        setFailure(isUnknown ? say("join_unknown") : reason(error));
        setAgain(!isUnknown);
      },
    ).finally(() => setBusy(false));
  }
  useEffect(look, []);
  const waits = study?.state === "full" && study.may_get_free;
  const waited = useRef(false);
  useEffect(() => {
    if (waits) waited.current = true;
    const looking = waits ? setInterval(look, LOOK_MS) : undefined;
    const done = !waits && waited.current && study?.state === "open" ? callInTitle(say("join_is_free")) : () => {};
    return () => {
      clearInterval(looking);
      done();
    };
  }, [waits]);
  // Who has a place gets it back, whether others can still join or not.
  const known = recall(wanted) ?? (startsAnew ? null : recall(had));
  const externalId = (study && parameters.get(study.external_id_parameter)) || null;
  const isIdKept = externalId === null || isKept(externalId);
  const isClosed = study !== null && study.state !== "open" && known === null;
  // The lab alone knows whether the external id has a place, such as that of another browser.
  const mayComeBack = isClosed && externalId !== null && isIdKept && !isPlaceholder(externalId) && study.state !== "not_started";
  const closed = waits ? "join_may_get_free" : `join_${study?.state}`;
  const mayOpen = isClosed && ["paused", "not_started"].includes(study.state);
  const isRefused = !isClosed && known === null && !isIdKept;
  // A place that is taken here would be lost on the next page.
  const isKeeping = keepsData();

  async function join() {
    setBusy(true);
    setFailure("");
    fetchNext();
    // The same key again gives the same place: an answer that is lost on its way costs no seat.
    const key = known ?? newId();
    remember(wanted, key);
    try {
      const joined = await request("POST", `/v1/join/${encodeURIComponent(code)}`, {
        body: {
          join_key: key,
          external_id: isIdKept ? externalId : null,
          parameters: chosen(parameters, study.parameters),
        },
      });
      remember(had, key);
      forget(wanted);
      remember(placeKey, joined.token);
      location.assign(`/take/${encodeURIComponent(code)}`);
    } catch (error) {
      if (!isForNow(error)) forget(wanted);
      setBusy(false);
      if (isTaken(error)) return setTaken(error);
      // Another person was quicker: the page goes on looking for a place.
      if (error instanceof Refused && error.reason === "full") return waited.current && !isClosed ? look() : setFull(error);
      setFailure(isOfId(error) ? say("join_invalid_id") : reason(error));
    }
  }

  if (taken !== null) return h(Taken, { error: taken });
  if (full !== null) return html`<main>${h(Farewell, { said: say("refused_full"), completion: full.params.completion })}</main>`;
  if (study === null) {
    return html`<main>
      ${failure ? h(Notice, { tone: "error", children: failure }) : html`<p role="status">${say("loading")}</p>`}
      ${failure && isAgain ? html`<p class="actions">${h(Button, { isBusy, onPress: look, children: say("try_again") })}</p>` : null}
    </main>`;
  }
  return html`<main class="join">
    ${h(Logo, { appearance: study.appearance })}
    ${h(Heading, { children: study.title || say("join_title") })}
    ${study.text ? h(Text, { text: study.text }) : null}
    ${study.record === "process" ? html`<p class="hint">${say("records_process")}</p>` : null}
    ${failure ? h(Notice, { tone: "error", children: failure }) : null}
    ${isClosed && !failure && study.completion ? h(Farewell, { said: say(closed), completion: study.completion }) : null}
    ${isClosed && !failure && !study.completion ? h(Notice, { children: say(closed) }) : null}
    ${isRefused ? h(Notice, { tone: "error", children: say("join_invalid_id") }) : null}
    ${mayOpen ? html`<p class="actions">${h(Button, { isBusy, onPress: look, children: say("try_again") })}</p>` : null}
    ${mayComeBack ? html`<p>${say("join_back")}</p>` : null}
    ${isKeeping ? null : h(Notice, { tone: "error", children: say("join_keeps_nothing") })}
    ${isKeeping && (mayComeBack || !(isClosed || isRefused))
      ? html`<p class="actions">${h(Button, { isBusy, onPress: join, children: say(isBusy ? "joining" : known !== null || isClosed ? "go_on" : "join") })}</p>`
      : null}
  </main>`;
}

start((lab) => h(Join, { lab }));
