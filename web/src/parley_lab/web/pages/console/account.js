/** The account: keys, sign-ins, the look of the console, and what was done. */
import { h, html, useState } from "../vendor/preact.js";
import { get, post } from "./api.js";
import { Acts, act, askFirst, change } from "./confirm.js";
import { signedOut, signIn } from "./session.js";
import { chosenTheme, chooseTheme } from "./theme.js";
import { Copy, Field, Head, Loaded, Press, Rows, Switch, useLoaded, useRequestKey } from "./ui.js";
import { atTime, t } from "./words.js";

export default function Account() {
  const me = useLoaded(() => get("/whoami"), []);
  return html`${h(Head, { title: t("Account") })}
    ${h(Loaded, { of: me, show: (found) => html`<p>${t("{name} may: {scopes}.", { name: found.experimenter, scopes: found.scopes.join(", ") })} <span class="c-small">Parley ${found.version}</span></p>` })}
    ${h(Theme, {})}${h(SignIns, {})}${h(Keys, {})}${h(Deeds, {})}${h(Acts, {})}`;
}

function Theme() {
  const [theme, setTheme] = useState(chosenTheme());
  /** @param {string} one */
  function choose(one) {
    chooseTheme(one);
    setTheme(one);
  }
  return html`<section class="c-card"><h2>${t("Look")}</h2>${h(Switch, { label: t("Look"), value: theme, options: [["", t("as the system")], ["light", t("light")], ["dark", t("dark")]], onChoose: choose })}</section>`;
}

function SignIns() {
  const loaded = useLoaded(() => get("/sign-ins"), []);
  async function end(/** @type {any} */ one) {
    await act(() => change("DELETE", `/sign-ins/${one.id}`), t("It has ended."));
    if (one.is_current) signedOut(signIn.value?.token);
    else await loaded.again();
  }
  return html`<section><h2>${t("Where you are signed in")}</h2>${h(Loaded, { of: loaded, show: ({ sign_ins }) => h(Rows, { caption: t("Where you are signed in"), columns: [t("begun"), t("last request"), t("ends"), t("key"), t("act")],
    rows: sign_ins.map((/** @type {any} */ one) => [html`${atTime(one.begun_at)} ${one.is_current ? html`<span class="c-pill">${t("here")}</span>` : null}`, atTime(one.used_at), atTime(one.expires_at), `${one.key_label} ${one.key_prefix}…`, h(Press, { onPress: () => end(one), children: t("End") })]) }) })}</section>`;
}

function Keys() {
  const loaded = useLoaded(() => get("/keys"), []);
  const [label, setLabel] = useState("");
  const [made, setMade] = useState(/** @type {any} */ (null));
  const key = useRequestKey();
  const make = () => act(async () => {
    const asked = { label, scopes: ["read", "write"] };
    setMade(await post("/keys", asked, key.of(asked)));
    key.done();
    setLabel("");
    await loaded.again();
  }, t("The key is made."));
  const revoke = (/** @type {any} */ one) => askFirst({ title: t("Revoke the key {name}?", { name: one.label || one.prefix }), text: t("Programs and sign-ins with this key are refused from then on. This cannot be undone."), act: t("Revoke"), run: async () => (await change("DELETE", `/keys/${one.id}`), await loaded.again()) });
  return html`<section><h2>${t("Keys")}</h2>${h(Loaded, { of: loaded, show: ({ keys }) => h(Rows, { caption: t("Keys"), columns: [t("name"), t("begins with"), t("may"), t("made"), t("ends"), t("act")],
    rows: keys.map((/** @type {any} */ one) => [one.label || t("no name"), `${one.prefix}…`, one.scopes.join(", "), atTime(one.created_at), one.revoked_at ? t("revoked") : atTime(one.expires_at) || t("never"), one.revoked_at ? "" : h(Press, { onPress: () => revoke(one), children: t("Revoke") })]) }) })}
    ${made ? html`<p class="notice" role="status">${t("This is the key. It is shown this once.")} <code>${made.key}</code> ${h(Copy, { text: made.key, children: t("Copy") })}</p>` : null}
    <div class="c-filters">${h(Field, { label: t("Name of a new key"), value: label, onInput: setLabel })}${h(Press, { icon: "plus", isDisabled: label.trim() === "", onPress: make, children: t("Make a key") })}</div></section>`;
}

function Deeds() {
  const loaded = useLoaded(() => get("/deeds?limit=50"), []);
  return html`<section><h2>${t("What you have done")}</h2>${h(Loaded, { of: loaded, show: ({ deeds }) => h(Rows, { caption: t("What you have done"), isCompact: true, columns: [t("when"), t("who"), t("what"), t("reason")],
    rows: deeds.map((/** @type {any} */ one) => [atTime(one.at), one.experimenter, one.deed, one.reason ?? ""]) }) })}</section>`;
}
