"""Python's cyclic garbage collector, which costs more than the work where many objects are made."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the collector while millions of objects are made that are all kept, none in a cycle.

    It would look at all of them again and again. In several threads at once it may run again early.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
