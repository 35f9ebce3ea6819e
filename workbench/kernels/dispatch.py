"""The kernels that the rest of the product calls: compiled where numba is, else the plain twins.

Call them as attributes, ``dispatch.scan_file(…)``: numba is imported when the first is asked for,
so what never reads a batch does not wait for it. `KAFKA_WORKBENCH_KERNELS=plain` asks for the
twins; `COMPILED` tells which are in use.
"""

import importlib
import importlib.util
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any, Final

_ASKED_PLAIN: Final = os.environ.get("KAFKA_WORKBENCH_KERNELS") == "plain"
COMPILED: Final = (
    not _ASKED_PLAIN and sys.byteorder == "little" and importlib.util.find_spec("numba") is not None
)
HAS_PREAD: Final = os.name == "posix"

_MODULES: Final = {
    "are_verbatim": "verbatim",
    "check_batches": "validate",
    "check_crcs": "decode",
    "check_message_crcs": "messages",
    "check_records": "validate_records",
    "choose_entries": "recover",
    "crc32": "checksum",
    "crc32c": "checksum",
    "decide_batches": "retain",
    "decode_messages": "messages",
    "decode_records": "decode",
    "decode_times": "decode",
    "encode_records": "encode",
    "find_keys": "key_table",
    "first_invalid": "recover",
    "locate_records": "locate",
    "measure_records": "encode",
    "murmur2_many": "murmur2",
    "put_keys": "key_table",
    "scan_file": "scan",
    "scan_window": "scan",
    "seal_batch": "retain",
    "superseded_batches": "locate",
    "survey_batches": "locate",
    "write_batches": "retain",
}
_PLAIN_MODULES: Final = {
    "encode": "plain_encode",
    "key_table": "plain_compaction",
    "locate": "plain_compaction",
    "retain": "plain_retain",
    "murmur2": "plain_murmur2",
    "validate": "plain_write",
    "validate_records": "plain_write",
    "verbatim": "plain_encode",
}


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if not COMPILED and not _ASKED_PLAIN:
        warnings.warn(
            "numba is not installed: records are decoded in plain Python, about 100 times slower",
            RuntimeWarning,
            stacklevel=2,
        )
    compiled = _MODULES[name]
    chosen = compiled if COMPILED else _PLAIN_MODULES.get(compiled, "plain")
    module = importlib.import_module(f"workbench.kernels.{chosen}")
    function: Callable[..., Any] = getattr(module, name)
    globals()[name] = function  # found without this function from now on
    return function
