/** What the lab refuses, in words for a person. */
import { isForNow, Refused } from "./api.js";
import { hasWords, say, whyNot } from "./words.js";

/**
 * Why something did not work, in the words of the page: what the lab says of it is for those who write programs.
 * @param {unknown} error
 */
export function reason(error) {
  if (isForNow(error) && !(error instanceof Refused && (error.code || error.params.seconds))) return say("not_reachable");
  if (!(error instanceof Refused)) throw error;
  const { params } = error;
  if (params.reasons) return whyNot({ reasons: params.reasons }).join(" ");
  const why = params.seconds ? "too_soon" : error.reason;
  const key = [`refused_${why}`, `refused_${error.code}`].find(hasWords);
  return say(key ?? "refused", params);
}
