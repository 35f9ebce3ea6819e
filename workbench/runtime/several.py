"""One thing, or several: what every public call that takes names understands by a single name."""

import os
from collections.abc import Iterable
from typing import Any, overload
from uuid import UUID

Names = Iterable[str] | str | None
"""Names; None: all."""

Partitions = Iterable[int | str] | int | str | None
"""Numbers of partitions, or names such as ``"orders-0"``; None: all."""


@overload
def several(given: None) -> None: ...
@overload
def several(given: Any) -> tuple[Any, ...]: ...
def several(given: Any) -> Any:
    """Return one thing, or several, as a tuple; None stays None.

    A text, a number, a path, an id, and a named tuple such as a `TopicPartition` are one thing: its
    characters or fields are not.
    """
    if given is None:
        return None
    is_one = isinstance(given, str | bytes | int | os.PathLike | UUID) or hasattr(given, "_fields")
    return (given,) if is_one else tuple(given)
