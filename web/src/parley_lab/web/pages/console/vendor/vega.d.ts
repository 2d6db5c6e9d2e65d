export function compile(spec: object, options?: object): { spec: object };
export function parse(spec: object, config?: object, options?: { ast: boolean }): object;
export class View {
  constructor(runtime: object, options: { renderer: "svg"; expr: unknown });
  initialize(element: Element): View;
  runAsync(): Promise<View>;
  finalize(): View;
}
export const expressionInterpreter: unknown;
