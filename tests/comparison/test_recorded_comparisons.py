"""What is said of the disks of recorded clusters, against what their brokers did before and after.

The cases are in `tests.golden.replication_cases`: what was acknowledged, where each broker was, and
which logs were truncated.
"""

from collections.abc import Callable
from functools import cache
from typing import Final

import pytest

import workbench as wb
from tests.golden.replication_cases import END, NAMES, ReplicationCase, open_replication_case
from workbench.comparison.results import PartitionComparison

PARTITION: Final = "ledger-0"

Compared = Callable[[str], tuple[ReplicationCase, dict[str, PartitionComparison]]]

AT_HIGH_WATERMARK: Final = {
    # The leader had grown to offset 2 when broker 1 started, so that it truncated no further.
    ("0.10.2.2-high-watermark-truncation", 14, 1, 2): 1,
    # The leader ended at offset 1: out of range, and broker 1 halts instead of truncating more.
    ("0.10.2.2-old-leader-halts", 11, 1, 2): 1,
    # The first of two: then a fetch was out of range, and broker 1 truncated to offset 2.
    ("0.10.2.2-unclean-election", 13, 1, 3): 2,
}
"""Case, step, broker and offset of a truncation → what was predicted instead.

Each truncates to the broker's own high watermark; the prediction goes on to the end.
"""


RAISED: Final = {("0.10.2.2-high-watermark-truncation", "2"): 3}
"""Case and broker → the high watermark at `END`, which grew after the broker was last asked,
while all brokers shut down."""


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Compared:
    """Return a function from a case's name to the case and its comparisons, label by label."""
    into = tmp_path_factory.mktemp("compared")

    @cache
    def of(name: str) -> tuple[ReplicationCase, dict[str, PartitionComparison]]:
        case = open_replication_case(name, into)
        version = name.split("-", maxsplit=1)[0]
        return case, {
            label: wb.compare_replicas(
                {broker: case.directory(label, broker) for broker in case.brokers},
                version=version,
            )[PARTITION]
            for label in case.labels
        }

    return of


def leader_at(case: ReplicationCase, step: int) -> int:
    """Return the newest leader that is known at a step."""
    known = [one["state"]["leader"] for one in case.steps[: step + 1] if one["state"]]
    return int([each for each in known if each is not None and each >= 0][-1])


@pytest.mark.parametrize("name", NAMES)
def test_offsets_are_those_that_the_brokers_told(name: str, compared: Compared) -> None:
    case, found = compared(name)
    checked = 0
    for label, each in found.items():
        for replica in each.replicas:
            told = case.offsets(label, int(replica.broker))
            if told is None:
                continue
            checked += 1
            assert replica.log_end_offset == told.log_end_offset, (label, replica.broker)
            high = told.high_watermark
            if label == END:
                high = RAISED.get((name, replica.broker), high)
            assert replica.high_watermark == high, (label, replica.broker)
            if label == END:
                assert replica.stop == "clean"
                assert replica.log_start_offset == told.log_start_offset
            else:  # the checkpoint of log start offsets is written once a minute
                assert replica.log_start_offset <= told.log_start_offset
    assert checked


@pytest.mark.parametrize("name", NAMES)
def test_truncations_are_predicted_from_the_label_before(name: str, compared: Compared) -> None:
    case, found = compared(name)
    for step, broker, offset in case.truncations:
        before = [label for label, number in case.labels.items() if number < step]
        if not before:
            continue
        leader = leader_at(case, step)
        predicted = found[before[-1]].would_truncate_to(str(broker))[str(leader)]
        assert predicted == AT_HIGH_WATERMARK.get((name, step, broker, offset), offset), step


def test_the_known_deviations_were_recorded(compared: Compared) -> None:
    for (name, *truncation), predicted in AT_HIGH_WATERMARK.items():
        case, found = compared(name)
        assert tuple(truncation) in [tuple(each) for each in case.truncations]
        step, broker, offset = truncation
        label = [label for label, number in case.labels.items() if number < step][-1]
        assert found[label].replica(str(broker)).high_watermark == offset > predicted


@pytest.mark.parametrize("name", NAMES)
def test_lost_acknowledged_records_are_called_lost(name: str, compared: Compared) -> None:
    """Of what acks=all promised, exactly that is lost which the disks before had shown as lost."""
    case, found = compared(name)
    served = {value for _, value in case.consumed}
    start = max(replica.log_start_offset for replica in found[END].replicas)
    lost = {
        each.offset
        for each in case.acknowledged
        if each.acks == -1 and each.value not in served and (each.offset or 0) >= start
    }
    leader = str(leader_at(case, len(case.steps) - 1))
    told: set[int] = set()
    for label, each in found.items():
        if label == END:
            continue
        ranges = [(r.start, r.end) for r in each.committed.lost if not r.is_on_disk]
        under = each.leaderships[leader].lost
        ranges += [] if under is None else [under]
        told |= {offset for first, end in ranges for offset in range(first, end)}
    assert told == lost
