"""Kafka's own record classes, asked by a small Java program: what they build, what they accept.

One line per request, one line per answer, and one process for all requests of a test. Bytes
travel as hex; ``-`` is null or "not given".
"""

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.kafka_broker import compile_java, run_java

VERSION = "4.2.0"
PROGRAM = Path(__file__).with_name("Records.java")

Header = tuple[bytes, bytes | None]


class Answer(NamedTuple):
    """What Kafka said: the words after ``ok``, or the error's class and the words after it."""

    error: str | None
    words: list[str]

    def bytes_at(self, index: int) -> bytes:
        """Return the bytes that one word means."""
        return bytes.fromhex(self.words[index][1:])


def hexed(content: bytes | None) -> str:
    """Return bytes as a word of a request."""
    return "-" if content is None else f"x{content.hex()}"


def record_words(
    offset: int, time: int, key: bytes | None, value: bytes | None, headers: Sequence[Header] = ()
) -> str:
    """Return one record of a ``build`` request."""
    words = [f"record {offset} {time} {hexed(key)} {hexed(value)}"]
    words += [f"{hexed(name)} {hexed(content)}" for name, content in headers]
    return " ".join(words)


def build_request(records: Iterable[str], **options: Any) -> str:
    """Return a request to build a batch; ``options`` are those that differ from the defaults."""
    every = {
        "magic": 2, "codec": "none", "level": "-", "type": "CreateTime", "base_offset": 0,
        "append_time": -1, "producer_id": -1, "producer_epoch": -1, "base_sequence": -1,
        "transactional": 0, "control": 0, "leader_epoch": -1, "delete_horizon": -1,
    }  # fmt: skip
    assert set(options) <= set(every)
    words = " ".join(f"{name}={value}" for name, value in {**every, **options}.items())
    return ";".join([f"build {words}", *records])


def validate_request(records: bytes, **options: Any) -> str:
    """Return a request to validate records and number them, as a leader does."""
    every = {
        "offset": 0, "now": 0, "target": "producer", "level": "-", "compacted": 0, "magic": 2,
        "type": "CreateTime", "before": 2**63 - 1, "after": 2**63 - 1, "epoch": 0,
        "origin": "CLIENT",
    }  # fmt: skip
    assert set(options) <= set(every)
    words = " ".join(f"{name}={value}" for name, value in {**every, **options}.items())
    return f"validate records={hexed(records)} {words}"


def ask(requests: Sequence[str]) -> list[Answer]:
    """Return Kafka's answers, one each."""
    classes = compile_java(VERSION, PROGRAM.read_text(encoding="utf-8"), "Records")
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder, "asked"), Path(folder, "answered")
        asked.write_text("\n".join(requests))
        done = run_java(VERSION, "Records", str(asked), str(answered), classes=classes)
        assert done.returncode == 0, done.stderr
        lines = answered.read_text().splitlines()
    assert len(lines) == len(requests)
    answers = []
    for line in lines:
        kind, *words = line.split(" ")
        answers.append(Answer(None, words) if kind == "ok" else Answer(words[0], words[1:]))
    return answers
