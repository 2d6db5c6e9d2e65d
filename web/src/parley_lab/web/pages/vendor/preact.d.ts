// What the vendored file exports, for the type checker alone.
export { Fragment, cloneElement, createContext, h, render, toChildArray } from "preact";
export {
  useCallback, useContext, useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useRef, useState,
} from "preact/hooks";
export { batch, computed, effect, signal, useComputed, useSignal } from "@preact/signals";
export { html } from "htm/preact";
