"""The bounds of Java's numbers, which bound offsets, times, sizes and sequence numbers."""

from typing import Final

INT32_MAX: Final = 2**31 - 1
INT64_MAX: Final = 2**63 - 1
INT64_MIN: Final = -(2**63)
