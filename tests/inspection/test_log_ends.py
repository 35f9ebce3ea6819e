"""Where a log ends: for a broker, and for those who read what is behind damage."""

from collections.abc import Callable

import pytest

from tests.golden.cases import Case, names
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
            for segment in partition.segments:
                near_the_end = segment.next_offset
                assert len(segment.batches) >= 0  # walks all of it, and keeps the table
                assert segment.next_offset == near_the_end
