/** Groups that are added to an experiment while it runs. */
import { h, html, useState } from "../vendor/preact.js";
import { post } from "./api.js";
import { tell } from "./confirm.js";
import { Choice, Dialog, Failure, Field, Press, useOneRun, useRequestKey } from "./ui.js";
import { t } from "./words.js";

/** @param {{ experiment: any, board: import("./board_state.js").BoardState, onClose: () => void }} props */
export function AddGroups({ experiment, board, onClose }) {
  const [count, setCount] = useState("1");
  const [treatment, setTreatment] = useState("");
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const arms = board.about.treatments;
  const key = useRequestKey();
  const add = useOneRun(async () => {
    const asked = { count: Number(count), ...(treatment ? { treatment } : {}) };
    if (!(asked.count >= 1)) return;
    setError(null);
    try {
      const made = await post(`/experiments/${experiment.id}/cohorts`, asked, key.of(asked));
      onClose();
      tell(t("{count} group is added.|{count} groups are added.", { count: made.cohorts.length }));
      await board.read();
    } catch (wrong) {
      setError(wrong);
    }
  });
  return h(Dialog, { title: t("Add groups"), onClose, children: html`<p>${t("Each is like the first group of its arm in the file, with seats and agents of its own.")}</p>${error ? h(Failure, { error }) : null}
    ${h(Field, { label: t("How many"), value: count, onInput: setCount, type: "number", hasFocus: true, onEnter: add })}
    ${arms.length > 1 ? h(Choice, { label: t("arm"), isHidden: false, value: treatment, options: [["", t("the one with the fewest groups")], ...arms.map((/** @type {string} */ one) => /** @type {[string, string]} */ ([one, one]))], onChoose: setTreatment }) : null}
    <div class="c-acts">${h(Press, { kind: "primary", isDisabled: !(Number(count) >= 1), onPress: add, children: t("Add") })}${h(Press, { onPress: onClose, children: t("Cancel") })}</div>` });
}
