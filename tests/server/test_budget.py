"""Requests whose answers, sessions or records would take any memory: a server takes little of it.

Each attack is valid and decodable. The memory is that of the server's process.
"""

import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import psutil
import pytest

import workbench
from tests.fair_clock import FairClock
from tests.server.asking import Asker, find_coordinator
from tests.server.conftest import SHOP
from tests.server.hostile import Amplified, Attack, frame
from tests.server.served_process import MIB, ServedProcess
from tests.waiting import HANGS_AFTER_S, wait_until
from workbench.record.writing.builder import RecordsBuilder
from workbench.runtime.error_codes import ErrorCode
from workbench.server import session_groups
from workbench.server.protocol.api_keys import (
    CREATE_TOPICS,
    DESCRIBE_CONFIGS,
    DESCRIBE_GROUPS,
    DESCRIBE_PRODUCERS,
    DESCRIBE_TRANSACTIONS,
    FETCH,
    FIND_COORDINATOR,
    INCREMENTAL_ALTER_CONFIGS,
    JOIN_GROUP,
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    PRODUCE,
    SYNC_GROUP,
)

MANY: Final = 99_000  # elements: a request can have 100,000
NAMES_UNTIL: Final = 12  # version of Fetch
FEW: Final = ("--set", "log.index.size.max.bytes=4096")
WIDE: Final = 500  # partitions
PARTITIONS: Final = 500
LONG_MS: Final = 1_000_000  # that members have to join


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the sample data with a topic of 500 partitions."""
    copy = tmp_path_factory.mktemp("wide") / "shop"
    shutil.copytree(SHOP, copy)
    config = {"log.index.size.max.bytes": 65536}
    with (
        workbench.serve(copy, writable=True, config=config) as server,
        Asker(server.bootstrap_servers) as asker,
    ):
        create(asker, "wide", WIDE)
    return copy


@pytest.fixture(scope="module")
def served(wide: Path) -> Iterator[ServedProcess]:
    with ServedProcess(wide) as running:
        with Asker(running.where) as asker:  # reads, imports and compiles what each needs
            asker.ask(METADATA, 9, {"topics": None})
            asker.ask(DESCRIBE_CONFIGS, 4, resources((2, "wide"), (4, "1")))
            asker.ask(FETCH, NAMES_UNTIL, fetch("orders"))
        yield running


def create(asker: Asker, name: str, partitions: int, version: int = 7) -> Any:
    topic = {"name": name, "numPartitions": partitions, "replicationFactor": 1}
    (answer,) = asker.ask(CREATE_TOPICS, version, {"topics": [topic], "timeoutMs": 1})["topics"]
    return answer


def resources(*named: tuple[int, str]) -> dict[str, Any]:
    return {"resources": [{"resourceType": kind, "resourceName": name} for kind, name in named]}


def fetch(topic: str, **fields: Any) -> dict[str, Any]:
    partition = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1 << 30}
    topics = [{"topic": topic, "partitions": [partition]}]
    return {"maxBytes": 1 << 30, "topics": topics, **fields}


@pytest.fixture
def others(served: ServedProcess) -> Iterator[None]:
    """Hold others to an answer within 10 s of a `FairClock`."""
    waits: list[float] = []
    is_over = threading.Event()
    clock = FairClock(served.process.pid).now

    def ask_others() -> None:
        with Asker(served.where) as asker:
            while True:
                start = clock()
                asker.ask(METADATA, 9, {"topics": [{"name": "orders"}]})
                waits.append(clock() - start)
                if is_over.wait(0.1):
                    return

    other = threading.Thread(target=ask_others)
    other.start()
    yield
    is_over.set()
    other.join()
    assert waits
    assert max(waits) < 10


@pytest.fixture
def grown(served: ServedProcess, others: None) -> Iterator[None]:
    """Hold a test to 150 MiB beyond what the server has, and others to an answer within 10 s."""
    del others
    before = served.start_over()
    yield
    assert served.memory("VmHWM") - before < 150 * MIB


@pytest.mark.usefixtures("grown")
def test_a_topic_that_is_named_20_000_times_is_described_once(served: ServedProcess) -> None:
    with Asker(served.where) as asker:
        answer = asker.ask(METADATA, 9, {"topics": [{"name": "wide"}] * 20_000})
    assert [(each["name"], len(each["partitions"])) for each in answer["topics"]] == [
        ("wide", WIDE)
    ]


@pytest.mark.usefixtures("grown")
def test_what_is_named_again_is_described_once(served: ServedProcess) -> None:
    asked: dict[str, Any]
    with Asker(served.where) as asker:
        found = asker.ask(DESCRIBE_CONFIGS, 4, resources(*[(2, "wide")] * MANY))["results"]
        assert [(each["resourceName"], len(each["configs"])) for each in found] == [("wide", 33)]
        found = asker.ask(DESCRIBE_GROUPS, 5, {"groups": ["order-dashboard"] * MANY})["groups"]
        assert [each["groupId"] for each in found] == ["order-dashboard"]
        asked = {"groups": [{"groupId": "order-dashboard", "topics": None}] * MANY}
        found = asker.ask(OFFSET_FETCH, 8, asked)["groups"]
        assert [each["groupId"] for each in found] == ["order-dashboard"]
        asked = {"topics": [{"name": "payments", "partitionIndexes": [0] * MANY}]}
        (topic,) = asker.ask(DESCRIBE_PRODUCERS, 0, asked)["topics"]
        assert [each["partitionIndex"] for each in topic["partitions"]] == [0]
        asked = {"transactionalIds": ["payments-eu"] * MANY}
        found = asker.ask(DESCRIBE_TRANSACTIONS, 0, asked)["transactionStates"]
        assert [each["transactionalId"] for each in found] == ["payments-eu"]
        partition = {"partitionIndex": 0, "timestamp": 1}
        asked = {"topics": [{"name": "orders", "partitions": [partition] * (MANY // 2)}]}
        (topic,) = asker.ask(LIST_OFFSETS, 7, asked)["topics"]  # as a broker refuses it
        assert {each["errorCode"] for each in topic["partitions"]} == {ErrorCode.INVALID_REQUEST}


@pytest.mark.usefixtures("grown")
def test_an_answer_that_takes_too_much_memory_is_an_error_that_says_so(
    served: ServedProcess,
) -> None:
    names = [(32, f"group {number}") for number in range(MANY)]
    with Asker(served.where) as asker:
        results = asker.ask(DESCRIBE_CONFIGS, 4, resources(*names))["results"]
    assert {each["errorCode"] for each in results} == {ErrorCode.INVALID_REQUEST}
    (problem,) = {each["errorMessage"] for each in results}
    assert "bytes of memory; ask for less in one request" in problem


@pytest.mark.usefixtures("grown")
def test_sessions_keep_nothing_of_topics_that_do_not_exist(served: ServedProcess) -> None:
    before = served.memory()
    with Asker(served.where) as asker:
        for number in range(100):
            topics = [
                fetch(f"{number} {other} {'x' * 10_000}")["topics"][0] for other in range(100)
            ]
            asked = {"topics": topics, "sessionEpoch": 0, "maxBytes": 1}
            assert asker.ask(FETCH, NAMES_UNTIL, asked)["sessionId"] == 0
        assert asker.ask(FETCH, NAMES_UNTIL, fetch("orders", sessionEpoch=0))["sessionId"] > 0
    assert served.memory() - before < 60 * MIB


@pytest.mark.usefixtures("grown")
def test_connections_that_read_nothing_share_a_limit_and_are_left_when_others_wait(
    served: ServedProcess,
) -> None:
    asked = FETCH.request.encode(fetch("clicks"), NAMES_UNTIL)
    with ExitStack() as stack:
        for _ in range(450):
            host, port = served.where.split(":")
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect((host, int(port)))
            client.sendall(frame(FETCH.key, NAMES_UNTIL, asked, is_flexible=True))
        time.sleep(3)
        assert served.memory("VmHWM") > 0  # it runs


@pytest.mark.usefixtures("grown")
def test_requests_that_take_all_room_together_are_answered(served: ServedProcess) -> None:
    """Each takes 50 MB as it waits for its answer, of 128 MiB; the others hold the rest."""
    found: list[str] = []

    def ask() -> None:
        with Asker(served.where) as asker:
            answer = asker.ask(DESCRIBE_GROUPS, 5, {"groups": ["order-dashboard"] * MANY})
            found.extend(each["groupId"] for each in answer["groups"])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["order-dashboard"] * 8


def is_rebalancing(asker: Asker, group: str) -> bool:
    (found,) = asker.ask(DESCRIBE_GROUPS, 5, {"groups": [group]})["groups"]
    return str(found["groupState"]) == "PreparingRebalance"


def join(group: str, member: str = "", *protocols: tuple[str, bytes]) -> dict[str, Any]:
    named = [{"name": name, "metadata": data} for name, data in protocols or [("range", b"")]]
    return {
        "groupId": group, "sessionTimeoutMs": LONG_MS, "rebalanceTimeoutMs": LONG_MS,
        "memberId": member, "protocolType": "consumer", "protocols": named,
    }  # fmt: skip


def connected(where: str) -> socket.socket:
    host, port = where.split(":")
    return socket.create_connection((host, int(port)))


def assert_others_have_room(where: str) -> None:
    """Let a client ask for a little more than what is taken in any case, and for much."""
    with Asker(where) as asker:
        for count in (200, 20_000):
            answer = asker.ask(METADATA, 9, {"topics": [{"name": "orders"}] * count})
            assert len(answer["topics"]) == 1


@pytest.mark.usefixtures("grown")
def test_requests_that_wait_for_others_to_join_give_back_their_memory(
    served: ServedProcess,
) -> None:
    """Four would take 50 MB each of 128 MiB, and nine their 2 MB of 16 MiB."""
    many, large = [("range", b"")] * 90_000, [("range", bytes(1_900_000))]
    with Asker(served.where) as asker, ExitStack() as stack:
        clients = [stack.enter_context(connected(served.where)) for _ in range(13)]
        for number, client in enumerate(clients):
            group, protocols = f"joined {number}", many if number < 4 else large
            assert asker.ask(JOIN_GROUP, 3, join(group))["errorCode"] == ErrorCode.NONE
            asked = JOIN_GROUP.request.encode(join(group, "", *protocols), 3)
            client.sendall(frame(JOIN_GROUP.key, 3, asked))
            wait_until(partial(is_rebalancing, asker, group))
        assert_others_have_room(served.where)
        assert not select.select(clients, [], [], 0)[0]  # they wait


@pytest.mark.usefixtures("grown")
def test_requests_that_wait_for_an_assignment_give_back_their_memory(
    served: ServedProcess,
) -> None:
    with Asker(served.where) as asker, ExitStack() as stack:
        clients = [stack.enter_context(connected(served.where)) for _ in range(4)]
        for number, client in enumerate(clients):
            group = f"synced {number}"
            first = asker.ask(JOIN_GROUP, 3, join(group))["memberId"]
            second: list[Any] = []
            other = stack.enter_context(Asker(served.where))
            thread = threading.Thread(
                target=lambda other=other, group=group, second=second: second.append(
                    other.ask(JOIN_GROUP, 3, join(group))
                )
            )
            thread.start()
            wait_until(partial(is_rebalancing, asker, group))
            leads = asker.ask(JOIN_GROUP, 3, join(group, first))
            assert leads["leader"] == first
            thread.join()
            member = second[0]["memberId"]
            given = [{"memberId": "x", "assignment": b""}] * 90_000
            asked = {
                "groupId": group, "generationId": leads["generationId"], "memberId": member,
                "assignments": given,
            }  # fmt: skip
            client.sendall(frame(SYNC_GROUP.key, 1, SYNC_GROUP.request.encode(asked, 1)))
        assert_others_have_room(served.where)
        assert not select.select(clients, [], [], 0)[0]  # they wait


@pytest.mark.usefixtures("others")
def test_requests_that_ask_for_much_take_a_limited_memory(served: ServedProcess) -> None:
    """The campaign sends more of them, see `tests.campaign.server_rounds`."""
    before = served.start_over()
    port = int(served.where.split(":")[1])
    attack = Attack(port, Amplified(11).next, seed=11, ahead=1, patience=10)
    traffic = attack.run(300)
    assert traffic.sent >= 300
    with Asker(served.where) as asker:
        assert asker.ask(METADATA, 9, {"topics": [{"name": "wide"}]})["topics"][0]["partitions"]
    assert served.memory("VmHWM") - before < 600 * MIB


def test_groups_are_counted_with_what_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has a commit, until the memory for groups is full: 24 MiB here."""
    monkeypatch.setattr(session_groups, "_MOST_BYTES", 24 * MIB)
    offset = {"partitionIndex": 0, "committedOffset": 1, "committedMetadata": ""}
    topics = [{"name": "orders", "partitions": [offset]}]
    process, codes, before = psutil.Process(os.getpid()), list[int](), 0
    with workbench.serve(SHOP) as server, Asker(server.bootstrap_servers) as asker:
        for number in range(6000):
            if number == 50:
                before = process.memory_info().rss
            asked = {"groupId": f"group {number}", "topics": topics}
            (topic,) = asker.ask(OFFSET_COMMIT, 5, asked)["topics"]
            codes.append(topic["partitions"][0]["errorCode"])
            if codes[-1] != ErrorCode.NONE:
                break
        grown = process.memory_info().rss - before
    assert codes[-1] == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert len(codes) > 2000
    assert grown < 30 * MIB


