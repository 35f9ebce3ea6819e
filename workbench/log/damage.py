"""Errors for bytes of unknown origin: whatever they break raises an error that says where.

The checks of the engine raise errors of their own, with byte and reason. This covers damage that
no check foresaw, when a number does not fit or an entry is missing.
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from workbench.errors import CorruptLogError, WorkbenchError

_LOW_LEVEL: Final = (ValueError, ArithmeticError, LookupError, struct.error)


@contextmanager
def raise_as_corrupt(path: str, doing: str) -> Iterator[None]:
    """Turn the errors of Python and numpy at invalid numbers into `CorruptLogError`.

    Args:
        path: folder or file that the numbers come from.
        doing: what was tried: "loaded".

    Raises:
        CorruptLogError: a low-level error was raised; it is the cause.
    """
    try:
        yield
    except WorkbenchError:
        raise
    except _LOW_LEVEL as error:
        problem = f"cannot be {doing}: {error} ({type(error).__name__})"
        raise CorruptLogError(path, None, problem) from error
