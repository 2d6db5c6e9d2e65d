/** Lists of the lab: a page of them, further ones on a press, and all of these again when something has happened. */
import { useEffect, useRef } from "../vendor/preact.js";
import { some } from "./api.js";
import { useLoaded } from "./ui.js";

const A_PAGE = 100;

/**
 * The first items of a list; `more` reads further ones. Those that are shown stay meanwhile.
 * @param {string} path with its query @param {string} name of the list in the answer
 */
export function useList(path, name) {
  const wanted = useRef({ path, most: A_PAGE });
  if (wanted.current.path !== path) wanted.current = { path, most: A_PAGE };
  const loaded = useLoaded(() => some(path, name, wanted.current.most), [path]);
  async function more() {
    wanted.current.most += A_PAGE;
    await loaded.again();
  }
  return { ...loaded, more };
}

/**
 * Read again soon after something has happened, once for many, and not while it is read.
 * @param {{ isLoading: boolean, again: () => Promise<void> }} loaded @param {number} ms @param {(soon: () => void) => () => void} listen Its answer ends it. @param {readonly any[]} inputs
 */
export function useNews(loaded, ms, listen, inputs) {
  const newest = useRef(loaded);
  newest.current = loaded;
  useEffect(() => {
    let timer = 0;
    const read = () => {
      timer = 0;
      if (newest.current.isLoading) soon();
      else void newest.current.again();
    };
    const soon = () => void (timer ||= setTimeout(read, ms));
    const stop = listen(soon);
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, inputs);
}
