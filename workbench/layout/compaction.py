"""Rows and codes of compaction: where records lie, what is decided about them and their batches.

In memory only, in native byte order.
"""

from typing import Final

import numpy as np

RECORD_PLACE: Final = np.dtype(
    [
        ("offset", np.int64),
        ("timestamp", np.int64),     # ms
        ("tail", np.int64),          # byte place behind its timestamp: offset delta, key, value …
        ("end", np.int64),           # byte place behind the record
        ("key_start", np.int64),     # byte place
        ("key_size", np.int32),      # bytes; -1: null
        ("batch", np.int32),         # row of its batch
        ("index", np.int32),         # which record of it
        ("is_tombstone", np.bool_),  # whether the value is null
        ("is_shortest", np.bool_),   # whether a builder would write the tail as it stands
    ],
    align=True,
)  # fmt: skip

BATCH_OUTCOME: Final = np.dtype(
    [
        # What is decided before the records are looked at:
        ("rule", np.uint8),            # row of the table of reasons
        ("keeping", np.uint8),         # why it stays without records; 0: it does not
        ("sets_horizon", np.bool_),    # whether it gets a delete horizon even without a tombstone
        # … and afterwards:
        ("verdict", np.uint8),
        ("count", np.int64),           # records that were looked at
        ("kept", np.int64),            # records that stay
        ("delete_horizon", np.int64),  # ms; -1: none
        ("new_size", np.int64),        # bytes; 0: removed
        ("max_offset", np.int64),      # last that stays, or of the batch if that stays whole
    ],
    align=True,
)  # fmt: skip

# What a rule looks at in a record: bits that number the columns of the table of reasons.
TOMBSTONE: Final = 1
SUPERSEDED: Final = 2  # a later record of its key is in the map
NO_KEY: Final = 4
BEYOND: Final = 8  # behind what is in the map
FACTS: Final = 16

# What becomes of a batch.
COPIED: Final = 1
REBUILT: Final = 2
EMPTIED: Final = 3
REMOVED: Final = 4

# What there is among batches: bits.
HAS_OTHERS: Final = 1  # old or damaged ones
HAS_TRANSACTIONS: Final = 2  # transactional or control batches
HAS_PRODUCERS: Final = 4
HAS_HORIZONS: Final = 8  # delete horizons
HAS_COMPRESSED: Final = 16

# What is marked of an offset: bits.
WAS_PUT: Final = 1  # under its key
IS_SUPERSEDED: Final = 2  # a later offset was put under the same key

UNUSUAL: Final = 98  # code of a kernel: a builder has to write this batch
