"""`kafka-workbench serve`, as a process of its own: what it prints, and how it ends."""

import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest
from kafka import KafkaConsumer, TopicPartition

import workbench as wb
from tests.cli.program import run
from tests.server.hostile import frame
from tests.waiting import HANGS_AFTER_S
from workbench.server.protocol.api_keys import API_VERSIONS

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "workbench.cli.main", "serve", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(process: subprocess.Popen[str], kind: signal.Signals) -> tuple[str, str]:
    """Send a signal; return what else was printed, after it ended with 0."""
    assert process.stdout is not None
    assert process.stderr is not None
    process.send_signal(kind)
    with process:
        printed = process.stdout.read(), process.stderr.read()
    assert process.returncode == 0, printed[1]
    return printed


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_the_first_line_says_where_and_each_request_is_a_line(kind: signal.Signals) -> None:
    process = start("--json", "--topics", "orders", str(SHOP))
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())
    assert first["topics"] == 1
    assert first["partitions"] == 3
    consumer = KafkaConsumer(bootstrap_servers=first["bootstrap"])
    where = TopicPartition("orders", 0)
    assert consumer.beginning_offsets([where]) == {where: 0}
    consumer.close()
    out, _ = end(process, kind)
    lines = [json.loads(line) for line in out.splitlines()]
    requests = [line for line in lines if "api" in line]
    assert {"ApiVersions", "Metadata", "ListOffsets"} <= {line["api"] for line in requests}
    assert all(line["problem"] is None for line in requests)
    assert [line["note"][:9] for line in lines if "note" in line] == ["read-only"]


def test_what_is_answered_while_the_server_stops_is_a_line_too() -> None:
    process = start("--json", str(SHOP))
    assert process.stdout is not None
    host, port = json.loads(process.stdout.readline())["bootstrap"].split(":")
    with socket.create_connection((host, int(port)), HANGS_AFTER_S) as client:
        client.sendall(frame(API_VERSIONS.key, 0, b"") * 3000)
        received = client.recv(1 << 16)
        process.send_signal(signal.SIGINT)
        with suppress(ConnectionError):  # the server has left requests unread
            while more := client.recv(1 << 16):
                received += more
    out, err = process.communicate(timeout=HANGS_AFTER_S)
    assert process.returncode == 0, err
    lines = [json.loads(line) for line in out.splitlines()]
    answered = [line for line in lines if "api" in line]
    assert len(received) <= sum(line["response_bytes"] for line in answered)


PRODUCER = """
import sys
from kafka import KafkaProducer
producer = KafkaProducer(bootstrap_servers=sys.argv[1], retries=0)
for first in range(int(sys.argv[2]), 1 << 30, 20):
    sent = [producer.send("numbers", b"%d" % (first + number)) for number in range(20)]
    for future in sent:
        future.get(20)
    print(first + 20, flush=True)
"""


def test_what_was_acknowledged_is_there_after_a_kill(tmp_path: Path) -> None:
    writing = ("--json", "--writable", "--recover", str(tmp_path))
    written = 0
    for _ in range(2):
        server = start(*writing)
        assert server.stdout is not None
        where = json.loads(server.stdout.readline())["bootstrap"]
        command = [sys.executable, "-c", PRODUCER, where, str(written)]
        quiet = {"stderr": subprocess.DEVNULL, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, **quiet) as producer:  # type: ignore[call-overload]
            lines = [producer.stdout.readline() for _ in range(12)]
            server.kill()
            server.communicate()
            producer.kill()
            acknowledged = int((lines + producer.stdout.readlines())[-1])
        scan = wb.open_log_directory(tmp_path).scan(topics="numbers")
        found = [int(value) for batch in scan.batches() for value in batch["value"].to_pylist()]
        assert acknowledged <= len(found)
        assert found == list(range(len(found)))  # none is lost, and none is there twice
        written = len(found)
    server = start(*writing)
    assert server.stdout is not None
    server.stdout.readline()
    end(server, signal.SIGTERM)
    assert (tmp_path / ".kafka_cleanshutdown").exists()
    assert wb.verify(tmp_path) == []


def test_what_writing_needs_is_said(tmp_path: Path) -> None:
    assert run("serve", "--recover", SHOP).code == 3
    shutil.copytree(SHOP, tmp_path / "shop")
    (tmp_path / "shop" / ".kafka_cleanshutdown").unlink()
    refused = run("serve", "--writable", tmp_path / "shop")
    assert refused.code
    assert "--recover" in refused.err


def test_a_status_line_says_where_without_json() -> None:
    process = start(str(SHOP))
    assert process.stdout is not None
    line = process.stdout.readline()
    _, err = end(process, signal.SIGINT)
    assert line.startswith("serving 7 topics, 15 partitions at 127.0.0.1:")
    assert "offsets of groups are kept in memory" in err


def test_another_interface_is_refused_unless_it_is_said() -> None:
    done = run("serve", "--host", "0.0.0.0", SHOP)  # noqa: S104 - what is refused
    assert done.code == 3
    assert "0.0.0.0: other machines can reach it" in done.err
    assert "--insecure" in done.err


def test_an_unknown_topic_names_the_nearest() -> None:
    done = run("serve", "-t", "order", SHOP)
    assert done.code == 3
    assert "did you mean orders?" in done.err


def test_a_terminal_shows_what_clients_do_in_one_line() -> None:
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (40, 100))
    command = [sys.executable, "-m", "workbench.cli.main", "serve", str(SHOP)]
    shown = b""
    with subprocess.Popen(command, stdout=slave, stderr=slave) as process:
        os.close(slave)
        while not (found := re.search(rb"at (127\.0\.0\.1:\d+), read-only", shown)):
            shown += os.read(master, 1 << 16)
        consumer = KafkaConsumer(bootstrap_servers=found[1].decode(), client_id="me")
        consumer.topics()
        while b"sent \xc2\xb7 last: Metadata of me" not in shown:
            shown += os.read(master, 1 << 16)
        consumer.close()
        process.send_signal(signal.SIGINT)
        with suppress(OSError):  # the terminal is closed
            while more := os.read(master, 1 << 16):
                shown += more
        assert process.wait() == 0
    os.close(master)
    assert b"sent\x1b[0mkafka-workbench" not in shown
    assert re.search(rb"\d connections? \xc2\xb7 \d+ requests", shown)
