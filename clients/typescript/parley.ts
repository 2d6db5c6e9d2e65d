// A small client of the lab's REST API. The types of requests and answers are made from its OpenAPI schema.
import type { Operations, ProblemDetails, StreamEvent } from "./api";

/** A request that the lab refused, with its problem details. */
export class Refused extends Error {
  constructor(readonly problem: ProblemDetails) {
    super(problem.detail);
  }
}

type Asked<Name extends keyof Operations> = Omit<Operations[Name], "answer"> & { once?: string };
type Given<Name extends keyof Operations> = Partial<Asked<Name>> extends Asked<Name> ? [asked?: Asked<Name>] : [asked: Asked<Name>];

export class Parley {
  /** `token`: of a participant, or the key of an experimenter; null before joining. */
  constructor(readonly address: string, public token: string | null = null) {}

  /** The answer to one request, such as `call("GET /v1/me")`. `once` is its Idempotency-Key. */
  async call<Name extends keyof Operations>(name: Name, ...[asked]: Given<Name>): Promise<Operations[Name]["answer"]> {
    const { path = {}, query = {}, body, once } = (asked ?? {}) as { path?: object; query?: object; body?: unknown; once?: string };
    const [method, template] = name.split(" ") as [string, string];
    const url = new URL(Object.entries(path).reduce((all, [key, value]) => all.replace(`{${key}}`, encodeURIComponent(value)), template), this.address);
    for (const [key, value] of Object.entries(query)) if (value !== undefined && value !== null) url.searchParams.append(key, String(value));
    const headers = new Headers();
    if (this.token !== null) headers.set("Authorization", `Bearer ${this.token}`);
    if (body !== undefined) headers.set("Content-Type", "application/json");
    if (once !== undefined) headers.set("Idempotency-Key", once);
    const answer = await fetch(url, { method, headers, body: body === undefined ? null : JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Refused(JSON.parse(text));
    return (text === "" ? undefined : JSON.parse(text)) as Operations[Name]["answer"];
  }

  /**
   * Follow the participant's stream from a cursor, until the answer is called. Each connection takes a ticket of its own;
   * after a cut it goes on from the last event that came.
   */
  follow(cursor: string, onEvent: (event: StreamEvent) => void): () => void {
    let source: EventSource | null = null;
    let isOver = false;
    const connect = async (): Promise<void> => {
      if (isOver) return;
      try {
        const { ticket } = await this.call("POST /v1/stream-tickets");
        if (isOver) return;
        const url = new URL("/v1/me/stream", this.address);
        url.search = new URLSearchParams({ ticket, after: cursor }).toString();
        source = new EventSource(url);
        source.onerror = again;
        for (const type of TYPES) source.addEventListener(type, take);
      } catch (error) {
        // A stream that is refused, or a token that is void, is not there any more.
        if (!(error instanceof Refused) || error.problem.can_retry) again();
      }
    };
    const take = (told: MessageEvent<string>): void => {
      cursor = told.lastEventId || cursor;
      onEvent(JSON.parse(told.data));
    };
    const again = (): void => {
      source?.close();
      setTimeout(() => void connect(), 1000);
    };
    void connect();
    return () => {
      isOver = true;
      source?.close();
    };
  }
}

/** The events of a stream; the compiler finds one that is missing here. */
const TYPES = Object.keys({
  "member.moved": 0, "member.left": 0, "member.profile_changed": 0, "member.paused": 0, "member.resumed": 0,
  "member.check_passed": 0, "member.checked": 0, "member.transfer_offered": 0, "member.transfer_withdrawn": 0, "member.messaged": 0, "stage.unlocked": 0,
  "stage.updated": 0, "ask.opened": 0, "ask.answered": 0, "message.created": 0, "message.reacted": 0,
  "message.unreacted": 0, "thread.opened": 0, "thread.updated": 0, "thread.ended": 0, "thread.typing": 0,
  "cohort.started": 0, "cohort.ended": 0, "experiment.paused": 0, "experiment.resumed": 0,
} satisfies Record<StreamEvent["type"], 0>);
