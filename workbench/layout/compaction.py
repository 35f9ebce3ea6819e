"""Rows and codes of compaction: positions of records, and decisions about them and their batches.

In memory only, in native byte order.
"""

from typing import Final

import numpy as np

RECORD_PLACE: Final = np.dtype(
    [
        ("offset", np.int64),
        ("timestamp", np.int64),     # ms
        ("tail", np.int64),          # position after its timestamp: offset delta, key, value …
        ("end", np.int64),           # position after the record
        ("key_start", np.int64),     # position
        ("key_size", np.int32),      # bytes; -1: null
        ("batch", np.int32),         # row of its batch
        ("index", np.int32),         # number of the record in its batch
        ("is_tombstone", np.bool_),  # whether the value is null
        ("is_shortest", np.bool_),   # whether a builder would write the same tail
    ],
    align=True,
)  # fmt: skip

BATCH_OUTCOME: Final = np.dtype(
    [
        # Decided before the records are read:
        ("rule", np.uint8),            # row of the table of reasons
        ("keeping", np.uint8),         # why it is kept without records; 0: it is not
        ("sets_horizon", np.bool_),    # whether it gets a delete horizon even without a tombstone
        # Decided after the records are read:
        ("verdict", np.uint8),
        ("count", np.int64),           # records that were read
        ("kept", np.int64),            # records that are kept
        ("delete_horizon", np.int64),  # ms; -1: none
        ("new_size", np.int64),        # bytes; 0: removed
        ("max_offset", np.int64),      # last kept one, or the batch's if that is kept whole
    ],
    align=True,
)  # fmt: skip

# Properties of a record that rules use: bits that number the columns of the table of reasons.
TOMBSTONE: Final = 1
SUPERSEDED: Final = 2  # a later record of its key is in the map
NO_KEY: Final = 4
BEYOND: Final = 8  # after the last offset in the map
FACTS: Final = 16

# Verdicts for a batch.
COPIED: Final = 1
REBUILT: Final = 2
EMPTIED: Final = 3
REMOVED: Final = 4

# Bits for what a run of batches contains.
HAS_OTHERS: Final = 1  # old or damaged ones
HAS_TRANSACTIONS: Final = 2  # transactional or control batches
HAS_PRODUCERS: Final = 4
HAS_HORIZONS: Final = 8  # delete horizons
HAS_COMPRESSED: Final = 16

# Bits that mark an offset.
WAS_PUT: Final = 1  # under its key
IS_SUPERSEDED: Final = 2  # a later offset was put under the same key

UNUSUAL: Final = 98  # a kernel's code: a builder has to write this batch
