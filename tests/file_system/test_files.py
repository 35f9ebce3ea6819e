"""What an opened directory is read through: its own, freed with it, and sent with it."""

import gc
import io
import os
import pickle
import subprocess
import sys
import tarfile
import threading
import weakref
from pathlib import Path

import pytest

import workbench as wb
from tests.s3_server import s3_server
from tests.waiting import HANGS_AFTER_S
from workbench.file_system.source import FileSource, MountedFiles

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
_LOG = f"{0:020}.log"
_COUNT = "import pickle, sys; print(pickle.load(sys.stdin.buffer).scan().to_arrow().num_rows)"
_SERVER = f"""
import sys
from tests.file_system.test_files import batches
from tests.s3_server import s3_server
with s3_server() as server:
    server.put("two-servers", {{"broker-1/orders-0/{_LOG}": batches("customers")}})
    print(server.uri("two-servers/broker-1"), flush=True)
    sys.stdin.read()
"""


def batches(topic: str) -> bytes:
    return (SHOP / f"{topic}-0" / _LOG).read_bytes()


def archive(path: Path, data: bytes, compression: str = "") -> Path:
    """Write an archive of one partition, beside the path first: it is replaced as a whole."""
    new = path.with_name("new")
    with tarfile.open(new, f"w:{compression}") as tar:  # type: ignore[call-overload]
        info = tarfile.TarInfo(f"orders-0/{_LOG}")
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
    os.replace(new, path)
    return path


def rows(logs: wb.LogDirectory) -> int:
    return int(logs.scan().to_arrow().num_rows)


def open_files() -> list[str]:
    """Return what this process has open, but not the sockets and pipes of threads that are idle."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except FileNotFoundError:  # that of the listing itself
            continue
    return sorted(each for each in found if each.startswith("/"))


@pytest.mark.parametrize("compression", ["", "gz"])
def test_an_archive_is_closed_with_the_last_of_what_was_opened_in_it(
    tmp_path: Path, compression: str
) -> None:
    path = archive(
        tmp_path / f"logs.tar{'.' * bool(compression)}{compression}", batches("orders"), compression
    )
    before = open_files()
    logs = wb.open_log_directory(path)
    count = rows(logs)
    assert count > 0
    kept = weakref.ref(logs.listing.fs)
    (segment,) = logs["orders-0"].segments
    assert len(open_files()) > len(before)
    del logs
    gc.collect()
    assert len(segment.batches) > 0  # a segment reads on
    assert kept() is not None
    del segment
    gc.collect()
    assert kept() is None
    assert set(open_files()) <= set(before)  # what others left open may be closed meanwhile


def test_an_archive_that_changed_is_another_one_and_the_first_is_read_as_it_was(
    tmp_path: Path,
) -> None:
    path = archive(tmp_path / "logs.tar", batches("orders"))
    first = wb.open_log_directory(path)
    count = rows(first)
    archive(path, batches("customers"))
    second = wb.open_log_directory(path)
    assert rows(second) != count
    assert rows(first) == count
    assert first.listed_again().scan().to_arrow().equals(second.scan().to_arrow())
    assert second.listed_again().listing.fs is second.listing.fs  # it is not unpacked again


def test_buckets_of_one_name_at_two_servers_are_two() -> None:
    with (
        s3_server() as one,
        subprocess.Popen(
            [sys.executable, "-c", _SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as other,
    ):  # the servers of one process have one backend
        one.put("two-servers", {f"broker-1/orders-0/{_LOG}": batches("orders")})
        assert other.stdout is not None
        uris = one.uri("two-servers/broker-1"), other.stdout.readline().strip()
        both = [wb.open_log_directory(each) for each in uris]
        paths = [SHOP / f"{each}-0" / _LOG for each in ("orders", "customers")]
        local = [rows(wb.open_log_directory(each)) for each in paths]
        assert local[0] != local[1]
        assert [rows(each) for each in both] == local
        assert [rows(each.listed_again()) for each in both] == local
        assert both[0].roots[0].path == both[1].roots[0].path
        other.communicate()


def test_what_a_bucket_has_open_is_freed_with_the_directory() -> None:
    with s3_server() as server:
        server.put("freed", {f"broker-1/orders-0/{_LOG}": batches("orders")})
        logs = wb.open_log_directory(server.uri("freed/broker-1"))
        rows(logs)
        fs = logs.listing.fs
        assert isinstance(fs, MountedFiles)
        kept = [weakref.ref(each) for each in (fs, *fs.mounts.values())]
        del logs, fs
        gc.collect()
        assert [each() for each in kept] == [None, None]
        fetching = [each for each in threading.enumerate() if each.name.startswith("fetch-ahead")]
        for each in fetching:  # they end by themselves
            each.join(HANGS_AFTER_S)
        assert not any(each.is_alive() for each in fetching)


def test_what_is_sent_in_several_pickles_is_opened_once_and_for_as_long_as_it_is_used(
    tmp_path: Path,
) -> None:
    path = archive(tmp_path / "logs.tar", batches("orders"))
    logs = wb.open_log_directory(path)
    count, sent = rows(logs), [pickle.dumps(logs), pickle.dumps(logs["orders-0"])]
    here, partition = map(pickle.loads, sent)
    assert here.listing.fs is partition.fs is logs.listing.fs
    del logs, here, partition
    gc.collect()
    before = open_files()
    first, second = (pickle.loads(each) for each in sent)  # noqa: S301 - our own
    assert first.listing.fs is second.fs
    assert len(open_files()) == len(before) + 1
    assert rows(first) == count
    del first, second
    gc.collect()
    assert open_files() == before


def test_another_process_reads_what_was_opened_here(tmp_path: Path) -> None:
    path = archive(tmp_path / "logs.tar.gz", batches("orders"), "gz")
    with s3_server() as server:
        server.put("sent", {f"broker-1/orders-0/{_LOG}": batches("orders")})
        uri = server.uri("sent/broker-1").replace("s3://", "s3://any:any@")
        for logs in (wb.open_log_directory(path), wb.open_log_directory(uri)):
            done = subprocess.run(
                [sys.executable, "-c", _COUNT],
                input=pickle.dumps(logs), stdout=subprocess.PIPE, check=True,
            )  # fmt: skip
            assert int(done.stdout) == rows(logs)


def test_one_opening_has_one_access_to_a_bucket() -> None:
    with s3_server() as server:
        server.put("one-access", {f"broker-1/orders-0/{_LOG}": batches("orders")})
        server.put("one-access", {f"broker-2/orders-1/{_LOG}": batches("customers")})
        uri, query = server.uri("one-access/broker-1"), server.query
        logs = wb.open_log_directory(
            [uri, "s3://one-access/broker-2"]
        )  # read by the query of the first
        assert list(logs) == ["orders-0", "orders-1"]
        with pytest.raises(wb.LogDirectoryError, match="s3://one-access is given with two queries"):
            wb.open_log_directory([uri, f"s3://one-access/broker-2?{query}&region=eu-west-1"])


def test_a_path_that_nothing_was_opened_for_says_so() -> None:
    with pytest.raises(FileNotFoundError, match="s3://logs/a: no file system is opened"):
        FileSource("s3://logs/a")
