/** The pairings of a draft: an experimenter drags players, or places them by keys. */
import { h, html, useState } from "../vendor/preact.js";
import { all, post } from "./api.js";
import { Amount } from "./arena_fields.js";
import { Failure, Press } from "./ui.js";
import { t } from "./words.js";

/** In place of an id: an open seat. */
const PERSON = "";
const DRAGGED_PERSON = "a person";

/** @typedef {{ id: string, name: string, avatar: string, isInFile: boolean }} Player */
/** @typedef {(player: string) => void} Place */

/** @param {{ document: any, library: any[], stage: string, change: import("./arena_editor.js").ChangeText }} props */
export function Pairings({ document, library, stage, change }) {
  const [known, setKnown] = useState(library);
  const [chosen, setChosen] = useState(/** @type {string | null} */ (null));
  const [half, setHalf] = useState(/** @type {string | null} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const pairings = document.pairings ?? {};
  const [everyone, pairs] = [listed(pairings.round_robin), listed(pairings.pairs)];
  const players = playersOf(document, known);
  const nameOf = (/** @type {unknown} */ seat) => (typeof seat === "string" && seat !== PERSON ? (players.find((one) => one.id === seat)?.name ?? seat) : t("A person"));
  /** @param {() => Promise<unknown>} run */
  async function attempt(run) {
    setError(null);
    try {
      await run();
    } catch (wrong) {
      setError(wrong);
    }
  }
  /** @param {Record<string, unknown>} values */
  const set = (values) => attempt(() => change([...(pairings.stage ? [] : [{ path: ["pairings", "stage"], value: stage }]), ...Object.entries(values).map(([name, value]) => ({ path: ["pairings", name], value }))]));
  const seed = () => attempt(async () => {
    const made = await post("/persona-library/arena");
    const ids = [...made.created, ...made.replaced, ...made.unchanged];
    setKnown(await all("/personas", "personas"));
    await set({ round_robin: [...everyone, ...ids.filter((id) => !everyone.includes(id))] });
  });
  const placeInAll = (/** @type {string} */ player) => player !== PERSON && !everyone.includes(player) && void set({ round_robin: [...everyone, player] });
  const placeInPair = (/** @type {string} */ player) => {
    if (half === null) return setHalf(player);
    setHalf(null);
    return void set({ pairs: [...pairs, { seats: [half, player].map((one) => (one === PERSON ? { open: true } : one)) }] });
  };
  const zone = { players, nameOf };
  return html`<div class="c-arena"><section class="c-card"><h2>${t("Players")}</h2><p class="c-small">${t("Drag one into a place. By keys: press one, then press a place.")}</p>
      <ul class="c-players">${[...players, { id: PERSON, name: t("A person"), avatar: "", isInFile: true }].map((one) => h(Player, { key: one.id, one, isChosen: one.id === chosen, onChoose: () => setChosen(one.id === chosen ? null : one.id) }))}</ul>
      ${h(Press, { onPress: seed, children: t("Add the sixteen agents") })}</section>
    <section class="c-card"><h2>${t("Pairings")}</h2>${error ? h(Failure, { error }) : null}
      ${h(Zone, { ...zone, chosen: chosen || null, title: t("Everyone here meets all others"), place: placeInAll, children: everyone.map((one) => h(Seat, { key: one, name: nameOf(one), onRemove: () => set({ round_robin: everyone.length > 1 ? everyone.filter((other) => other !== one) : null }) })) })}
      <h3>${t("Single pairs")}</h3><ul class="c-pairs">${pairs.map((one, index) => html`<li key=${index}>${t("{name} meets {other}", { name: nameOf(one.seats?.[0]), other: nameOf(one.seats?.[1]) })} ${h(Press, { kind: "bare", icon: "close", label: t("Remove the pair {name}, {other}", { name: nameOf(one.seats?.[0]), other: nameOf(one.seats?.[1]) }), onPress: () => set({ pairs: pairs.length > 1 ? pairs.filter((_, at) => at !== index) : null }), children: null })}</li>`)}</ul>
      ${h(Zone, { ...zone, chosen, title: half === null ? t("First player of a new pair") : t("{name} meets …", { name: nameOf(half) }), place: placeInPair, children: half === null ? null : h(Seat, { name: nameOf(half), onRemove: () => setHalf(null) }) })}
      <div class="c-four">${h(Amount, { key: pairings.replicates, label: t("Games of each pair"), value: pairings.replicates ?? 1, set: (value) => set({ replicates: value }) })}
        <label class="c-choose"><input type="checkbox" class="c-box" checked=${pairings.self_play === true} onChange=${(/** @type {any} */ event) => void set({ self_play: event.currentTarget.checked })} /> ${t("Each also meets itself")}</label></div></section></div>`;
}

