"""A replay continues in the source that it has read, and in no other."""

import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import workbench as wb
from tests.cli.program import run
from tests.naive import Record, batch
from workbench.errors import ReplayError

pytestmark = pytest.mark.librdkafka  # replay writes by it

CLUSTERS = "KOs8FIclSEWfhgk3Xg48hg", "MkU3OEVBNTcwNTJENDM2Qg"
TOPICS = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"


def source(path: Path, count: int, cluster: str = "", topic: str = "") -> Path:
    """Make a directory with a log of some records."""
    folder = path / "t-0"
    folder.mkdir(parents=True)
    if cluster:
        text = f"version=1\nnode.id=1\ncluster.id={cluster}\n"
        (path / "meta.properties").write_text(text)
    if topic:
        (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic}")
    records = [Record(at, 1_700_000_000_000, None, b"v") for at in range(count)]
    (folder / f"{0:020d}.log").write_bytes(batch(records))
    return path


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "cluster").mkdir()
    with wb.serve(tmp_path / "cluster", writable=True) as served:
        yield served.bootstrap_servers


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ((CLUSTERS[0], TOPICS[0]), (CLUSTERS[1], TOPICS[0]), "cluster KOs8.*, and this is MkU3"),
        ((CLUSTERS[0], TOPICS[0]), (CLUSTERS[0], TOPICS[1]), r"topic id AAA.*AQ, and this is AAA"),
        (("", ""), ("", ""), "another directory"),
    ],
)
def test_another_source_is_refused_or_begins_at_0(
    cluster: str, tmp_path: Path, first: tuple[str, str], second: tuple[str, str], why: str
) -> None:
    a = wb.open_log_directory(source(tmp_path / "a", 6, *first))
    b = wb.open_log_directory(source(tmp_path / "b", 9, *second))
    assert a.replay(cluster, create_topics=True)["records"].to_pylist() == [6]
    assert a.replay(cluster)["records"].to_pylist() == [0]
    with pytest.raises(ReplayError, match=f"t-0: the replay of this name has read {why}"):
        b.replay(cluster)
    assert b.replay(cluster, name="other")["records"].to_pylist() == [9]
    assert b.replay(cluster, other_source="restart")["records"].to_pylist() == [9]
    assert b.replay(cluster)["records"].to_pylist() == [0]


def test_a_copy_of_a_topic_is_the_same_source_and_a_shorter_log_is_not(
    cluster: str, tmp_path: Path
) -> None:
    a = source(tmp_path / "a", 6, CLUSTERS[0], TOPICS[0])
    assert wb.open_log_directory(a).replay(cluster, create_topics=True).num_rows == 1
    copied = shutil.copytree(a, tmp_path / "b")
    assert wb.open_log_directory(copied).replay(cluster)["records"].to_pylist() == [0]
    short = source(tmp_path / "c", 4, CLUSTERS[0], TOPICS[0])
    with pytest.raises(ReplayError, match="up to offset 6, and this log ends at 4"):
        wb.open_log_directory(short).replay(cluster)


def test_what_cannot_be_decoded_is_left_out_and_never_a_tombstone(
    cluster: str, tmp_path: Path
) -> None:
    values = (b'{"a": 1}', b"no JSON", None, b'{"a": 2}')
    records = [Record(at, 1_700_000_000_000, b"k", value) for at, value in enumerate(values)]
    log = source(tmp_path / "a", 0) / "t-0" / f"{0:020d}.log"
    damaged = batch([Record(4, 1_700_000_000_000, None, b"{}")], crc=7)
    log.write_bytes(batch(records) + damaged + batch([Record(5, 1_700_000_000_000, None, b"{}")]))
    logs = wb.open_log_directory(tmp_path / "a")
    with (
        pytest.warns(wb.CorruptDataWarning, match="1 damaged place left out"),
        pytest.warns(wb.CorruptDataWarning, match="1 record not written, from offset 1: 1 of"),
    ):
        table = logs.replay(cluster, decode={"value": "json"}, create_topics=True)
    (row,) = table.to_pylist()
    assert (row["records"], row["undecoded"], row["damaged"], row["next_offset"]) == (4, 1, 1, 6)
    there = wb.open_log_directory(tmp_path / "cluster").scan("t").to_arrow()
    assert there["value"].to_pylist() == [b'{"a":1}', None, b'{"a":2}', b'{"a":null}']
    command = ("replay", tmp_path / "a", "--to", cluster, "--name", "other", "--strict")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run(*command).code == 2
