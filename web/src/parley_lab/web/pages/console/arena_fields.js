/** Payoffs and fields of a game of two. */
import { h, html, useState } from "../vendor/preact.js";
import { Choice, Failure, Field, Press, useOneRun } from "./ui.js";
import { t } from "./words.js";

/** The defaults of the kind, for fields that the file leaves out. */
const DEFAULT = { CC: [3, 3], CD: [0, 5], DC: [5, 0], DD: [1, 1] };
const ROUNDS = 100;
const STOP_PROBABILITY = 0.02;

/** @typedef {{ stage: any, place: string, path: (string | number)[], change: import("./arena_editor.js").ChangeText }} Props */

/** @param {Props} props */
export function GameFields(props) {
  return html`<div class="c-pair"><section class="c-card"><h2>${t("Payoffs")}</h2>${h(Payoffs, props)}</section><section class="c-card"><h2>${t("Game")}</h2>${h(Fields, props)}</section></div>`;
}

/** The number in a text; a text that is none stays, and the lab says what is wrong. @param {string} text */
const asNumber = (text) => (text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text);

/** @param {Props} props */
function Payoffs({ stage, place, path, change }) {
  const given = { ...DEFAULT, ...stage.payoffs };
  const [points, setPoints] = useState(/** @type {Record<string, string>} */ ({ T: String(given.DC?.[0]), R: String(given.CC?.[0]), P: String(given.DD?.[0]), S: String(given.CD?.[0]) }));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const names = { T: t("T, temptation: defect against C"), R: t("R, reward: both cooperate"), P: t("P, punishment: both defect"), S: t("S, sucker: cooperate against D") };
  const set = useOneRun(async () => {
    const [T, R, P, S] = [points.T, points.R, points.P, points.S].map(asNumber);
    const value = { CC: [R, R], CD: [S, T], DC: [T, S], DD: [P, P] };
    setError(null);
    try {
      const there = stage.payoffs ?? {};
      const changed = Object.entries(value).filter(([outcome, pair]) => JSON.stringify(pair) !== JSON.stringify(there[outcome] ?? DEFAULT[/** @type {keyof typeof DEFAULT} */ (outcome)]));
      await change(changed.map(([outcome, pair]) => ({ path: [...path, "payoffs", outcome], value: pair })), `${place}.payoffs`);
    } catch (wrong) {
      setError(wrong);
    }
  });
  return html`<p class="c-small">${t("A Prisoner's Dilemma needs T > R > P > S and 2R > T + S.")}</p>
    <div class="c-four">${Object.entries(names).map(([key, label]) => h(Field, { key, label, value: points[key], onInput: (text) => setPoints({ ...points, [key]: text }), onEnter: set }))}</div>
    ${error ? h(Failure, { error }) : null}${h(Press, { kind: "primary", onPress: set, children: t("Set the payoffs") })}`;
}

/** @type {[string, string[]][]} */
const CHOICES = [
  ["framing", ["named", "neutral", "situated"]], ["memory", ["window", "full", "summary", "none"]], ["goal_framing", ["", "cooperative", "self_maximizing", "adversarial"]],
  ["protocol", ["none", "mcp_basic", "mcp_filtered"]], ["on_invalid", ["fail_game", "exclude_round", "fallback:C", "fallback:D", "fallback:repeat", "fallback:random"]],
];
const SWITCHES = ["announce_horizon", "counterbalance", "chat", "exploratory"];

/** @param {Props} props */
function Fields({ stage, place, path, change }) {
  const [error, setError] = useState(/** @type {unknown} */ (null));
  /** @param {(string | number)[]} below @param {unknown} value */
  async function set(below, value) {
    setError(null);
    try {
      await change([{ path: [...path, ...below], value }], place);
    } catch (wrong) {
      setError(wrong);
    }
  }
  return html`${error ? h(Failure, { error }) : null}${h(Horizon, { horizon: stage.horizon ?? {}, set })}
    <div class="c-four">${CHOICES.map(([name, options]) => h(Choice, { key: name, label: name, isHidden: false, value: stage[name] ?? options[0], options: options.map((one) => /** @type {[string, string]} */ ([one, one || "–"])), onChoose: (one) => void set([name], one === "" ? null : one) }))}
      ${h(Amount, { label: "memory_window", value: stage.memory_window ?? 10, set: (value) => set(["memory_window"], value) })}</div>
    <p class="c-filters">${SWITCHES.map((name) => html`<label class="c-choose"><input type="checkbox" class="c-box" checked=${stage[name] === true} onChange=${(/** @type {any} */ event) => void set([name], event.currentTarget.checked)} /> ${name}</label>`)}</p>`;
}

/** @param {{ horizon: any, set: (below: (string | number)[], value: unknown) => Promise<void> }} props */
function Horizon({ horizon, set }) {
  const isFixed = horizon.type !== "geometric";
  const choose = (/** @type {string} */ type) => void set(["horizon"], type === "fixed" ? { type, rounds: ROUNDS } : { type, stop_probability: STOP_PROBABILITY });
  return html`<div class="c-four">${h(Choice, { label: "horizon", isHidden: false, value: isFixed ? "fixed" : "geometric", options: [["fixed", "fixed"], ["geometric", "geometric"]], onChoose: choose })}
    ${isFixed ? h(Amount, { key: "rounds", label: "rounds", value: horizon.rounds ?? ROUNDS, set: (value) => set(["horizon"], { type: "fixed", ...horizon, rounds: value }) })
      : h(Amount, { key: "stop", label: "stop_probability", value: horizon.stop_probability ?? STOP_PROBABILITY, set: (value) => set(["horizon", "stop_probability"], value) })}</div>`;
}

/** A number that is written into the file by Enter, or when the field is left. @param {{ label: string, value: unknown, set: (value: string | number) => Promise<void> }} props */
export function Amount({ label, value, set }) {
  const [text, setText] = useState(String(value));
  const give = () => (text === String(value) ? undefined : set(asNumber(text)));
  return html`<div onFocusout=${give}>${h(Field, { label, value: text, onInput: setText, onEnter: () => void give() })}</div>`;
}
