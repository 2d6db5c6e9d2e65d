/** Values of a link that are placeholders which were not filled in; `parley_lab.people.link_values` decides by the same rule. */

const NAME = String.raw`[\p{L}_][\p{L}_ .\-]*`;
const PLACEHOLDER = new RegExp(String.raw`^(?:.*(?:\{\{|\$\{).*|%[\p{L}_][\p{L}\p{N}_]*%|<[^<>@]*>|\[${NAME}\]|\{${NAME}\})$`, "su");
const MOST_ENCODINGS = 3;

/** @param {string} value */
export function isPlaceholder(value) {
  let known = value;
  for (let times = 0; times < MOST_ENCODINGS; times++) {
    if (PLACEHOLDER.test(known.trim())) return true;
    try {
      known = decodeURIComponent(known);
    } catch {
      return false;
    }
  }
  return false;
}
