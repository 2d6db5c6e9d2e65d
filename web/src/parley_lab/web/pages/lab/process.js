/** How an answer comes about: what is pasted, which keys are pressed, how often one looks elsewhere, and how long it takes. */

/** @typedef {{ pasted_characters: number, keys: number, out_of_focus: number, seconds: number }} Numbers */

/** @returns {Numbers} */
const nothing = () => ({ pasted_characters: 0, keys: 0, out_of_focus: 0, seconds: 0 });

/**
 * Count what happens in a form whose fields are marked with `data-field`. An entry without a name is about the whole form.
 * @param {HTMLElement} form
 * @returns {{ numbers: (fields: string[]) => Record<string, Numbers>, stop: () => void }}
 */
export function counted(form) {
  const since = performance.now();
  /** @type {Map<string, Numbers>} */
  const found = new Map();
  let field = "";
  let focusedAt = 0;
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

  /** @param {FocusEvent} event */
  function enter(event) {
    leave();
    field = nameOf(event.target);
    focusedAt = performance.now();
  }

  const onKey = (/** @type {Event} */ event) => count(event, (numbers) => void (numbers.keys += 1));
  const onPaste = (/** @type {ClipboardEvent} */ event) => count(event, (numbers) => void (numbers.pasted_characters += [...(event.clipboardData?.getData("text") ?? "")].length));
  const onDrop = (/** @type {DragEvent} */ event) => count(event, (numbers) => void (numbers.pasted_characters += [...(event.dataTransfer?.getData("text") ?? "")].length));
  const onBlur = () => {
    whole.out_of_focus += 1;
    if (field !== "") of(field).out_of_focus += 1;
  };
  form.addEventListener("keydown", onKey);
  form.addEventListener("paste", onPaste);
  form.addEventListener("drop", onDrop);
  form.addEventListener("focusin", enter);
  form.addEventListener("focusout", leave);
  addEventListener("blur", onBlur);

  return {
    numbers(fields) {
      const now = field;
      leave();
      field = now;
      focusedAt = performance.now();
      const rounded = (/** @type {Numbers} */ one) => ({ ...one, seconds: Math.round(10 * one.seconds) / 10 });
      const all = Object.fromEntries(fields.map((name) => [name, rounded(found.get(name) ?? nothing())]));
      return { ...all, "": rounded({ ...whole, seconds: (performance.now() - since) / 1000 }) };
    },
    stop: () => removeEventListener("blur", onBlur),
  };
}
