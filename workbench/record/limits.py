"""How much memory one batch can take: readers report larger batches instead of reading them.

A batch of some kilobytes can decompress to gigabytes, and a damaged size can claim as much. The
limits are far above the sizes that brokers accept by default (max.message.bytes: 1 MiB as stored),
and keep readers within 200 MB. Set the environment variable `KAFKA_WORKBENCH_MAX_BATCH_BYTES` to
read larger batches; the other limits move with it.

An engine that writes takes what a broker takes: a batch can be as large as `max.message.bytes`
allows, and decompress to `MOST_CONTENT`; it checks the records as a stream. A batch that it stores
in another codec, or that came in lz4 or snappy, can decompress to eight times `LARGEST_CONTENT`.
What runs the engine only to look at a directory (plans, predictions, rehearsals) keeps the readers'
limit.
"""

import os
from typing import Final

from workbench.layout.integers import INT32_MAX

VARIABLE: Final = "KAFKA_WORKBENCH_MAX_BATCH_BYTES"
DEFAULT: Final = 32 << 20
SMALLEST: Final = 1 << 20
LARGEST: Final = 1 << 30
BYTES_A_RECORD: Final = 64  # of growing columns: offset, timestamp, positions of key and value


def _from_environment() -> int:
    """Return the bytes that the variable sets; a value that is not a number sets nothing."""
    wanted = os.environ.get(VARIABLE, "")
    if not (wanted.isascii() and wanted.isdecimal() and len(wanted) < len(str(1 << 62))):
        return DEFAULT
    return min(max(int(wanted), SMALLEST), LARGEST)


LARGEST_CONTENT: Final = _from_environment()
"""The largest size in bytes to which the records of one batch can decompress."""

MOST_CONTENT: Final = INT32_MAX
"""The largest size in bytes to which the engine decompresses one batch: Java's largest array."""

LARGEST_BATCH: Final = 2 * LARGEST_CONTENT
"""The largest size in bytes of one stored batch; a larger size is treated as damage."""

MOST_RECORDS: Final = LARGEST_CONTENT // BYTES_A_RECORD
"""The largest number of records of one batch."""
