/** A QR code (ISO/IEC 18004) of a text: byte mode, level M, versions 1 to 10. */

/** For each version: bytes for correction in a block, and how many data bytes each block has. */
/** @type {readonly [number, number[]][]} */
const BLOCKS = [[10, [16]], [16, [28]], [26, [44]], [18, [32, 32]], [24, [43, 43]], [16, [27, 27, 27, 27]], [18, [31, 31, 31, 31]], [22, [38, 38, 39, 39]], [22, [36, 36, 36, 37, 37]], [26, [43, 43, 43, 43, 44]]];
const ALIGNED = [[], [6, 18], [6, 22], [6, 26], [6, 30], [6, 34], [6, 22, 38], [6, 24, 42], [6, 26, 46], [6, 28, 50]];

const [EXP, LOG] = [new Uint8Array(512), new Uint8Array(256)];
for (let power = 0, value = 1; power < 255; power += 1) {
  EXP[power] = EXP[power + 255] = value;
  LOG[value] = power;
  value = value < 128 ? value * 2 : (value * 2) ^ 0x11d;
}
/** @param {number} a @param {number} b */
const times = (a, b) => (a === 0 || b === 0 ? 0 : EXP[LOG[a] + LOG[b]]);

/** The bytes that correct errors of a block. @param {number[]} data @param {number} count */
function correction(data, count) {
  let divisor = [1];
  for (let power = 0; power < count; power += 1) {
    const next = [...divisor, 0];
    divisor.forEach((value, index) => (next[index + 1] ^= times(value, EXP[power])));
    divisor = next;
  }
  const rest = [...data, ...new Array(count).fill(0)];
  data.forEach((_, at) => {
    const factor = rest[at];
    divisor.forEach((value, index) => (rest[at + index] ^= times(value, factor)));
  });
  return rest.slice(data.length);
}

/** All bytes of the code, data and correction, in the order in which they are drawn. @param {Uint8Array} text @param {number} version */
function bytesOf(text, version) {
  const [count, sizes] = BLOCKS[version - 1];
  const capacity = sizes.reduce((sum, one) => sum + one, 0);
  const bits = [0, 1, 0, 0];
  const push = (/** @type {number} */ value, /** @type {number} */ length) => {
    for (let bit = length - 1; bit >= 0; bit -= 1) bits.push((value >> bit) & 1);
  };
  push(text.length, version < 10 ? 8 : 16);
  text.forEach((byte) => push(byte, 8));
  push(0, Math.min(4, capacity * 8 - bits.length));
  while (bits.length % 8) bits.push(0);
  /** @type {number[]} */
  const data = [];
  for (let at = 0; at < bits.length; at += 8) data.push(parseInt(bits.slice(at, at + 8).join(""), 2));
  for (let filler = 0xec; data.length < capacity; filler ^= 0xec ^ 0x11) data.push(filler);
  let at = 0;
  const blocks = sizes.map((size) => data.slice(at, (at += size)));
  const corrections = blocks.map((block) => correction(block, count));
  const longest = Math.max(...sizes);
  const woven = (/** @type {number[][]} */ lists, /** @type {number} */ length) => Array.from({ length }, (_, index) => lists.flatMap((list) => (index < list.length ? [list[index]] : []))).flat();
  return [...woven(blocks, longest), ...woven(corrections, count)];
}

/** @type {((row: number, column: number) => boolean)[]} */
const MASKS = [(r, c) => (r + c) % 2 === 0, (r) => r % 2 === 0, (_, c) => c % 3 === 0, (r, c) => (r + c) % 3 === 0, (r, c) => (Math.floor(r / 2) + Math.floor(c / 3)) % 2 === 0, (r, c) => ((r * c) % 2) + ((r * c) % 3) === 0, (r, c) => (((r * c) % 2) + ((r * c) % 3)) % 2 === 0, (r, c) => (((r + c) % 2) + ((r * c) % 3)) % 2 === 0];

/** The rows of the code, true for a dark module. @param {string} text at most 213 bytes @returns {boolean[][]} */
export function qrCode(text) {
  const bytes = new TextEncoder().encode(text);
  const version = BLOCKS.findIndex(([, sizes], index) => sizes.reduce((sum, one) => sum + one, 0) >= bytes.length + (index < 9 ? 2 : 3)) + 1;
  if (version === 0) throw new Error("The text is too long for a QR code.");
  const drawn = frame(version);
  fill(drawn, bytesOf(bytes, version));
  const masked = MASKS.map((mask, number) => finished(drawn, mask, number));
  return masked.reduce((best, one) => (penalty(one) < penalty(best) ? one : best));
}

/** @typedef {{ size: number, dark: boolean[][], fixed: boolean[][] }} Drawn */

