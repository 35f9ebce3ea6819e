"""Any damage to any small file gives a value or the right error, and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import corrupt
from workbench.errors import CorruptFileError, UnsupportedFormatError
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.clean_shutdown import CleanShutdown
from workbench.files.indexes import offset_index, time_index, transaction_index
from workbench.files.indexes.entry_run import IndexFile
from workbench.files.indexes.offset_index import OffsetIndex
from workbench.files.indexes.time_index import TimeIndex
from workbench.files.indexes.transaction_index import AbortedTxn, TransactionIndex
from workbench.files.leader_epochs import LeaderEpochs
from workbench.files.meta_properties import MetaProperties
from workbench.files.partition_metadata import PartitionMetadata
from workbench.files.producer_snapshot import ProducerEntry, ProducerSnapshot
from workbench.files.quorum_state import QuorumState
from workbench.files.reading import MIB, SmallFile

SMALL: dict[type[SmallFile], bytes] = {
    CleanShutdown: b'{"version":0,"brokerEpoch":798}',
    LeaderEpochs: b"0\n2\n0 0\n12 640\n",
    MetaProperties: b"#\nversion=1\nnode.id=1\ncluster.id=x\ndirectory.id=eBy7_C3J6IHAa4e5TsX0Wg\n",
    OffsetCheckpoint: b"0\n2\norders 0 64\na-b 12 0\n",
    PartitionMetadata: b"version: 0\ntopic_id: 9d2TTdabQBi4Q4G4UJm8Zw",
    ProducerSnapshot: ProducerSnapshot((ProducerEntry(7, 1, 2, 130, 2, 5, None, 128),)).encode(),
    QuorumState: (
        b'{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,'
        b'"currentVoters":[{"voterId":1}],"data_version":0}'
    ),
}
BASE = 10
INDEXES: dict[type[IndexFile], bytes] = {
    OffsetIndex: b"".join(offset_index.encode_entry(BASE, BASE + n, 90 * n) for n in (1, 2, 3)),
    TimeIndex: b"".join(time_index.encode_entry(BASE, 90 * n, BASE + n) for n in (1, 2, 3)),
    TransactionIndex: b"".join(
        transaction_index.encode_entry(AbortedTxn(7, 10 * n, 10 * n + 5, 10 * n + 6))
        for n in (1, 2, 3)
    ),
}
Contents = SmallFile | IndexFile
SAMPLES: dict[type[Contents], bytes] = dict((*SMALL.items(), *INDEXES.items()))


def every_damage(data: bytes) -> Iterator[bytes]:
    yield from corrupt.every_cut(data)
    yield from (flipped for _, flipped in corrupt.every_flip(data))
    for position in range(len(data)):
        yield corrupt.overwrite(data, position, b"\x00")
        yield corrupt.overwrite(data, position, b"\xff")
        yield corrupt.insert(data, position, b"\n")
        yield data[:position] + data[position + 1 :]


def decode(kind: type[Contents], data: bytes, *, strict: bool = True) -> Contents:
    if issubclass(kind, IndexFile):
        return kind.decode(data, BASE, "a/file", strict=strict)
    return kind.decode(data, "a/file", strict=strict)


def check(kind: type[Contents], data: bytes) -> None:
    """Read strictly and leniently: no other error, and both see problems or neither does."""
    found = decode(kind, data, strict=False)
    for problem in found.problems:
        assert problem.position is None or 0 <= problem.position <= len(data)
    if not found.problems:
        assert decode(kind, data).problems == ()
        return
    with pytest.raises((CorruptFileError, UnsupportedFormatError)) as raised:
        decode(kind, data)
    assert isinstance(raised.value, CorruptFileError | UnsupportedFormatError)
    assert raised.value.path == "a/file"
    assert raised.value.position == found.problems[0].position
    assert raised.value.problem == str(found.problems[0])


@pytest.mark.parametrize("kind", SAMPLES, ids=lambda kind: kind.__name__)
def test_any_damage_gives_a_value_or_the_right_error(kind: type[Contents]) -> None:
    check(kind, SAMPLES[kind])
    for data in every_damage(SAMPLES[kind]):
        check(kind, data)


@pytest.mark.parametrize("kind", SAMPLES, ids=lambda kind: kind.__name__)
def test_a_sound_file_has_no_problems_and_is_written_the_same(
    kind: type[Contents],
) -> None:
    found = decode(kind, SAMPLES[kind])
    assert found.problems == ()
    assert SAMPLES[kind].endswith(found.encode())


@pytest.mark.parametrize("kind", SAMPLES, ids=lambda kind: kind.__name__)
@given(data=st.binary(max_size=200))
def test_any_bytes_give_a_value_or_the_right_error(kind: type[Contents], data: bytes) -> None:
    check(kind, data)


@pytest.mark.parametrize("filling", [b"\0", b"\n", b"\r", b"a 0 1\n", b"[", b"1", b"a\\\n"])
@pytest.mark.parametrize("kind", SMALL, ids=lambda kind: kind.__name__)
def test_of_a_file_too_large_to_be_one_only_the_beginning_is_read(
    kind: type[SmallFile], filling: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kind, "size_limit", min(kind.size_limit, MIB // 2))
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.write(filling * (MIB // len(filling) + 1))
        file.truncate(1 << 40)
    found = kind.read(str(path), strict=False)
    assert found.problems[0].kind == "too large"
    with pytest.raises(CorruptFileError, match="too large"):
        kind.read(str(path))


@pytest.mark.parametrize("kind", INDEXES, ids=lambda kind: kind.__name__)
def test_a_terabyte_of_zeros_takes_no_memory(kind: type[IndexFile], tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.write(SAMPLES[kind])
        file.truncate(1 << 40)
    found = kind.read(str(path), BASE, strict=False)
    assert found.encode().startswith(SAMPLES[kind])
    assert len(found.encode()) < 2 * MIB
