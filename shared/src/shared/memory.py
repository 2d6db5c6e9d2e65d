"""How the interpreter of a service keeps its memory."""

import gc

_ALLOCATIONS_BETWEEN_COLLECTIONS = 50_000


def collect_garbage_rarely() -> None:
    """Take what was imported out of garbage collection, and collect the rest less often.

    A service allocates many short-lived objects, which reference counting frees by itself. With the interpreter's
    defaults a full collection stops it for about 100 ms, and collections take a tenth of its CPU time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS_BETWEEN_COLLECTIONS, 20, 20)
