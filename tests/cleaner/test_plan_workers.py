"""A plan of several workers is that of one: decisions, counts, steps and errors."""

from pathlib import Path
from random import Random

import pytest

from tests.cleaner.cleaning import LATER, Cleanable, map_of
from tests.log.logs import NOW
from workbench.cleaner.cleaner import Cleaning, plan_cleaning
from workbench.cleaner.config import CleanerConfig
from workbench.errors import CorruptFileError
from workbench.runtime import workers
from workbench.runtime.steps import Step

CONFIG = CleanerConfig(buffer_size=700)  # some batches a piece
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers start for files of any size."""
    monkeypatch.setattr(workers, "SHARE", 1)


def filled(root: Path, seed: int) -> Cleanable:
    """Return a log of all codecs, tombstones, and transactions, in several segments."""
    chance, log = Random(seed), Cleanable(root)
    for _ in range(120):
        keys = [chance.randrange(30) for _ in range(chance.randint(1, 9))]
        producer = chance.randrange(3)
        if chance.random() < 0.3:
            log.within(producer, *keys)
            (log.commit if chance.random() < 0.5 else log.abort)(producer)
        else:
            value = chance.choice([b"v" * chance.randrange(300), None])
            log.append(*keys, value=value, codec=chance.choice(CODECS))
        if chance.random() < 0.05:
            log.roll()
    log.roll()
    return log


def planned(
    log: Cleanable, count: int, now: int, keys: int
) -> tuple[Cleaning, list[list[object]], list[Step]]:
    """Return a plan by a number of workers, its columns as lists, and the steps told."""
    steps: list[Step] = []
    log.log.context.observer = steps.append
    end = log.log.active_segment.base_offset
    plan = plan_cleaning(log.log, 0, end, now, CONFIG, offset_map=map_of(keys, 0.7), workers=count)
    found = plan.decisions
    columns = (found.batches, found.batch, found.offsets, found.reasons, found.newer_offsets)
    return plan, [column.tolist() for column in columns], steps


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("keys", [13, 100])
def test_the_plan_does_not_depend_on_the_workers(seed: int, keys: int, tmp_path: Path) -> None:
    """CL-5: also where the map is full in the middle of a batch, and the rest is not read."""
    log = filled(tmp_path, seed)
    half = log.log.segments[len(log.log.segments) // 2].base_offset
    log.clean(upper=half)  # delete horizons for the tombstones
    for now in (NOW, LATER):
        one, columns, steps = planned(log, 1, now, keys)
        assert len(one.decisions) > 40
        for count in (2, 4):
            assert planned(log, count, now, keys)[1:] == (columns, steps)
            assert planned(log, count, now, keys)[0].stats == one.stats


def test_a_batch_that_cannot_be_read_is_the_same_error(tmp_path: Path) -> None:
    log = filled(tmp_path, 5)
    segment = max(log.log.segments, key=lambda each: each.size)
    rows = segment.log.batches().rows
    row = rows[(rows["codec"] == 4) & (rows["record_count"] > 0)][-1]
    with Path(segment.log.path).open("r+b") as file:
        file.seek(int(row["position"]) + 61)
        file.write(b"\xff" * 12)
    told = []
    for count in (1, 3):
        with pytest.raises(CorruptFileError) as error:
            planned(log, count, NOW, 100)
        told.append(str(error.value))
    assert told[0] == told[1]
    assert f"byte {row['position']}" in told[0]


def test_fewer_than_one_worker_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="workers is 0"):
        planned(filled(tmp_path, 1), 0, NOW, 100)
