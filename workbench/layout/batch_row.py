"""One row of a batch table: what a header-only scan knows about a batch.

In memory only, in native byte order.

`-1` means "none" or, for `base_offset` and `record_count` of compressed magic 0 and 1, "not in the
header". `problem` is a code from `layout.problems`.
"""

from typing import Final

import numpy as np

BATCH_ROW: Final = np.dtype(
    [
        ("position", np.int64),          # byte in the file
        ("size", np.int64),              # bytes, including the 12 up to the length's end
        ("base_offset", np.int64),
        ("last_offset", np.int64),
        ("base_timestamp", np.int64),    # ms, as stored: the delete horizon if there is one
        ("max_timestamp", np.int64),     # ms
        ("delete_horizon", np.int64),    # ms
        ("producer_id", np.int64),
        ("crc", np.uint32),
        ("partition_leader_epoch", np.int32),
        ("base_sequence", np.int32),
        ("last_sequence", np.int32),
        ("record_count", np.int32),
        ("producer_epoch", np.int16),
        ("attributes", np.int16),
        ("magic", np.int8),
        ("codec", np.int8),
        ("timestamp_type", np.int8),     # -1 none, 0 CreateTime, 1 LogAppendTime
        ("is_transactional", np.bool_),
        ("is_control", np.bool_),
        ("problem", np.uint8),
    ],
    align=True,
)  # fmt: skip
