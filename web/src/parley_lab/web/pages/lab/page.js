/** What the page of a kind is given. */

/**
 * @typedef {object} Api
 * @property {(path: string) => Promise<any>} get
 * @property {(path: string, body?: unknown, key?: string) => Promise<any>} post With a key the request is done once.
 * @property {(path: string, body?: unknown) => Promise<any>} put
 * @property {(path: string, body?: unknown) => void} hint A request whose loss does not matter.
 * @property {(path: string) => Promise<any>} remove
 *
 * @typedef {object} StageProps
 * @property {any} me The participant, as `GET /v1/me` tells.
 * @property {any} page The stage, as `GET /v1/me/stages/{id}` tells; `page.view` is the kind's own.
 * @property {boolean} isCurrent Whether the participant is on this stage now, and not looking back.
 * @property {Api} api Requests on behalf of the participant.
 * @property {(answer?: unknown) => Promise<void>} advance Answer the page and go on. A refused answer is thrown; a
 *   refusal without an answer is shown.
 * @property {(askId: string, answer: unknown) => Promise<void>} answer Answer what is asked; errors are thrown.
 * @property {(act: () => Promise<any>) => Promise<void>} act Do something, show a refusal, and read the page anew.
 * @property {() => void} refresh Read the page anew.
 * @property {(hear: (type: string, event: any) => void) => () => void} listen Hear events; the answer stops it. When
 *   the connection is cut there is one of type `cut`, and one of type `connected` when it is back. Who types already is told at once.
 *
 * @typedef {(page: any, type: string, event: any) => boolean} ShowsItself May be exported as `showsItself` beside the
 *   component: whether it shows this event without the page being read anew. Left out: every event has it read anew.
 */
export {};