/** The patterns that every code of this version has. @param {number} version @returns {Drawn} */
function frame(version) {
  const size = 17 + 4 * version;
  const empty = () => Array.from({ length: size }, () => new Array(size).fill(false));
  const drawn = { size, dark: empty(), fixed: empty() };
  const set = (/** @type {number} */ row, /** @type {number} */ column, /** @type {boolean} */ isDark) => {
    if (row < 0 || column < 0 || row >= size || column >= size) return;
    drawn.dark[row][column] = isDark;
    drawn.fixed[row][column] = true;
  };
  const square = (/** @type {number} */ row, /** @type {number} */ column, /** @type {number} */ radius, /** @type {number[]} */ light) => {
    for (let r = -radius; r <= radius; r += 1) for (let c = -radius; c <= radius; c += 1) set(row + r, column + c, !light.includes(Math.max(Math.abs(r), Math.abs(c))));
  };
  for (let at = 0; at < size; at += 1) {
    set(6, at, at % 2 === 0);
    set(at, 6, at % 2 === 0);
  }
  for (const [row, column] of [[3, 3], [3, size - 4], [size - 4, 3]]) square(row, column, 4, [2, 4]);
  const places = ALIGNED[version - 1];
  const isFinder = (/** @type {number} */ row, /** @type {number} */ column) => (row === 6 && (column === 6 || column === size - 7)) || (row === size - 7 && column === 6);
  for (const row of places) for (const column of places) if (!isFinder(row, column)) square(row, column, 2, [1]);
  for (let at = 0; at < 9; at += 1) {
    if (at !== 6) {
      set(8, at, false);
      set(at, 8, false);
    }
    if (at < 8) {
      set(8, size - 1 - at, false);
      set(size - 1 - at, 8, false);
    }
  }
  set(size - 8, 8, true);
  if (version >= 7) {
    const bits = coded(version, 12, 0x1f25);
    for (let at = 0; at < 18; at += 1) {
      const isDark = ((bits >> at) & 1) === 1;
      set(Math.floor(at / 3), size - 11 + (at % 3), isDark);
      set(size - 11 + (at % 3), Math.floor(at / 3), isDark);
    }
  }
  return drawn;
}

/** A value with its check bits (BCH). @param {number} value @param {number} count @param {number} divisor */
function coded(value, count, divisor) {
  let rest = value;
  for (let bit = 0; bit < count; bit += 1) rest = (rest << 1) ^ ((rest >> (count - 1)) * divisor);
  return (value << count) | rest;
}

/** The bits in zigzag, two columns at a time from the right. @param {Drawn} drawn @param {number[]} bytes */
function fill({ size, dark, fixed }, bytes) {
  let at = 0;
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5;
    for (let step = 0; step < size; step += 1) {
      for (const column of [right, right - 1]) {
        const row = ((right + 1) & 2) === 0 ? size - 1 - step : step;
        if (fixed[row][column]) continue;
        dark[row][column] = at < bytes.length * 8 && ((bytes[at >> 3] >> (7 - (at & 7))) & 1) === 1;
        at += 1;
      }
    }
  }
}

/** @param {Drawn} drawn @param {(row: number, column: number) => boolean} mask @param {number} number */
function finished({ size, dark, fixed }, mask, number) {
  const found = dark.map((line, row) => line.map((isDark, column) => isDark !== (!fixed[row][column] && mask(row, column))));
  // Level M is 0.
  const bits = coded(number, 10, 0x537) ^ 0x5412;
  const bit = (/** @type {number} */ at) => ((bits >> at) & 1) === 1;
  for (let at = 0; at < 6; at += 1) found[at][8] = bit(at);
  found[7][8] = bit(6);
  found[8][8] = bit(7);
  found[8][7] = bit(8);
  for (let at = 9; at < 15; at += 1) found[8][14 - at] = bit(at);
  for (let at = 0; at < 8; at += 1) found[8][size - 1 - at] = bit(at);
  for (let at = 8; at < 15; at += 1) found[size - 15 + at][8] = bit(at);
  found[size - 8][8] = true;
  return found;
}

/** How hard the code is to read: long runs and blocks of one colour. @param {boolean[][]} rows */
function penalty(rows) {
  const size = rows.length;
  let sum = 0;
  for (const lines of [rows, rows.map((_, column) => rows.map((row) => row[column]))]) {
    for (const line of lines) {
      const text = line.map((one) => (one ? "1" : "0")).join("");
      for (const run of text.match(/0{5,}|1{5,}/g) ?? []) sum += run.length - 2;
      sum += 40 * ((text.match(/(?=10111010000)/g) ?? []).length + (text.match(/(?=00001011101)/g) ?? []).length);
    }
  }
  for (let row = 1; row < size; row += 1) for (let column = 1; column < size; column += 1) if (new Set([rows[row][column], rows[row - 1][column], rows[row][column - 1], rows[row - 1][column - 1]]).size === 1) sum += 3;
  const dark = rows.flat().filter(Boolean).length;
  return sum + 10 * Math.floor(Math.abs((20 * dark) / (size * size) - 10));
}
