"""What each version compares in the `meta.properties` of two log directories.

The outcomes are those of `BrokerMetadataCheckpoint.getBrokerMetadataAndOfflineDirs` (2.8.2 to
3.6.2), and of brokers that were started (1.1.1, 2.4.1, 2.7.2, 2.8.2).
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.startup.damages import open_base
from workbench.foresight.startup.predict import predict_startup
from workbench.inspection.verify.verify import verify

Edit = Callable[[str], str]

_ALIKE: Final = "kafka.common.InconsistentBrokerMetadataException"
_ILLEGAL: Final = "java.lang.IllegalArgumentException"
EDITS: Final[dict[str, Edit]] = {
    "more": lambda text: f"{text}owner=somebody\n",
    "line-ends": lambda text: text.replace("\n", "\r\n"),
    "no-version": lambda text: re.sub(r"version=.\n", "", text),
    "version-7": lambda text: re.sub(r"version=.", "version=7", text),
    "no-cluster": lambda text: re.sub(r"cluster\.id=.*\n", "", text),
    "no-id": lambda text: re.sub(r"(broker|node)\.id=.*\n", "", text),
}
_FIRST: Final = {"more": "", "line-ends": "", "no-version": _ILLEGAL, "version-7": "",
                 "no-id": _ILLEGAL}  # fmt: skip
_PAIRS: Final = _FIRST | {"no-cluster": _ALIKE}
_EVERYTHING: Final = {"more": _ALIKE, "line-ends": "", "no-version": _ALIKE, "version-7": _ALIKE,
                      "no-cluster": _ALIKE, "no-id": _ALIKE}  # fmt: skip
_IDS: Final = {"more": "", "line-ends": ""}
OUTCOMES: Final = {
    ("3.0", "1.1.1"): _FIRST,
    ("3.0", "2.4.1"): _PAIRS,
    ("3.0", "2.7.2"): _PAIRS,
    ("3.0", "2.8.2"): _EVERYTHING,
    ("3.0", "3.0.2"): _EVERYTHING,
    ("3.0", "3.4.1"): _EVERYTHING,
    ("3.0", "3.6.2"): _EVERYTHING,
    ("3.3", "3.3.2"): _EVERYTHING,
    ("3.3", "3.4.1"): _IDS,
    ("3.6", "3.6.2"): _IDS,
}
"""Sound directories of a version (3.0 is with ZooKeeper), and the version that starts → edit of
the second directory → the exception; empty: the broker starts."""


@pytest.mark.parametrize(("base", "version"), OUTCOMES)
def test_a_broker_compares_what_its_version_compares(
    base: str, version: str, tmp_path: Path
) -> None:
    root = open_base(base, tmp_path)
    directories = [root / "d1", root / "d2"]
    file = root / "d2" / "meta.properties"
    sound = file.read_text()
    for name, exception in OUTCOMES[base, version].items():
        file.write_bytes(EDITS[name](sound).encode())
        found = predict_startup(directories, kafka=version, consumers=False)
        assert (found.starts, found.exception) == (not exception, exception), name
        kinds = {each.kind for each in verify(directories, kafka=version)}
        damaged = {"meta-properties-mismatch", "meta-properties-damaged"}
        assert bool(kinds & damaged) == (bool(exception) or name == "version-7"), name
