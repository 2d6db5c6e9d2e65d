/** How an answer or a message comes about: what is pasted, how many keys, how often one looks elsewhere, how long it takes. */

/** @typedef {{ pasted_characters: number, keys: number, out_of_focus: number, seconds: number }} Numbers */

/** @returns {Numbers} */
const nothing = () => ({ pasted_characters: 0, keys: 0, out_of_focus: 0, seconds: 0 });

/**
 * Count what happens in a form whose fields are marked with `data-field`. An entry without a name is about the whole form.
 * `taken` has the numbers of a field since the last call, for a form that is sent again and again.
 * @param {HTMLElement} form
 * @returns {{ numbers: (fields: string[]) => Record<string, Numbers>, taken: (field: string) => Numbers, stop: () => void }}
 */
export function counted(form) {
  const since = performance.now();
  /** @type {Map<string, Numbers>} */
  const found = new Map();
  let field = "";
  let focusedAt = since;
  const whole = nothing();
  const of = (/** @type {string} */ name) => found.get(name) ?? (found.set(name, nothing()).get(name) ?? nothing());
  const nameOf = (/** @type {EventTarget | null} */ target) => (target instanceof Element ? (target.closest("[data-field]")?.getAttribute("data-field") ?? "") : "");

  /** @param {Event} event @param {(numbers: Numbers) => void} change */
  function count(event, change) {
    change(whole);
    const name = nameOf(event.target);
    if (name !== "") change(of(name));
  }

  function leave() {
    if (field !== "") of(field).seconds += (performance.now() - focusedAt) / 1000;
    field = "";
  }

  /** @param {EventTarget | null} target */
  function enter(target) {
    leave();
    field = nameOf(target);
    focusedAt = performance.now();
  }

  const active = () => (form.contains(document.activeElement) ? document.activeElement : null);
  const onKey = (/** @type {Event} */ event) => count(event, (numbers) => void (numbers.keys += 1));
  const onPaste = (/** @type {ClipboardEvent} */ event) => onText(event, event.clipboardData);
  const onDrop = (/** @type {DragEvent} */ event) => onText(event, event.dataTransfer);

  /** @param {Event} event @param {DataTransfer | null} data */
  function onText(event, data) {
    // A text that the page refuses is not pasted.
    if (!event.defaultPrevented) count(event, (numbers) => void (numbers.pasted_characters += [...(data?.getData("text") ?? "")].length));
  }

  function onBlur() {
    whole.out_of_focus += 1;
    // The field loses the focus before the window does, and is the active element still.
    const name = nameOf(active());
    if (name !== "") of(name).out_of_focus += 1;
  }

  const until = new AbortController();
  const { signal } = until;
  // Before the field's own handler: the key that sends a message is one of it.
  form.addEventListener("keydown", onKey, { signal, capture: true });
  form.addEventListener("paste", onPaste, { signal });
  form.addEventListener("drop", onDrop, { signal });
  form.addEventListener("focusin", (event) => enter(event.target), { signal });
  form.addEventListener("focusout", leave, { signal });
  addEventListener("blur", onBlur, { signal });
  enter(active());

  /** @param {string[]} fields */
  function numbers(fields) {
    const now = field;
    leave();
    field = now;
    focusedAt = performance.now();
    const rounded = (/** @type {Numbers} */ one) => ({ ...one, seconds: Math.round(10 * one.seconds) / 10 });
    const all = Object.fromEntries(fields.map((name) => [name, rounded(found.get(name) ?? nothing())]));
    return { ...all, "": rounded({ ...whole, seconds: (performance.now() - since) / 1000 }) };
  }

  return {
    numbers,
    taken(name) {
      /** @type {Record<string, Numbers>} */
      const { [name]: own } = numbers([name]);
      const taken = { ...(own ?? nothing()), out_of_focus: whole.out_of_focus };
      found.clear();
      Object.assign(whole, nothing());
      return taken;
    },
    stop: () => until.abort(),
  };
}