/** @param {any} found @returns {any[]} */
const listed = (found) => (Array.isArray(found) ? found : []);

/** The players that a pairing may name: those of the file, then those of the library. @param {any} document @param {any[]} library @returns {Player[]} */
function playersOf(document, library) {
  const own = listed(document.personas).filter((one) => typeof one?.id === "string");
  const others = library.filter((one) => !own.some((mine) => mine.id === one.id));
  const asPlayer = (/** @type {any} */ one, /** @type {boolean} */ isInFile) => ({ id: one.id, name: one.profile?.name || one.id, avatar: one.profile?.avatar ?? "", isInFile });
  const found = [...own.map((one) => asPlayer(one, true)), ...others.map((one) => asPlayer({ ...one.persona, id: one.id }, false))];
  const isShared = (/** @type {Player} */ one) => found.some((other) => other !== one && other.name === one.name);
  return found.map((one) => (isShared(one) ? { ...one, name: `${one.name} (${one.id})` } : one));
}

/** @param {{ one: Player, isChosen: boolean, onChoose: () => void }} props */
function Player({ one, isChosen, onChoose }) {
  return html`<li draggable="true" onDragStart=${(/** @type {DragEvent} */ event) => event.dataTransfer?.setData("text/plain", one.id || DRAGGED_PERSON)}>
    ${h(Press, { kind: "bare", isPressed: isChosen, onPress: onChoose, children: html`${one.avatar ? html`<span aria-hidden="true">${one.avatar} </span>` : null}${one.name}` })}
    ${one.isInFile ? null : html`<a class="c-small" href=${`/console/personas/${encodeURIComponent(one.id)}`} target="_blank" rel="noopener" aria-label=${t("Change {name}", { name: one.name })}>${t("change")}</a>`}</li>`;
}

/** A place for players, by drag and by a press. @param {{ title: string, place: Place, children: any, players: Player[], chosen: string | null, nameOf: (seat: unknown) => string }} props */
function Zone({ title, place, children, players, chosen, nameOf }) {
  const [isOver, setOver] = useState(false);
  const over = (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    setOver(true);
  };
  const drop = (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    setOver(false);
    const said = event.dataTransfer?.getData("text/plain");
    // A text that is dragged from elsewhere is no player.
    if (said === DRAGGED_PERSON) place(PERSON);
    else if (players.some((one) => one.id === said)) place(/** @type {string} */ (said));
  };
  return html`<div class=${isOver ? "c-zone c-over" : "c-zone"} role="group" aria-label=${title} onDragOver=${over} onDragLeave=${() => setOver(false)} onDrop=${drop}><p class="c-small">${title}</p>
    <ul class="c-seats">${children}</ul>${h(Press, { isDisabled: chosen === null, onPress: () => chosen !== null && place(chosen), children: chosen === null ? t("Place a player here") : t("Place {name} here", { name: nameOf(chosen) }) })}</div>`;
}

/** @param {{ name: string, onRemove: () => unknown }} props */
const Seat = ({ name, onRemove }) => html`<li class="c-pill">${name} ${h(Press, { kind: "bare", icon: "close", label: t("Remove {name}", { name }), onPress: onRemove, children: null })}</li>`;
