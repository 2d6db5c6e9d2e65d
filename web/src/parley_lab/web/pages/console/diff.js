/** The lines in which two texts differ. Pure rules. */

/** @typedef {{ kind: "same" | "left" | "right", text: string }} Line `left` and `right`: the only side that has the line. */

/** More pairs of lines than these are not compared one by one: the middle counts as replaced. */
const MOST_PAIRS = 4_000_000;

/** @param {string} left @param {string} right @returns {Line[]} */
export function diff(left, right) {
  const [mine, others] = [left.split("\n"), right.split("\n")];
  let [start, end] = [0, 0];
  while (start < mine.length && start < others.length && mine[start] === others[start]) start += 1;
  while (end < mine.length - start && end < others.length - start && mine[mine.length - 1 - end] === others[others.length - 1 - end]) end += 1;
  const middle = between(mine.slice(start, mine.length - end), others.slice(start, others.length - end));
  return [...lines("same", mine.slice(0, start)), ...middle, ...lines("same", mine.slice(mine.length - end))];
}

/** @param {Line["kind"]} kind @param {string[]} texts @returns {Line[]} */
const lines = (kind, texts) => texts.map((text) => ({ kind, text }));

/** The fewest lines that differ: the longest row of lines that both have, in order, stays. @param {string[]} mine @param {string[]} others @returns {Line[]} */
function between(mine, others) {
  if (mine.length * others.length > MOST_PAIRS || mine.length === 0 || others.length === 0) return [...lines("left", mine), ...lines("right", others)];
  const width = others.length + 1;
  const common = new Uint32Array((mine.length + 1) * width);
  for (let row = mine.length - 1; row >= 0; row -= 1) {
    for (let column = others.length - 1; column >= 0; column -= 1) {
      const [below, beside] = [common[(row + 1) * width + column], common[row * width + column + 1]];
      common[row * width + column] = mine[row] === others[column] ? common[(row + 1) * width + column + 1] + 1 : Math.max(below, beside);
    }
  }
  /** @type {Line[]} */
  const found = [];
  let [row, column] = [0, 0];
  while (row < mine.length || column < others.length) {
    if (row < mine.length && column < others.length && mine[row] === others[column]) {
      found.push({ kind: "same", text: mine[row] });
      row += 1;
      column += 1;
    } else if (column >= others.length || (row < mine.length && common[(row + 1) * width + column] >= common[row * width + column + 1])) {
      found.push({ kind: "left", text: mine[row] });
      row += 1;
    } else {
      found.push({ kind: "right", text: others[column] });
      column += 1;
    }
  }
  return found;
}
