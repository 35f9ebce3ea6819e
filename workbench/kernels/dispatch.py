"""The kernels that the rest of the product calls: compiled with numba, or the plain twins.

Call them as attributes, ``dispatch.scan_file(…)``: the first access imports numba, so programs that
never read a batch do not wait for it. While the kernels of a new installation are being compiled in
the background, the twins take their place: see `background`.

`KAFKA_WORKBENCH_KERNELS=plain` selects the twins, `compiled` waits for the compiler instead.
"""

import importlib
import importlib.util
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any, Final

from workbench.kernels import background
from workbench.kernels.cache_folder import KERNELS

_ASKED_PLAIN: Final = KERNELS == "plain"
COMPILED: Final = (
    not _ASKED_PLAIN and sys.byteorder == "little" and importlib.util.find_spec("numba") is not None
)
"""Whether this process uses compiled kernels, now or as soon as they are ready."""

HAS_PREAD: Final = os.name == "posix"

_MODULES: Final = {
    "are_canonical": "writing.canonical",
    "check_batches": "writing.validate",
    "check_crcs": "reading.decode",
    "check_message_crcs": "reading.messages",
    "check_records": "writing.validate_records",
    "choose_entries": "reading.recover",
    "crc32": "checksum",
    "crc32c": "checksum",
    "decide_batches": "compaction.retain",
    "decode_avro": "avro",
    "decode_messages": "reading.messages",
    "decode_records": "reading.decode",
    "encode_records": "writing.encode",
    "find_batch": "reading.search",
    "find_keys": "compaction.key_table",
    "find_record": "reading.search",
    "first_invalid": "reading.recover",
    "gather_bytes": "avro",
    "locate_records": "compaction.locate",
    "measure_records": "writing.encode",
    "murmur2_many": "murmur2",
    "put_keys": "compaction.key_table",
    "scan_file": "reading.scan",
    "scan_window": "reading.scan",
    "seal_batch": "compaction.retain",
    "sum_keys": "compaction.key_table",
    "superseded_batches": "compaction.locate",
    "survey_batches": "compaction.locate",
    "write_batches": "compaction.retain",
}


def is_compiled() -> bool:
    """Return whether the kernels in use are the compiled ones; once they are, they remain so."""
    if not COMPILED or KERNELS in {"compiled", "checked"}:
        return COMPILED
    return background.is_ready() and background.is_worth_loading()


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if not COMPILED and not _ASKED_PLAIN:
        warnings.warn(
            "numba is not installed: records are decoded in plain Python, about 100 times slower",
            RuntimeWarning,
            stacklevel=2,
        )
    is_final = is_compiled() or not COMPILED
    room = "workbench.kernels" if COMPILED and is_final else "workbench.kernels.plain"
    module = importlib.import_module(f"{room}.{_MODULES[name]}")
    function: Callable[..., Any] = getattr(module, name)
    if not is_final:
        return background.counted(function)
    globals()[name] = function  # later accesses do not call this function
    return function