# writable servers


def produce(asker: Asker, topic: str, records: bytes) -> int:
    asked = {
        "acks": -1, "timeoutMs": 1,
        "topicData": [{"name": topic, "partitionData": [{"index": 0, "records": records}]}],
    }  # fmt: skip
    (answer,) = asker.ask(PRODUCE, 9, asked)["responses"][0]["partitionResponses"]
    return int(answer["errorCode"])


def test_batches_of_a_gigabyte_of_zeros_are_validated_as_a_stream(tmp_path: Path) -> None:
    """A broker appends them, too: they are small, and their records are sound."""
    builder = RecordsBuilder(codec="zstd")
    builder.append(1_700_000_000_000, b"key", bytes(1 << 30))
    batch = builder.build().buffer.tobytes()
    del builder
    small = RecordsBuilder(codec="zstd")
    small.append(1_700_000_000_000, b"key", bytes(1 << 20))
    folder = tmp_path / "logs"
    folder.mkdir()
    with ServedProcess(folder, "--writable", *FEW) as running, ExitStack() as stack:
        askers = [stack.enter_context(Asker(running.where)) for _ in range(8)]
        for number, asker in enumerate(askers):
            create(asker, f"t{number}", 1)
            assert produce(asker, f"t{number}", small.build().buffer.tobytes()) == 0
        before = running.start_over()
        codes: list[int] = []
        threads = [
            threading.Thread(
                target=lambda at=at: codes.append(produce(askers[at], f"t{at}", batch))
            )
            for at in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert codes == [ErrorCode.NONE] * 8
        assert running.memory("VmHWM") - before < 500 * MIB


def test_a_name_of_32_kb_is_refused_with_a_text_that_fits(tmp_path: Path) -> None:
    with (
        workbench.serve(tmp_path, writable=True) as server,
        Asker(server.bootstrap_servers) as asker,
    ):
        for version in (2, 4, 7):
            answer = create(asker, "x" * 32_000, 1, version)
            assert answer["errorCode"] == ErrorCode.INVALID_TOPIC_EXCEPTION
            assert answer["errorMessage"].startswith("Topic name is invalid: the length of 'xxx")
            assert len(answer["errorMessage"]) <= 2000


def test_a_request_makes_10_000_partitions_at_most(tmp_path: Path) -> None:
    """As a broker of 4.2.0 answers, in code and text."""
    several: list[dict[str, Any]] = [
        {"name": name, "numPartitions": 5_001, "replicationFactor": 1, "assignments": [],
         "configs": []}
        for name in ("a", "b")
    ]  # fmt: skip
    placed: dict[str, Any] = {
        "name": "c", "numPartitions": -1, "replicationFactor": -1, "configs": [],
        "assignments": [{"partitionIndex": at, "brokerIds": [1]} for at in range(10_001)],
    }  # fmt: skip
    many = {**several[0], "numPartitions": 1_000_000}
    with (
        workbench.serve(tmp_path, writable=True) as server,
        Asker(server.bootstrap_servers) as asker,
    ):
        for topics in ([many], several, [placed]):
            asked = {"topics": topics, "timeoutMs": 1000, "validateOnly": False}
            for answer in asker.ask(CREATE_TOPICS, 7, asked)["topics"]:
                assert answer["errorCode"] == ErrorCode.POLICY_VIOLATION
                assert answer["errorMessage"] == (
                    "Excessively large number of partitions per request."
                )


def configure(asker: Asker, topic: str) -> int:
    configs = [{"name": "retention.ms", "configOperation": 0, "value": "1000000000000"}]
    asked = {"resources": [{"resourceType": 2, "resourceName": topic, "configs": configs}]}
    (answer,) = asker.ask(INCREMENTAL_ALTER_CONFIGS, 1, asked)["responses"]
    return int(answer["errorCode"])


def test_a_topic_of_many_partitions_blocks_no_other(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    small = RecordsBuilder()
    small.append(1_700_000_000_000, b"key", b"value")
    batch = small.build().buffer.tobytes()
    with (
        ServedProcess(folder, "--writable", *FEW) as running,
        ExitStack() as stack,
    ):
        one, other, *askers = (stack.enter_context(Asker(running.where, 200)) for _ in range(10))
        codes, threads = list[int](), list[threading.Thread]()
        configured: list[int] = []
        create(one, "t", 1)
        assert produce(other, "t", batch) == ErrorCode.NONE
        made: list[Any] = []
        thread = threading.Thread(target=lambda: made.append(create(one, "many", PARTITIONS)))
        clock = FairClock(running.process.pid).now
        waits, begin = [], clock()
        thread.start()
        for asker in askers:  # they wait for the new topic, and more than there are threads
            ask = partial(configure, asker, "t")
            threads.append(threading.Thread(target=lambda ask=ask: configured.append(ask())))
            threads[-1].start()
        while thread.is_alive():
            start = clock()
            for kind in (0, 1):
                asked = {"keyType": kind, "coordinatorKeys": ["g"]}
                (found,) = other.ask(FIND_COORDINATOR, 4, asked)["coordinators"]
                codes.append(found["errorCode"])
            other.ask(METADATA, 9, {"topics": [{"name": "t"}]})
            assert produce(other, "t", batch) == ErrorCode.NONE
            other.ask(FETCH, NAMES_UNTIL, fetch("t", maxWaitMs=1))
            waits.append(clock() - start)
            time.sleep(0.02)
        assert made[0]["errorCode"] == ErrorCode.NONE
        assert max(waits) < (clock() - begin) / 3
        assert codes[0] == ErrorCode.COORDINATOR_NOT_AVAILABLE
        for thread in threads:
            thread.join()
        assert configured == [ErrorCode.NONE] * len(askers)
        find_coordinator(other, 0, "g")
        find_coordinator(other, 1, "g")
        found = other.ask(METADATA, 9, {"topics": [{"name": "many"}]})["topics"]
        assert len(found[0]["partitions"]) == PARTITIONS


def test_a_second_signal_ends_the_server_whatever_it_does(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    with ServedProcess(folder, "--writable", *FEW) as running:
        host, port = running.where.split(":")
        with socket.create_connection((host, int(port))) as client:
            topic = {"name": "many", "numPartitions": 10_000, "replicationFactor": 1}
            asked = CREATE_TOPICS.request.encode({"topics": [topic], "timeoutMs": 1}, 4)
            client.sendall(frame(CREATE_TOPICS.key, 4, asked))
            wait_until(lambda: any(folder.glob("many-*")))
            running.process.send_signal(signal.SIGTERM)
            wait_until(lambda: not is_listened_at(host, int(port)))
            with pytest.raises(subprocess.TimeoutExpired):
                running.process.wait(0.5)
            running.process.send_signal(signal.SIGTERM)
            assert running.process.wait(HANGS_AFTER_S) == 128 + signal.SIGTERM
    assert len(list(folder.glob("many-*"))) < 10_000


def is_listened_at(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port)).close()
    except ConnectionError:
        return False
    return True


def test_a_full_disk_in_the_last_log_directory_halts_the_server(tmp_path: Path) -> None:
    """The limit of a file's size stands for the disk's: the append fails with an OSError."""
    folder = tmp_path / "logs"
    folder.mkdir()
    builder = RecordsBuilder()
    builder.append(1_700_000_000_000, b"key", os.urandom(500_000))
    batch = builder.build().buffer.tobytes()
    with ServedProcess(folder, "--writable", *FEW, prefix="ulimit -f 24576") as running:
        with Asker(
            running.where
        ) as asker:  # 12 MiB in units of sh: the metadata log's indexes begin with 10
            create(asker, "t", 1)
            with suppress(AssertionError, ConnectionError):  # it ends, perhaps before the answer
                for _ in range(40):
                    produce(asker, "t", batch)
        assert running.process.wait(HANGS_AFTER_S) == 3
        said = running.errors.read_text()
    assert said.count("no other log directory is left") == 1
    assert "File too large" in said


def test_why_a_server_halts_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    builder = RecordsBuilder()
    builder.append(1_700_000_000_000, b"key", os.urandom(500_000))
    sent = builder.build().buffer.tobytes()
    command = [sys.executable, "-m", "workbench.cli.main", "serve", "--writable", *FEW]
    words = [*command, str(tmp_path / "logs")]
    limited = ["/bin/sh", "-c", 'ulimit -f 24576 && exec "$@"', "sh", *words]
    with subprocess.Popen(limited, stderr=subprocess.STDOUT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, b"")
        found = next(filter(None, (re.search(rb"at (127.0.0.1:\d+), w", line) for line in lines)))
        with Asker(found[1].decode()) as asker:
            create(asker, "t", 1)
            with suppress(AssertionError, OSError):
                for _ in range(40):
                    produce(asker, "t", sent)
        rest = process.communicate(timeout=HANGS_AFTER_S)[0]
    assert process.returncode == 3
    assert rest.count(b"no other log directory is left") == 1


def test_a_directory_that_cannot_be_formatted_is_named(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "workbench.cli.main", "serve", "--writable", str(tmp_path)]
    limited = ["/bin/sh", "-c", 'ulimit -f 4096 && exec "$@"', "sh", *command]
    done = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert f"{tmp_path}: cannot be formatted: [Errno 27] File too large" in done.stderr
