"""How many examples, or bytes, a test takes: fewer in `make test` than in `make test-long`."""

from typing import Any, Final

import pytest
from hypothesis import settings

LEAST: Final = 10


def examples(per_hundred: int, **others: Any) -> settings:
    """Return settings with more or fewer examples than the profile's.

    Args:
        per_hundred: their number where a profile makes 100; `LEAST` at least.
        others: other settings.
    """
    count = max(settings().max_examples * per_hundred // 100, LEAST)
    return settings(max_examples=count, **others)


every_byte: Final = pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.long)])
"""Gives a test the distance between the bytes that it damages: fields have 1, 2, 4 or 8 bytes."""
