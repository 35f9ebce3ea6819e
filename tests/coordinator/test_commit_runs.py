"""A load that reads only the last commit of each key in a run gives what reading each one gives."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.coordinator.writing import CoordinatorLog, Pair, commit, group, record, table_of
from tests.examples import examples
from workbench.coordinator.groups import commit_records, group_load
from workbench.coordinator.groups.classic.group import ClassicGroup
from workbench.coordinator.groups.commit_records import read_commit, usual_commits
from workbench.coordinator.groups.groups import Group
from workbench.coordinator.groups.offset_metadata import OffsetAndMetadata
from workbench.coordinator.runtime.era import CoordinatorEra
from workbench.coordinator.runtime.log_records import read_log_chunks
from workbench.inspection.listing import list_log_directories
from workbench.runtime.steps import Step

TOPIC_ID = "q2itc_CbSySKWltU1niWnw"


@st.composite
def pairs(draw: Any) -> Pair:
    """Return a commit, nearly always a usual one."""
    version = draw(st.sampled_from([0, 1, 2, 3, 3, 3, 4, 4]))
    fields = {"metadata": draw(st.sampled_from(["", "x", "é" * 80, "y" * 200]))}
    if version == 4 and draw(st.booleans()):
        fields["topicId"] = TOPIC_ID
    kind = draw(st.integers(0, 30))
    name, offset = f"g{draw(st.integers(0, 2))}", draw(st.integers(0, 99))
    key, value = commit(name, "foo", draw(st.integers(0, 1)), offset, version, **fields)
    assert value is not None
    special: dict[int, Pair] = {
        0: (key, None),
        1: (key, value[: draw(st.integers(0, len(value)))]),
        2: (key, b"\x00\x63" + value[2:]),
        3: ((key or b"")[:9], value),
        4: (None, value),
        5: group(name),
        6: record(3, {"groupId": "m"}, {"epoch": 4}),
        7: (key, value + b"more"),
        8: (b"\x00\x01\x00\x63" + (key or b""), value),
    }
    return special.get(kind, (key, value))


def _write(log: CoordinatorLog, batches: list[tuple[int, list[Pair]]]) -> None:
    for kind, chosen in batches:
        log.append(*chosen, producer={0: 7, 1: 8, 2: 7}.get(kind))
        if kind in {1, 2, 3, 4}:
            log.marker(7 if kind < 4 else 8, commit=kind != 3)


def _shown(groups: dict[str, Group]) -> dict[str, object]:
    return {
        name: (each.fields(), each.record_offset) if isinstance(each, ClassicGroup) else each
        for name, each in groups.items()
    }


@pytest.mark.parametrize("shortest", [2, 16])
@pytest.mark.parametrize("era", list(CoordinatorEra))
@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    batches=st.lists(
        st.tuples(st.integers(0, 6), st.lists(pairs(), min_size=1, max_size=60)),
        min_size=1,
        max_size=6,
    )
)
def test_both_ways_load_the_same(
    era: CoordinatorEra,
    shortest: int,
    batches: list[tuple[int, list[Pair]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(group_load, "_SHORTEST_RUN", shortest)
    log = CoordinatorLog(tmp_path)
    _write(log, batches)
    steps: list[Step] = []
    quick, slow = log.load(era), log.load(era, steps.append)
    assert quick.table.offsets == slow.table.offsets
    assert quick.table.pending == slow.table.pending
    assert list(quick.table.offsets) == list(slow.table.offsets)
    assert list(quick.groups) == list(slow.groups)
    assert _shown(quick.groups) == _shown(slow.groups)
    assert (quick.failure, quick.unreadable) == (slow.failure, slow.unreadable)
    assert (quick.records, quick.end_offset) == (slow.records, slow.end_offset)
    assert quick.newest_era == slow.newest_era


@pytest.mark.parametrize("version", range(5))
def test_usual_commits_are_those_that_are_read_quickly(version: int, tmp_path: Path) -> None:
    """Cut at every byte; with the topic id and without; in no transaction."""
    fields = {"metadata": "text", "topicId": TOPIC_ID} if version == 4 else {"metadata": "text"}
    whole = commit("g", "foo", 0, 5, version, **fields)  # type: ignore[arg-type]
    key, value = whole
    assert value is not None
    cuts = [(key, value[:size]) for size in range(len(value) + 1)]
    log = CoordinatorLog(tmp_path)
    log.append(*cuts)
    log.append(whole, producer=7)
    partition = list_log_directories(log.write()).partitions[log.name]
    (chunk,) = read_log_chunks(partition, [])
    usual, versions = usual_commits(chunk)
    quick = [commit_records._read_quickly(cut or b"", 0) is not None for _, cut in cuts]  # noqa: SLF001
    assert usual.tolist() == [*quick, False]
    assert quick[-1]
    assert set(versions[usual].tolist()) == {version}


def test_long_runs_are_not_read_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = CoordinatorLog(tmp_path)
    log.append(*(commit("g", "foo", n % 3, n) for n in range(300)))
    read: list[int] = []

    def watched(data: bytes, at: int) -> OffsetAndMetadata:
        read.append(at)
        return read_commit(data, at)

    monkeypatch.setattr(group_load, "read_commit", watched)
    assert table_of(log.load(CoordinatorEra.CLASSIC)) == {
        "g": {"foo-0": 297, "foo-1": 298, "foo-2": 299}
    }
    assert read == [297, 298, 299]
