"""`kafka-workbench serve`, as a process of its own: what it prints, and how it ends."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from kafka import KafkaConsumer, TopicPartition

from tests.cli.program import run

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
