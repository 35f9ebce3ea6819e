"""Log directories in S3: the same as in a folder, in few requests, with clear errors."""

import os
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from tests.field.cases import open_field_case
from tests.golden.cases import open_case
from tests.s3_server import S3Server, s3_server
from tests.waiting import wait_until
from widgets import LogExplorer
from workbench.cli.main import main
from workbench.errors import CorruptDataWarning, LogDirectoryError
from workbench.file_system.read_cache import LARGE, CachedFiles
from workbench.file_system.source import FileSource
from workbench.inspection.listing import Listing, list_log_directories
from workbench.inspection.transactions import IsolationLevel
from workbench.loaders.remote import opened

_NOW = "--now=1800000000000"
_GROUP = ["-t", "__consumer_offsets"]


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as running:
        yield running


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a broker's log directory, whose files have whole seconds as in S3."""
    data = open_case("4.2.0-txn", tmp_path_factory.mktemp("remote")).path / "data"
    for path in data.rglob("*"):
        os.utime(path, (int(path.stat().st_mtime),) * 2)
    return data


@pytest.fixture(scope="module")
def uri(server: S3Server, logs: Path) -> str:
    """Return the URI of the same log directory."""
    server.put_folder("logs", "broker-1", logs)
    return server.uri("logs/broker-1")


def _listed(uri: str) -> Listing:
    path, fs = opened(uri)
    return list_log_directories(path, fs=fs)


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


def test_a_partition_alone_is_the_log_that_it_is_in_its_directory(
    server: S3Server, tmp_path: Path
) -> None:
    case = open_field_case("how-many-messages", tmp_path)
    server.put_folder("logs", "counts", case.data)
    for name in ("events-0", "events-0/", f"events-0/{0:020}.log"):
        logs = wb.open_log_directory(server.uri(f"logs/counts/{name}"))
        assert logs.scan().to_arrow().column("offset").to_pylist() == list(range(33, 60))
        assert logs.listing.metadata_log is not None
        assert logs.roots[0].meta_properties is not None


def test_a_directory_of_1000_partitions_is_listed_by_the_thousand_files(
    server: S3Server, thousand: str
) -> None:
    server.requests.clear()
    logs = wb.open_log_directory(thousand)
    assert sum(len(partition.files) for partition in logs.values()) == 3000
    assert all(len(each.segments) == 1 for each in logs.values())
    assert server.lists <= 12
    assert server.reads == 0


def test_a_partition_that_is_listed_anew_asks_again(server: S3Server, thousand: str) -> None:
    listing = _listed(thousand)
    partition = listing.partitions["topic-7"]
    before = partition.names
    server.put("many", {f"broker-1/topic-7/{9:020}.log": b""})
    assert partition.names == before
    assert partition.listed_again().names == before | {f"{9:020}.log"}
    server.backend().delete_object("many", f"broker-1/topic-7/{9:020}.log")


def test_a_tree_has_every_folder_even_an_empty_one(server: S3Server) -> None:
    server.put("tree", {"a/b/c": b"12", "a/d/": b"", "a/e": b"1", "a/b/f/g": b"", "ab/x": b""})
    path, fs = opened(server.uri("tree/a"))
    files = fs.at(path)
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


def test_going_through_a_file_takes_one_request_per_8_mib(server: S3Server) -> None:
    data = np.random.default_rng(7).bytes(2 * LARGE + 12345)
    server.put("large", {"file": data})
    path, fs = opened(server.uri("large/file"))
    server.requests.clear()
    with FileSource(path, fs) as source:
        got = [source.read(at, 4 << 20).tobytes() for at in range(0, source.size, 4 << 20)]
    assert b"".join(got) == data
    assert server.reads == 3
    with FileSource(path, fs) as source:  # what was read is kept
        assert source.read(5, 100).tobytes() == data[5:105]
    assert server.reads == 3


