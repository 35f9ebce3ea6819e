"""The kernels that the rest of the product calls: compiled where numba is, else the plain twins.

`KAFKA_WORKBENCH_KERNELS=plain` asks for the twins; `COMPILED` tells which are in use.
"""

import importlib.util
import os
import sys
import warnings

_ASKED_PLAIN = os.environ.get("KAFKA_WORKBENCH_KERNELS") == "plain"
COMPILED = (
    not _ASKED_PLAIN and sys.byteorder == "little" and importlib.util.find_spec("numba") is not None
)

if COMPILED:
    from workbench.kernels.checksum import crc32, crc32c
    from workbench.kernels.decode import check_crcs, decode_records
    from workbench.kernels.messages import check_message_crcs, decode_messages
    from workbench.kernels.scan import HAS_PREAD, scan_file, scan_window
else:
    if not _ASKED_PLAIN:
        warnings.warn(
            "numba is not installed: records are decoded in plain Python, about 100 times slower",
            RuntimeWarning,
            stacklevel=2,
        )
    from workbench.kernels.plain import (  # type: ignore[assignment]
        HAS_PREAD,
        check_crcs,
        check_message_crcs,
        crc32,
        crc32c,
        decode_messages,
        decode_records,
        scan_file,
        scan_window,
    )

__all__ = [
    "COMPILED",
    "HAS_PREAD",
    "check_crcs",
    "check_message_crcs",
    "crc32",
    "crc32c",
    "decode_messages",
    "decode_records",
    "scan_file",
    "scan_window",
]
