from collections.abc import Callable

import pytest

from tests.golden.cases import Case, names
from workbench.inspection.lookups.log_tail import log_end_offset
from workbench.log_directory import open_log_directory

Golden = Callable[[str], Case]


@pytest.mark.parametrize(
    "name",
    [
        *names("formats|compaction$|message-format|plain|crash-produce|txn$"),
        "4.2.0-damage-clean",
        "k0.10.2-damage",
        "upgrade-chain",
    ],
)
def test_the_end_is_the_one_that_the_whole_walk_finds(name: str, golden: Golden) -> None:
    case = golden(name)
    for label in case.labels:
        for partition in open_log_directory(case.directory(label)).values():
            assert log_end_offset(partition) == partition.log_end_offset
