"""Log directories in S3: how many requests they take."""

from collections.abc import Iterator

import pytest

from tests.s3_server import S3Server, s3_server
from workbench.file_system.mounts import files_at
from workbench.inspection.listing import list_log_directories
from workbench.loaders.remote import mounted


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as running:
        yield running


@pytest.fixture(scope="module")
def thousand(server: S3Server) -> str:
    """Return the URI of a log directory of 1,000 partitions with 3,000 files."""
    server.put(
        "many",
        {
            f"broker-1/topic-{number}/{name}": b""
            for number in range(1000)
            for name in (f"{0:020}.log", f"{0:020}.index", "leader-epoch-checkpoint")
        }
        | {"broker-1/meta.properties": b"version=1\n"},
    )
    return server.uri("many/broker-1")


def test_a_directory_of_1000_partitions_is_listed_by_the_thousand_files(
    server: S3Server, thousand: str
) -> None:
    path = mounted(thousand)
    server.requests.clear()
    listing = list_log_directories(path)
    assert sum(len(partition.files) for partition in listing.partitions.values()) == 3000
    assert all(len(each.segments) == 1 for each in listing.partitions.values())
    assert server.lists <= 10
    assert server.reads == 0


def test_a_partition_that_is_listed_anew_asks_again(server: S3Server, thousand: str) -> None:
    listing = list_log_directories(mounted(thousand))
    partition = listing.partitions["topic-7"]
    before = partition.names
    server.put("many", {f"broker-1/topic-7/{9:020}.log": b""})
    assert partition.names == before
    assert partition.listed_anew().names == before | {f"{9:020}.log"}
    server.backend().delete_object("many", f"broker-1/topic-7/{9:020}.log")


def test_a_tree_has_every_folder_even_an_empty_one(server: S3Server) -> None:
    server.put("tree", {"a/b/c": b"12", "a/d/": b"", "a/e": b"1", "a/b/f/g": b"", "ab/x": b""})
    path = mounted(server.uri("tree/a"))
    files = files_at(path)
    assert files is not None
    found = {
        folder: sorted((each.name, each.is_folder, each.size) for each in entries)
        for folder, entries in files.tree(path).items()
    }
    assert found == {
        path: [("b", True, 0), ("d", True, 0), ("e", False, 1)],
        f"{path}/b": [("c", False, 2), ("f", True, 0)],
        f"{path}/b/f": [("g", False, 0)],
        f"{path}/d": [],
    }
