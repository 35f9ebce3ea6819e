"""kcat produces, consumes, looks up offsets and joins a group, each option as on a broker."""

import json
import shutil
import subprocess
from collections.abc import Iterator

import pytest

import workbench
from tests.server.conftest import SHOP
from workbench.server.server import Server

PATIENCE = 180
KCAT = shutil.which("kcat") or "kcat"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return a writable server of a copy of the sample data; afterwards its directory is sound."""
    data = tmp_path_factory.mktemp("kcat") / "data"
    shutil.copytree(SHOP, data)
    with workbench.serve(data, writable=True) as running:
        yield running
    assert workbench.verify(data) == []


def kcat(server: Server, *arguments: str, given: str = "") -> list[str]:
    """Run kcat to its end; return the lines that it prints."""
    done = subprocess.run(
        [KCAT, "-b", server.bootstrap_servers, *arguments],
        input=given, capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_metadata_are_those_of_the_directory(server: Server) -> None:
    (line,) = kcat(server, "-L", "-J")
    found = json.loads(line)
    host = {"id": 1, "name": server.bootstrap_servers}
    assert found["brokers"] == [host]
    assert found["controllerid"] == 1
    assert {each["topic"]: len(each["partitions"]) for each in found["topics"]} == {
        name: len(logs) for name, logs in server.catalog.topics.items()
    }
    for each in (part for topic in found["topics"] for part in topic["partitions"]):
        assert each["leader"] == 1
        assert each["replicas"] == each["isrs"] == [{"id": 1}]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_of_every_codec_are_consumed_as_produced(server: Server, codec: str) -> None:
    topic = f"cats-{codec}"
    write = ("-P", "-t", topic, "-p", "0", "-K:", "-z", codec)
    kcat(server, *write, "-H", "legs=4", "-H", "owner", given="tom:grey\ntabby:\n")
    kcat(server, *write, "-X", "enable.idempotence=true", given="felix:black\n")
    lines = kcat(server, "-C", "-t", topic, "-e", "-q", "-f", r"%p %o %k %S %s %h\n")
    assert lines == [
        "0 0 tom 4 grey legs=4,owner=NULL", "0 1 tabby 0  legs=4,owner=NULL", "0 2 felix 5 black ",
    ]  # fmt: skip
    found = [json.loads(line) for line in kcat(server, "-C", "-t", topic, "-e", "-q", "-J")]
    log = server.catalog.log(topic, 0)
    assert log is not None
    newest = log.max_timestamp()
    assert newest is not None
    assert max(each["ts"] for each in found) == newest.timestamp
    assert {each["tstype"] for each in found} == {"create"}


def test_transactions_are_read_without_their_markers(server: Server) -> None:
    topic = "cats-in-transactions"
    ids = ("-X", "transactional.id=kcat")
    kcat(server, "-P", "-t", topic, "-p", "0", *ids, given="one\ntwo\n")
    kcat(server, "-P", "-t", topic, "-p", "0", *ids, given="three\n")
    lines = kcat(server, "-C", "-t", topic, "-e", "-q", "-f", r"%o %s\n")
    assert lines == ["0 one", "1 two", "3 three"]  # a marker is between them
    (where,) = kcat(server, "-Q", "-t", f"{topic}:0:-1")
    assert where == f"{topic} [0] offset 5"


def test_offsets_are_found_by_time_and_from_the_end(server: Server) -> None:
    logs = workbench.open_log_directory(SHOP)
    rows = logs.scan(topics="orders", partitions=0, columns=["offset", "timestamp"]).to_arrow()
    middle = rows["timestamp"].cast("int64")[len(rows) // 2].as_py()
    expected = logs["orders-0"].offset_for_timestamp(middle)
    end = logs["orders-0"].log_end_offset
    lines = kcat(server, "-Q", "-t", f"orders:0:{middle}", "-t", "orders:1:-2", "-t", "orders:2:-1")
    assert sorted(lines) == [
        f"orders [0] offset {expected}",
        "orders [1] offset 0",
        f"orders [2] offset {logs['orders-2'].log_end_offset}",
    ]
    read = ("-C", "-t", "orders", "-p", "0", "-q", "-f", r"%o\n")
    assert kcat(server, *read, "-o", f"s@{middle}", "-c", "1") == [str(expected)]
    assert kcat(server, *read, "-o", "-3", "-e") == [str(end - n) for n in (3, 2, 1)]


def test_a_group_goes_on_where_it_ended(server: Server) -> None:
    topic = "cats-of-a-group"
    kcat(server, "-P", "-t", topic, "-p", "0", given="one\ntwo\n")
    of_group = ("-G", "cats", "-e", "-q", "-f", r"%s\n", "-X", "auto.offset.reset=earliest", topic)
    assert kcat(server, *of_group) == ["one", "two"]
    kcat(server, "-P", "-t", topic, "-p", "0", given="three\n")
    assert kcat(server, *of_group) == ["three"]
