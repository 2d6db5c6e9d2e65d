// A frontend of our own: index.html?lab=<address of the lab>&code=<last part of a link to join>
import type { Me, QuestionForm, StagePage } from "../../clients/typescript/api";
import { Parley, Refused } from "../../clients/typescript/parley.js";

const given = new URLSearchParams(location.search);
const lab = new Parley(given.get("lab") ?? location.origin, localStorage.getItem("token"));
const main = document.querySelector("main") as HTMLElement;

function put<Tag extends keyof HTMLElementTagNameMap>(parent: Element, tag: Tag, text = ""): HTMLElementTagNameMap[Tag] {
  return Object.assign(parent.appendChild(document.createElement(tag)), { textContent: text });
}

// `crypto.randomUUID` is missing where a page comes over plain HTTP from another machine.
const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

async function join(): Promise<Me> {
  if (lab.token !== null) return lab.call("GET /v1/me");
  const key = (localStorage["join_key"] ??= newKey());
  const joined = await lab.call("POST /v1/join/{code}", { path: { code: given.get("code") ?? "" }, body: { join_key: key } });
  lab.token = localStorage["token"] = joined.token;
  return joined.me;
}

async function show(me: Me): Promise<void> {
  const at = me.is_over ? null : me.stage_id;
  const page = at === null ? null : await lab.call("GET /v1/me/stages/{stage_id}", { path: { stage_id: at } });
  const thread = page?.thread ? { thread_id: page.thread.id } : null;
  const said = thread && (await lab.call("GET /v1/me/threads/{thread_id}/messages", { path: thread }));
  // From here on nothing is waited for, so that two events at once do not mix their pages.
  main.replaceChildren();
  if (page === null) return void put(main, "h1", `The end: ${me.status}`);
  put(main, "h1", me.stages.find((stage) => stage.id === at)?.title);
  if (page.state === "waiting") return void put(main, "p", page.lock?.reason);
  for (const line of page.view !== null && "lines" in page.view ? page.view.lines : []) put(main, "p", line);
  for (const one of said?.messages ?? []) put(main, "p", `${one.author?.profile.name ?? "The lab"}: ${one.text}`);
  if (thread) talk(thread);
  ask(page, page.forms?.find((form) => form.ask_id === null));
}

function talk(path: { thread_id: string }): void {
  const box = Object.assign(put(main, "input"), { placeholder: "Your message" });
  put(main, "button", "Send").onclick = () =>
    lab.call("POST /v1/me/threads/{thread_id}/messages", { path, body: { text: box.value, client_message_id: newKey() } });
}

function ask(page: StagePage, wanted: QuestionForm | undefined): void {
  const form = put(main, "form");
  const fields = (wanted?.form.properties ?? {}) as { [name: string]: { title: string; type: string } };
  for (const [name, field] of Object.entries(fields)) put(put(form, "label", field.title), "input").name = name;
  const problems = put(form, "p");
  put(form, "button", "Go on");
  form.onsubmit = async (event) => {
    event.preventDefault();
    const entered = Object.entries(fields).map(([name, { type }]) => [name, type === "string" ? form[name].value : Number(form[name].value)]);
    const body = { answer: wanted ? Object.fromEntries(entered) : null };
    const next = await lab.call("POST /v1/me/stages/{stage_id}/advance", { path: { stage_id: page.stage_id }, body }).catch((refused: Refused) => refused);
    if (next instanceof Refused) problems.textContent = next.problem.problems?.map((one) => `${one.where}: ${one.expected}`).join("; ") || next.message;
    else await show(next.me);
  };
}

const me = await join();
await show(me);
lab.follow(me.cursor, async (event) => {
  if (event.type === "message.created" || event.type === "stage.unlocked") await show(await lab.call("GET /v1/me"));
});
