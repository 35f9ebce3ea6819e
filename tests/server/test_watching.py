"""What a server keeps of its requests for who watches, and how it tells their way."""

import shutil
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import workbench as wb
from tests.server.conftest import SHOP
from tests.waiting import wait_until
from tests.widgets.requested import MIB, Client, fetch, list_offsets, watched
from workbench.server.events import MOST_FRAME_BYTES, Event, RequestDone
from workbench.server.protocol.api_keys import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from workbench.server.protocol.frames import SIZE
from workbench.server.server import Server
from workbench.server.watching import watch as watch_module
from workbench.server.watching.frame_fields import NamedFrame, name_request, name_response
from workbench.server.watching.request_steps import REQUEST_KINDS, RequestStory, tell_request
from workbench.server.watching.watch import RequestWatch


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with wb.serve(SHOP) as running:
        yield running


@pytest.fixture(scope="module")
def requests(server: Server) -> RequestWatch:
    return watched(server)


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with Client(server) as connected:
        yield connected


def kinds(story: RequestStory) -> list[str]:
    return [each.step.kind for each in story.steps]


def numbers(story: RequestStory, kind: str) -> list[dict[str, object]]:
    return [each.step.numbers for each in story.steps if each.step.kind == kind]


def assert_named(frame: NamedFrame) -> None:
    """Check that every byte belongs to one field that holds no other."""
    at = 0
    for number, field in enumerate(frame.fields):
        following = frame.fields[number + 1 : number + 2]
        if not following or following[0].level <= field.level:
            assert field.position == at, field
            at += field.size
    assert at == len(frame.data)


def test_requests_are_kept_with_what_they_are_about(requests: RequestWatch) -> None:
    found = [(each.done.api, each.topics, each.error) for each in requests[:7]]
    assert found == [
        ("ApiVersions", (), ""),
        ("Metadata", ("orders",), ""),
        ("ListOffsets", ("clicks",), ""),
        ("Fetch", ("orders",), ""),
        ("Fetch", ("orders",), "OFFSET_OUT_OF_RANGE"),
        ("Fetch", ("no such topic",), "UNKNOWN_TOPIC_OR_PARTITION"),
        ("Fetch", ("orders",), ""),
    ]
    assert [each.number for each in requests[:7]] == list(range(1, 8))
    assert {each.done.client_id for each in requests[:7]} == {"tea-shop"}


def test_every_byte_of_both_sides_has_a_name(requests: RequestWatch) -> None:
    for request in requests:
        for frame in (name_request(request), name_response(request)):
            assert_named(frame)
            assert not any(field.is_wrong for field in frame.fields)
    first = name_request(requests[0])
    values = {field.name: (field.value, field.note) for field in first.fields}
    assert values["requestApiKey"] == (18, "ApiVersions")
    assert values["clientId"][0] == "tea-shop"
    assert values["size"][0] == len(first.data) - 4 == requests[0].done.request_bytes


def test_times_add_up_and_a_wait_is_remote(requests: RequestWatch) -> None:
    for request in requests:
        done = request.done
        parts = (
            done.request_queue_time_ms + done.local_time_ms + done.remote_time_ms
            + done.response_send_time_ms
        )  # fmt: skip
        assert parts == pytest.approx(done.total_time_ms, abs=0.01)
        assert min(done.request_queue_time_ms, done.local_time_ms, done.remote_time_ms) >= 0
    waited = requests[6].done  # maxWaitMs = 60, from when the request was there
    worked = waited.request_queue_time_ms + waited.local_time_ms
    assert waited.remote_time_ms >= 59 - worked
    assert requests[3].done.remote_time_ms == 0
    assert abs(requests[0].received_ms - time.time() * 1000) < 300_000


def test_a_fetch_is_told_from_the_frame_to_the_slice(requests: RequestWatch) -> None:
    story = tell_request(requests[3])
    assert (story.partitions, story.partition) == (["orders-0", "orders-1"], "orders-0")
    order = list(dict.fromkeys(kinds(story)))
    assert order == [
        "request received", "header read", "handler called", "partition asked", "segment found",
        "index probed", "index entry found", "batch passed", "batch found", "records sliced",
        "partition answered", "response sent",
    ]  # fmt: skip
    (sliced,) = numbers(story, "records sliced")
    assert sliced["min_one_message"] is True
    first, second = numbers(story, "partition asked")
    assert (first["min_one_message"], second["min_one_message"]) == (True, False)
    taken = requests[3].answers[0]["records"]
    assert second["left_of_max_bytes"] == 8 * MIB - taken
    assert sliced["size"] <= taken
    assert all(each.step.kind in REQUEST_KINDS for each in story.steps if each.place is not None)


