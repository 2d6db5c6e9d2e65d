/** Pages whose scripts are loaded when they are opened. */
import { h, html, useEffect, useState } from "../vendor/preact.js";
import { Failure, Loading } from "./ui.js";
import { t } from "./words.js";

/**
 * A page of a module's default export. A script that does not come can be asked for again.
 * @param {{ load: () => Promise<{ default: any }>, props: any }} props
 */
export function Lazy({ load, props }) {
  const [found, setFound] = useState(/** @type {{ page?: any, error?: unknown }} */ ({}));
  async function fetchPage() {
    setFound({});
    try {
      const { default: page } = await load();
      setFound({ page });
    } catch (error) {
      setFound({ error: new Error(t("The script of this page did not come."), { cause: error }) });
    }
  }
  useEffect(() => void fetchPage(), []);
  if (found.error) return h(Failure, { error: found.error, onAgain: fetchPage });
  return found.page ? h(found.page, props) : html`${h(Loading, {})}`;
}