def test_small_reads_far_apart_do_not_fetch_what_is_between(server: S3Server) -> None:
    data = np.random.default_rng(8).bytes(LARGE)
    server.put("large", {"other": data})
    with FileSource(*opened(server.uri("large/other"))) as source:
        for at in (LARGE - 10, 5, LARGE // 2 - 50):
            assert source.read(at, 100).tobytes() == data[at : at + 100]
        cut = source.read((1 << 18) - 10, 20).tobytes()  # on two blocks
    assert cut == data[(1 << 18) - 10 : (1 << 18) + 10]


@pytest.mark.parametrize("level", ["read_uncommitted", "read_committed"])
def test_a_scan_gives_the_same_records_in_few_requests(
    server: S3Server, uri: str, logs: Path, level: IsolationLevel
) -> None:
    opened = wb.open_log_directory(uri)
    segments = sum(len(partition.segments) for partition in opened.values())
    server.requests.clear()
    table = opened.scan(isolation_level=level).to_arrow()
    assert table.equals(wb.open_log_directory(logs).scan(isolation_level=level).to_arrow())
    assert table.num_rows
    assert server.reads <= 3 * segments  # each with its indexes
    assert server.lists == 0


@pytest.mark.parametrize(
    "command",
    [
        ["ls"], ["verify", "--info"], ["describe"], ["dump", "-n", "30"], ["search", "-k", "k"],
        ["offsets"], ["groups"], ["transactions"], ["repairs"], ["predict"], ["explain", _NOW],
        ["plan", _NOW], ["what-if", _NOW, "--set", "retention.ms=1000"], ["describe", "FILE"],
        ["dump", "PARTITION", "--batches"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_command_prints_of_s3_what_it_prints_of_a_folder(
    uri: str, logs: Path, command: list[str]
) -> None:
    below = {"PARTITION": "/txn-a-0", "FILE": f"/txn-a-0/{0:020}.timeindex"}
    path, _, query = uri.partition("?")
    outputs = []
    for place, end in ((str(logs), ""), (path, f"?{query}")):
        named = [f"{place}{below[each]}{end}" if each in below else each for each in command]
        given = named if named != command else [*named, f"{place}{end}"]
        result = CliRunner().invoke(main, given)
        assert result.exit_code in {0, 1}, result.output
        text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d\.\d+)?", "TIME", result.output)
        outputs.append(re.sub(" +", " ", text.replace(place, "PLACE")))
    assert outputs[0] == outputs[1]


def test_compaction_works_on_a_copy_of_s3(uri: str, logs: Path, tmp_path: Path) -> None:
    path, _, query = uri.partition("?")
    copies = []
    for at, place in enumerate((str(logs / "txn-a-0"), f"{path}/txn-a-0?{query}")):
        to = tmp_path / f"{at}"
        result = CliRunner().invoke(main, ["compact", _NOW, place, "--to", str(to)])
        assert result.exit_code == 0, result.output
        copies.append({file.relative_to(to): file.read_bytes() for file in to.rglob("*.log")})
    assert copies[0] == copies[1]
    assert copies[0]


@pytest.mark.parametrize("command", ["recover", "compact", "retention"])
def test_nothing_is_changed_in_place_in_s3(server: S3Server, uri: str, command: str) -> None:
    server.requests.clear()
    now = [_NOW] if command == "retention" else []
    result = CliRunner().invoke(main, [command, uri, "--in-place", *now])
    assert result.exit_code == 3
    assert "nothing is written there; give --to OUT" in result.output
    assert {method for method, _ in server.requests} <= {"GET", "HEAD"}


def test_the_explorer_opens_a_directory_in_s3(uri: str, logs: Path) -> None:
    far, near = LogExplorer(uri), LogExplorer(logs)
    assert far.logs.keys() == near.logs.keys()
    assert {name: each.size for name, each in far.logs.items()} == {
        name: each.size for name, each in near.logs.items()
    }
    far.close()
    near.close()


def test_a_file_that_vanishes_or_shrinks_after_the_listing_is_a_finding(
    server: S3Server, logs: Path
) -> None:
    for name in ("txn-a-0", "txn-a-1"):
        server.put_folder("logs", f"changing/{name}", logs / name)
    first = wb.open_log_directory(server.uri("logs/changing"))
    whole = first.scan(topics="txn-a").to_arrow().num_rows
    again = wb.open_log_directory(server.uri("logs/changing"))
    gone, cut = (f"changing/txn-a-{number}/{0:020}.log" for number in (0, 1))
    _ = [partition.segments for partition in again.values()]
    server.backend().delete_object("logs", gone)
    data = (logs / "txn-a-1" / f"{0:020}.log").read_bytes()
    server.put("logs", {cut: data[:-1]})
    files = again.listing.fs.at("s3://logs/changing")
    assert isinstance(files, CachedFiles)
    files.forget()  # as after a few seconds
    with pytest.warns(CorruptDataWarning):
        table = again.scan(topics="txn-a").to_arrow()
    assert 0 < table.num_rows < whole
    found = {(finding.kind, finding.path.rpartition("/changing/")[2]) for finding in again.verify()}
    assert any(path == gone.removeprefix("changing/") for _, path in found)
    assert any(path == cut.removeprefix("changing/") for _, path in found)


def test_a_server_that_stops_answering_is_named_and_never_a_clean_result(logs: Path) -> None:
    with s3_server() as own:
        name = f"{0:020}.log"
        own.put("failing", {f"broker-1/{name}": (logs / "txn-a-0" / name).read_bytes()})
        opened = wb.open_log_directory(own.uri("failing/broker-1"))
        (partition,) = opened.values()
        assert partition.segments
    with pytest.warns(
        CorruptDataWarning, match=r"s3://failing/broker-1/0+\.log.*cannot be reached"
    ):
        assert opened.scan().to_arrow().num_rows == 0


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("s3://nowhere/logs?SERVER", "s3://nowhere/logs: there is no such bucket"),
        ("s3://logs/nothing?SERVER", "s3://logs/nothing: there is no such file or directory"),
        ("s3://a/b?scheme=http&endpoint_override=127.0.0.1:1", "the server cannot be reached"),
        ("s3://me:top/secret@logs/b?SERVER", "a slash in a secret key must be written as %2F"),
        ("s3://logs/b?SERVER&retries=9", "unknown option retries"),
        ("s3://logs/b?scheme=http&endpoint_override=127.0.0.1:1", "the server cannot be reached"),
        ("s3:///logs", "no bucket is named"),
        ("gopher://logs/b", r"unknown scheme gopher:// \(expected s3://"),
        ("ftp://logs/b", "unknown scheme ftp"),
        ("https://logs/b/", r"^https://logs/b: a directory of a web server .*wget -r -np -nH"),
        ("http://logs/b.tar.gz", "download an archive of it, and open that"),
        ("file:///nowhere/at/all", "there is no such file or directory"),
    ],
)
@pytest.mark.usefixtures("uri")
def test_a_place_that_cannot_be_opened_is_named_with_the_reason(
    server: S3Server, place: str, words: str
) -> None:
    with pytest.raises(LogDirectoryError, match=words) as caught:
        wb.open_log_directory(place.replace("SERVER", server.query))
    assert "secret@" not in str(caught.value)


def test_a_file_uri_is_a_path(logs: Path, tmp_path: Path) -> None:
    shutil.copytree(logs / "txn-a-0", tmp_path / "with space-0")
    opened = wb.open_log_directory((tmp_path / "with space-0").as_uri())
    assert opened.roots[0].path == str(tmp_path / "with space-0")


def test_the_next_8_mib_are_fetched_while_these_are_used(server: S3Server) -> None:
    server.put("large", {"ahead": bytes(3 * LARGE)})
    with FileSource(*opened(server.uri("large/ahead"))) as source:
        server.requests.clear()
        source.read(0, 4 << 20)
        wait_until(lambda: server.reads == 2)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("InvalidAccessKeyId", "the access key is not known there"),
        ("SignatureDoesNotMatch", "the secret key does not belong to the access key"),
        ("AccessDenied", "access denied"),
        ("Odd", r"…"),
    ],
)
def test_refused_credentials_are_named_without_their_values(code: str, words: str) -> None:
    class Refusing(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(403)
            self.end_headers()

        def do_GET(self) -> None:
            body = f"<Error><Code>{code}</Code><Message>of KEYID, top/secret</Message></Error>"
            self.send_response(400 if code == "Odd" else 403)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as refusing:
        thread = threading.Thread(target=refusing.serve_forever)
        thread.start()
        place = f"127.0.0.1:{refusing.server_port}"
        with pytest.raises(LogDirectoryError, match=f"s3://refused/b: .*{words}") as caught:
            wb.open_log_directory(
                f"s3://KEYID:top%2Fsecret@refused/b?scheme=http&endpoint_override={place}"
            )
        refusing.shutdown()
        thread.join()
    assert "secret@" not in str(caught.value)
    assert "KEYID" not in str(caught.value)
    assert "top/secret" not in str(caught.value)


class Bucket(BaseHTTPRequestHandler):
    """A server of one bucket that lists a page and fails at the next, or sends short bodies."""

    names: tuple[str, ...] = ()
    data = b""
    sent = 0
    fails_at_page_two = False

    def do_HEAD(self) -> None:
        self.send_response(200 if self.path.rstrip("/").endswith(self.names) else 404)
        self.send_header("Content-Length", str(len(self.data)))
        self.end_headers()

    def do_GET(self) -> None:
        if "list-type" in self.path:
            self._list()
            return
        body = self.data[: self.sent]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes 0-{len(self.data) - 1}/{len(self.data)}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _list(self) -> None:
        is_next = "continuation-token" in self.path
        if is_next and self.fails_at_page_two:
            body = "<Error><Code>AccessDenied</Code><Message>no</Message></Error>"
            self.send_response(403)
        else:
            rows = "".join(
                f"<Contents><Key>{name}</Key><Size>{len(self.data)}</Size>"
                "<LastModified>2024-01-01T00:00:00.000Z</LastModified></Contents>"
                for name in self.names
            )
            more = "<NextContinuationToken>t</NextContinuationToken>"
            cut = str(self.fails_at_page_two).lower()
            body = (
                f"<ListBucketResult><IsTruncated>{cut}</IsTruncated>"
                f"{more if self.fails_at_page_two else ''}{rows}</ListBucketResult>"
            )
            self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def bucket(**settings: object) -> Iterator[str]:
    """Serve a bucket; yield the query of its URIs."""
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Own", (Bucket,), settings)) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        try:
            place = f"127.0.0.1:{running.server_port}"
            yield f"scheme=http&endpoint_override={place}&access_key=a&secret_key=b"
        finally:
            running.shutdown()
            thread.join()


def test_a_later_page_of_a_listing_that_fails_is_named() -> None:
    names = (f"paged/t-0/{0:020}.log",)
    with (
        bucket(names=names, data=b"", fails_at_page_two=True) as query,
        pytest.raises(LogDirectoryError, match=r"s3://pages/paged: .*access denied"),
    ):
        wb.open_log_directory(f"s3://pages/paged?{query}")


def test_a_body_that_is_shorter_than_asked_for_is_an_error_not_zeros(logs: Path) -> None:
    name = f"{0:020}.log"
    data = (logs / "txn-a-0" / name).read_bytes()
    names = (f"short/t-0/{name}",)
    with bucket(names=names, data=data, sent=len(data) // 2) as query:
        path, fs = opened(f"s3://bodies/short?{query}")
        with (
            FileSource(f"{path}/t-0/{name}", fs) as source,
            pytest.raises(OSError, match="short/t-0"),
        ):
            source.read(0, len(data))
