"""Names of keys in a picture: the keys themselves if they may be shown, otherwise numbers."""

from collections.abc import Sequence
from typing import Final

from widgets.view.records import Lens

_LONGEST: Final = 14  # characters of a short name
_HIDDEN: Final = "key "  # before the number of a key that is not shown


def _common_start(texts: Sequence[str]) -> str:
    """Return the common start of all keys, up to a mark between words; "" for a single key."""
    if len(texts) < 2:
        return ""
    first, last = min(texts), max(texts)
    same = next(
        (at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other),
        min(len(first), len(last)),
    )
    return first[: max(first.rfind(mark, 0, same) + 1 for mark in "-_:/. ")]


class KeyNames:
    """Names of keys in the picture.

    Args:
        keys: the keys in the order in which they came.
        lens: whether keys are shown.

    Attributes:
        prefix: the common start of all keys, which short names omit.
    """

    def __init__(self, keys: Sequence[bytes], lens: Lens) -> None:
        self._lens = lens
        self._full = [self._text(number, key) for number, key in enumerate(keys)]
        self.prefix = _common_start(self._full) if lens.show_values else _HIDDEN

    def _text(self, number: int, key: bytes) -> str:
        return (
            self._lens.cell("key", key)[0] if self._lens.show_values else f"{_HIDDEN}{number + 1}"
        )

    def full(self, number: int) -> str:
        """The key, or its number where keys are not shown; "no key" for -1."""
        return self._full[number] if number >= 0 else "no key"

    def rows(self) -> list[list[str]]:
        """Short and full name of every key."""
        return [[self._short(text), text] for text in self._full]

    def _short(self, text: str) -> str:
        short = text.removeprefix(self.prefix)
        return short if len(short) <= _LONGEST else f"{short[: _LONGEST - 1]}…"
