/** The page that a participant sees now, which cannot be used here. */
import { h, html } from "../vendor/preact.js";
import { Refused } from "../lab/api.js";
import { post } from "./api.js";
import { Lazy } from "./lazy.js";
import { Dialog, Loaded, useLoaded } from "./ui.js";
import { t } from "./words.js";

/** @param {{ member: import("./placing.js").Member, onClose: () => void }} props */
export function LookThrough({ member, onClose }) {
  const loaded = useLoaded(() => seen(member.id), [member.id, member.stage]);
  return h(Dialog, { title: t("What {name} sees", { name: member.name || member.path }), isWide: true, onClose, children: h(Loaded, { of: loaded, show: ({ me, page, read, words }) =>
    page === null || page.view === null ? html`<p>${t("They wait: their next page is not open yet.")}</p>` : h(Lazy, { load: () => import("./kind_frame.js"), props: { me, page, read, words } }) }) });
}

/** @param {string} id @returns {Promise<{ me: any, page: any, words: Record<string, any>, read: (path: string) => Promise<any> }>} */
async function seen(id) {
  const { token } = await post(`/members/${id}/view`, { seconds: 60 });
  const read = async (/** @type {string} */ path) => {
    const answer = await fetch(path, { headers: { Authorization: `Bearer ${token}` }, cache: "no-store" });
    const content = await answer.json();
    if (!answer.ok) throw new Refused(answer.status, content);
    return content;
  };
  const [me, { words }] = await Promise.all([read("/v1/me"), read("/v1/me/appearance")]);
  return { me, page: me.stage_id ? await read(`/v1/me/stages/${me.stage_id}`) : null, words, read };
}