def test_the_other_partition_can_be_looked_into(requests: RequestWatch) -> None:
    story = tell_request(requests[3], "orders-1")
    assert story.path is not None
    assert story.path.endswith("orders-1")
    asked = [each for each in story.steps if each.step.kind == "partition asked"][1]
    assert asked.place is not None
    start = asked.place.start
    assert story.request.data[start : start + 4] == struct.pack(">i", 1)
    with pytest.raises(LookupError, match="does not name orders-9"):
        tell_request(requests[3], "orders-9")


def test_the_slice_is_what_was_sent(client: Client) -> None:
    """Within one segment, the engine's read has the bytes of the response."""
    for most in (1, 700, 5000):
        request = fetch(client, 600, partition_bytes=most)
        story = tell_request(request)
        (sliced,) = numbers(story, "records sliced")
        sent = request.answers[0]["records"]
        path, position = story.path, int(str(sliced["position"]))
        assert path is not None
        whole = (Path(path) / "00000000000000000442.log").read_bytes()
        records = next(f for f in story.response.fields if f.name == "records")
        assert isinstance(records.value, bytes)
        assert records.value == whole[position : position + sent]
        assert sent <= int(str(sliced["size"]))
        if most == 1:
            assert "minOneMessage returns whole" in str(story.steps[-3].step.reason)
            assert sliced["size"] == sent


def test_a_fetch_in_a_session_is_told_with_partitions_that_it_does_not_name(
    client: Client,
) -> None:
    first = fetch(client, 1588, 2083, sessionEpoch=0)
    (session,) = (f.value for f in name_response(first).fields if f.name == "sessionId")
    assert session
    quiet = fetch(client, sessionId=session, sessionEpoch=1)
    assert quiet.topics == ("orders",)
    story = tell_request(quiet)
    assert story.partitions == ["orders-0", "orders-1"]
    reasons = [each.step.reason for each in story.steps]
    assert any("as its fetch session says, read orders-1" in reason for reason in reasons)
    assert any("nothing of orders-1 has changed" in reason for reason in reasons)
    moved = fetch(client, 600, sessionId=session, sessionEpoch=2)
    story = tell_request(moved)
    assert story.partition == "orders-0"
    answered = next(
        each for each in story.steps
        if each.step.kind == "partition answered" and "bytes of records" in each.step.reason
    )  # fmt: skip
    assert answered.place is not None
    start = answered.place.start
    assert story.response.data[start : start + 4] == struct.pack(">i", 0)
    wrong = fetch(client, sessionId=session, sessionEpoch=9)
    assert wrong.error == "INVALID_FETCH_SESSION_EPOCH"
    assert "partition asked" not in kinds(tell_request(wrong))


def test_a_lookup_by_time_searches_the_time_index(client: Client) -> None:
    request = list_offsets(client, 1_000)
    story = tell_request(request)
    times = [step for step in story.steps if step.step.where.endswith(".timeindex")]
    assert {each.step.kind for each in times} >= {"index entry found"}
    offset = request.answers[0]["offset"]
    assert numbers(story, "partition answered")[0]["offset"] == offset >= 0
    latest = tell_request(list_offsets(client, -1))
    (asked,) = (each for each in latest.steps if each.step.kind == "partition asked")
    assert "stands for latest" in asked.step.reason
    assert "index probed" not in kinds(latest)


def test_errors_and_waits_are_told(requests: RequestWatch) -> None:
    reasons = [str(each.step.reason) for each in tell_request(requests[4]).steps]
    assert any("OFFSET_OUT_OF_RANGE" in reason for reason in reasons)
    waited = tell_request(requests[6])
    (step,) = (each.step for each in waited.steps if each.step.kind == "request waited")
    assert "maxWaitMs = 60" in step.reason


def test_a_large_response_is_cut_and_says_so(requests: RequestWatch) -> None:
    frame = name_response(requests[3])
    assert len(frame.data) == MOST_FRAME_BYTES < frame.full_size
    assert frame.is_cut
    assert "65,536 bytes are kept" in tell_request(requests[3]).steps[-1].step.reason


