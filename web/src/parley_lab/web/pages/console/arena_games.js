/** The games of two players of an arena, and one of them: its replay, and its rounds with reasons and flags. */
import { h, html, useState } from "../vendor/preact.js";
import { asked, withQuery } from "./address.js";
import { gamesOf, inPercent } from "./arena.js";
import { Move, Replay } from "./replay.js";
import { rowsOf } from "./tables.js";
import { Empty, Figure, Loaded, Press, Rows, State, useLoaded } from "./ui.js";
import { inDigits, t, word } from "./words.js";

const A_PAGE = 100;

/** @typedef {import("./tables.js").Row} Row */

/** The page at `?player= &opponent= &game= &stage=`. @param {import("./experiment.js").PageProps} props */
export default function Played({ id, experiment }) {
  const [player, opponent, game, stage] = [asked("player"), asked("opponent"), asked("game"), asked("stage")];
  const back = game ? gamesOf(player, opponent) : withQuery({ player: "", opponent: "", game: "", stage: "" });
  return html`<p><a href=${back}>${game ? t("All games of the two") : t("All results")}</a></p>
    ${game ? h(Game, { key: `${game}/${stage}`, id, game, stage }) : h(Games, { id, player, opponent, status: experiment.status })}`;
}

/** Those of a table in which the two met, in both orders of seats. @param {string} id @param {string} table @param {string} player @param {string} opponent @param {Record<string, string>} where */
async function between(id, table, player, opponent, where) {
  const orders = player === opponent ? [[player, opponent]] : [[player, opponent], [opponent, player]];
  const found = await Promise.all(orders.map(([a, b]) => rowsOf(id, table, { ...where, player_a: a, player_b: b })));
  return found.flat();
}

/** @param {{ id: string, player: string, opponent: string, status: string }} props */
function Games({ id, player, opponent, status }) {
  const loaded = useLoaded(async () => {
    // Games that failed have no measures: their first round tells that they were played.
    const [begun, over] = await Promise.all([between(id, "rounds", player, opponent, { round: "1" }), between(id, "games", player, opponent, {})]);
    const measures = new Map(over.map((one) => [placeOf(one), one]));
    return begun.map((one) => ({ ...one, points_a: "", points_b: "", ...measures.get(placeOf(one)) }));
  }, [id, player, opponent, status]);
  return h(Loaded, { of: loaded, show: (/** @type {Row[]} */ rows) => rows.length === 0 ? h(Empty, { children: html`<p>${t("The two have no games yet.")}</p>` }) : h(List, { rows, player }) });
}

/** @param {Row} row */
const placeOf = (row) => `${row.cohort_path}/${row.stage}`;

/** @param {{ rows: Row[], player: string }} props */
function List({ rows, player }) {
  const [first] = rows;
  const [own, other] = sidesFor(first, player);
  const hasArms = new Set(rows.map((row) => row.treatment)).size > 1;
  const hasStages = new Set(rows.map((row) => row.stage)).size > 1;
  const title = t("Games of {name} and {other}", { name: nameOf(first, own), other: nameOf(first, other) });
  const columns = [t("game"), t("state"), ...(hasArms ? [t("arm")] : []), ...(hasStages ? [t("stage")] : []), t("rounds"), ...[own, other].flatMap((side) => [t("cooperation of {name}", { name: nameOf(first, side) }), t("points of {name}", { name: nameOf(first, side) })])];
  const asRow = (/** @type {Row} */ row) => {
    const measured = sidesFor(row, player).flatMap((side) => [inPercent(row[`cooperation_${side}`] ?? ""), pointsOf(row[`points_${side}`])]);
    return [html`<a href=${withQuery({ game: row.cohort_path, stage: row.stage })}>${row.cohort_path}</a>`, h(State, { state: row.status, children: word(row.status) }), ...(hasArms ? [row.treatment] : []), ...(hasStages ? [row.stage] : []), row.rounds ?? "–", ...measured];
  };
  return html`<h2>${title}</h2>${h(Rows, { caption: title, columns, rows: rows.map(asRow) })}`;
}

/** @param {string} points */
const pointsOf = (points) => (points === "" ? "–" : inDigits(Number(points)));

/** The seats, that of this player first. @param {Row} row @param {string} player @returns {["a" | "b", "a" | "b"]} */
const sidesFor = (row, player) => (row.player_a === player ? ["a", "b"] : ["b", "a"]);

/** @param {Row} row @param {string} side */
const nameOf = (row, side) => row[`name_${side}`] || row[`player_${side}`];

/** @param {{ id: string, game: string, stage: string }} props */
function Game({ id, game, stage }) {
  const loaded = useLoaded(() => rowsOf(id, "rounds", { cohort_path: game, stage }), [id, game, stage]);
  return h(Loaded, { of: loaded, show: (/** @type {Row[]} */ rows) => rows.length === 0 ? h(Empty, { children: html`<p>${t("This game has no complete round yet.")}</p>` }) : h(Shown, { rows }) });
}

/** @param {{ rows: Row[] }} props */
function Shown({ rows }) {
  const [at, setAt] = useState(0);
  const [first, last] = [rows[0], rows[rows.length - 1]];
  const names = [nameOf(first, "a"), nameOf(first, "b")];
  const flagged = rows.filter((row) => row.flag_a || row.flag_b).length;
  return html`<h2>${names[0]} · ${names[1]} <span class="c-small">${first.cohort_path}</span></h2>
    <dl class="c-figures">${h(Figure, { name: t("state"), value: h(State, { state: first.status, children: word(first.status) }) })}${h(Figure, { name: t("rounds"), value: inDigits(rows.length) })}
      ${["a", "b"].map((side, index) => h(Figure, { name: t("points of {name}", { name: names[index] }), value: inDigits(Number(last[`total_${side}`])) }))}
      ${flagged ? h(Figure, { name: t("flagged rounds"), value: inDigits(flagged), tone: "c-warns" }) : null}</dl>
    ${h(Replay, { rows, names, at, setAt })}${h(Rounds, { rows, names, setAt })}`;
}

/** @param {{ rows: Row[], names: string[], setAt: (at: number) => void }} props */
function Rounds({ rows, names, setAt }) {
  const [from, setFrom] = useState(0);
  const hasMessages = rows.some((row) => row.message_a || row.message_b);
  const told = [t("why"), ...(hasMessages ? [t("message")] : [])];
  const columns = [t("round"), ...names, t("points"), t("total"), ...names.flatMap((name) => told.map((one) => `${name}: ${one}`))];
  const asRow = (/** @type {Row} */ row, /** @type {number} */ index) => [
    h(Press, { kind: "bare", label: t("Show round {number} in the replay", { number: row.round }), onPress: () => setAt(from + index + 1), children: row.round }),
    ...["a", "b"].map((side) => h(Move, { row, side })), `${row.points_a || "–"} · ${row.points_b || "–"}`, `${row.total_a} · ${row.total_b}`,
    ...["a", "b"].flatMap((side) => [row[`reasoning_${side}`], ...(hasMessages ? [row[`message_${side}`]] : [])]),
  ];
  return html`<h2>${t("Rounds")}</h2>${h(Rows, { caption: t("Rounds"), columns, rows: rows.slice(from, from + A_PAGE).map(asRow) })}
    ${rows.length > A_PAGE ? html`<div class="c-acts c-pages">${from ? h(Press, { onPress: () => setFrom(from - A_PAGE), children: t("Earlier rounds") }) : null}${from + A_PAGE < rows.length ? h(Press, { onPress: () => setFrom(from + A_PAGE), children: t("Later rounds") }) : null}</div>` : null}`;
}
