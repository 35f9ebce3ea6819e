"""Python's cyclic garbage collector, which costs more than the work where many objects are made."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_MANY: Final = 1_000_000  # objects more than there were when it last looked at the new ones


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


@contextmanager
def gc_seldom() -> Iterator[None]:
    """Let the collector look after a million new objects, not 700: for work that soon ends."""
    before = gc.get_threshold()
    gc.set_threshold(_MANY, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