def test_a_request_that_breaks_the_format_is_kept_with_its_problem(server: Server) -> None:
    for frame, problem in (
        (b"\x7f\xff" + bytes(20), "is not answered"),
        (struct.pack(">hhih", 1, 99, 7, -1), "version 99"),
        (struct.pack(">hhih", 3, 9, 7, -1) + b"\0\x7f", "Metadata version 9"),
        (b"\0", "no header"),
    ):
        with Client(server) as client:
            request = client.send(frame)
        assert problem in str(request.done.problem)
        story = tell_request(request)
        assert story.request.data == SIZE.pack(len(frame)) + frame
        assert kinds(story)[-1] == "request refused"
        assert story.steps[-1].step.reason == request.done.problem


def test_a_frame_that_is_too_large_is_told_without_bytes(server: Server) -> None:
    watch = server.watch()
    before = watch.total
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(SIZE.pack(1 << 30))
        assert raw.recv(1) == b""
    wait_until(lambda: watch.total > before)
    request = watch[-1]
    assert (request.frame, request.response) == (b"", b"")
    assert kinds(tell_request(request)) == ["request received", "request refused"]


def test_a_version_that_nobody_knows_is_answered_and_named(client: Client) -> None:
    request = client.send(struct.pack(">hhih", API_VERSIONS.key, 99, 7, -1) + b"\0")
    assert request.error == ""
    frame = name_response(request)
    assert_named(frame)
    assert next(field for field in frame.fields if field.name == "errorCode").note == (
        "UNSUPPORTED_VERSION"
    )


def test_only_the_last_requests_are_kept() -> None:
    with wb.serve(SHOP) as server:
        watch = server.watch(most=3)
        assert server.watch() is watch
        with Client(server) as client:
            for _ in range(5):
                client.ask(API_VERSIONS, 0, {})
    assert [each.number for each in watch] == [3, 4, 5]
    assert watch.total == 5


def test_all_bytes_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_module, "_MOST_BYTES", 200_000)
    with wb.serve(SHOP) as server:
        watch = server.watch()
        with Client(server) as client:
            for _ in range(6):
                fetch(client, 0)
    assert watch.total == 6
    assert sum(each.kept_bytes for each in watch) <= 200_000
    assert len(watch) == 3


def test_nothing_is_kept_unless_asked_for() -> None:
    heard: list[Event] = []
    with (
        wb.serve(SHOP, observe=heard.append) as server,
        socket.create_connection(("127.0.0.1", server.port)) as raw,
    ):
        raw.sendall(SIZE.pack(10) + struct.pack(">hhih", API_VERSIONS.key, 0, 1, -1))
        assert raw.recv(4)
        wait_until(lambda: any(isinstance(each, RequestDone) for each in heard))
        assert len(server.watch()) == 0


def test_bytes_with_a_password_are_never_kept(tmp_path: Path) -> None:
    passwords = tmp_path / "passwords"
    passwords.write_text("bob:sesame\n")
    passwords.chmod(0o600)
    token = b"\0bob\0sesame"
    with wb.serve(SHOP, security=wb.ServerSecurity(passwords=passwords)) as server:
        watch = server.watch()
        with Client(server) as client:
            client.ask(SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"})
            client.ask(SASL_AUTHENTICATE, 1, {"authBytes": token})
            client.ask(API_VERSIONS, 0, {})
            client.ask(SASL_AUTHENTICATE, 1, {"authBytes": token})
        with Client(server) as client:
            client.ask(SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"})
            client.send(struct.pack(">hhih", SASL_AUTHENTICATE.key, 9, 7, -1) + token)
    assert watch.total >= 5
    assert not any(b"sesame" in each.frame + each.response for each in watch)
    assert all(kinds(tell_request(each))[0] == "request received" for each in watch)


def test_a_log_that_is_gone_is_told_and_does_not_raise(tmp_path: Path) -> None:
    copy = tmp_path / "logs"
    shutil.copytree(SHOP / "orders-0", copy / "orders-0")
    with wb.serve(copy) as server, Client(server) as client:
        server.watch()
        request = fetch(client, 600)
    shutil.rmtree(copy / "orders-0")
    assert "log failed" in kinds(tell_request(request))


def test_a_writable_servers_fetch_is_told_on_the_engines_log(tmp_path: Path) -> None:
    copy = tmp_path / "logs"
    shutil.copytree(SHOP, copy)
    with wb.serve(copy, writable=True, recover=True) as server, Client(server) as client:
        request = fetch(client, 600)
        story = tell_request(request)
    (sliced,) = numbers(story, "records sliced")
    assert 0 < request.answers[0]["records"] <= int(str(sliced["size"]))
