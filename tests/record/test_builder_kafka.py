"""What is built here is byte for byte what Kafka's own builder builds, and it reads what we build.

Uncompressed batches are the same bytes. Compressors of two libraries differ, so of a compressed
batch the header and the decompressed records are; what our compressors made, Kafka reads.
"""

import random
from typing import Any

import pytest

from tests.kafka_records import ask, build_request, hexed, record_words
from workbench.layout.attributes import CODEC_NAMES
from workbench.layout.control_records import LEADER_CHANGE, SNAPSHOT_FOOTER, SNAPSHOT_HEADER
from workbench.record.codecs.compression import decompress
from workbench.record.memory_records import MemoryRecords
from workbench.record.reading.batch_records import Record
from workbench.record.reading.wrapper import wrapper_value
from workbench.record.writing.builder import (
    RecordsBuilder,
    end_transaction_marker,
    quorum_control_batch,
)

pytestmark = pytest.mark.broker

Given = tuple[int, int, bytes | None, bytes | None, tuple[tuple[bytes, bytes | None], ...]]


def some_records(chance: random.Random, base_offset: int, *, with_headers: bool) -> list[Given]:
    """Return up to forty records of every kind."""

    def content(null: float) -> bytes | None:
        size = chance.choice((0, 1, 5, 63, 64, 130, 9000 if chance.random() < 0.1 else 20))
        return None if chance.random() < null else chance.choice((b"a", b"xyz")) * size

    found: list[Given] = []
    offset = base_offset + chance.choice((0, 0, 0, 5))
    time = chance.choice((-1, 0, 1_700_000_000_000))
    for _ in range(chance.choice((1, 2, 7, 40))):
        headers = []
        if with_headers and chance.random() < 0.3:
            name = chance.choice(("", "trace", "größe")).encode()
            headers = [(name, content(0.3)) for _ in range(chance.randint(1, 3))]
        found.append((offset, time, content(0.2), content(0.2), tuple(headers)))
        offset += chance.choice((1, 1, 1, 3, 100_000))
        time = max(-1, time + chance.choice((-1000, 0, 1, 70, 2**33)))
    return found


def some_case(chance: random.Random) -> tuple[str, RecordsBuilder, int]:
    """Return a request, our builder for the same batch, and how many records it takes."""
    magic = chance.randint(0, 2)
    codec = chance.choice(("none", "none", *CODEC_NAMES[: 5 if magic == 2 else 4]))
    ours: dict[str, Any] = {"magic": magic, "codec": codec}
    theirs: dict[str, Any] = dict(ours)
    level = {"gzip": (1, 6, 9), "lz4": (1, 9, 17), "zstd": (-5, 1, 12)}.get(codec)
    if level is not None and chance.random() < 0.5:
        ours["level"] = theirs["level"] = chance.choice(level)
    base_offset = chance.choice((0, 17, 2**40))
    ours["base_offset"] = theirs["base_offset"] = base_offset
    if chance.random() < 0.3:
        time = 1_700_000_000_123
        ours |= {"timestamp_type": "LogAppendTime", "log_append_time": time}
        theirs |= {"type": "LogAppendTime", "append_time": time}
    if magic == 2:
        epoch = chance.choice((-1, 0, 2**31 - 1))
        ours["partition_leader_epoch"] = theirs["leader_epoch"] = epoch
        if chance.random() < 0.4:
            sequence = chance.choice((0, 9, 2**31 - 1))
            producer = {"producer_id": 4000, "producer_epoch": 3, "base_sequence": sequence}
            ours |= producer
            theirs |= producer
            ours["is_transactional"] = chance.random() < 0.5
            theirs["transactional"] = int(ours["is_transactional"])
        if chance.random() < 0.2:
            ours["delete_horizon"] = theirs["delete_horizon"] = 1_700_000_500_000
    builder = RecordsBuilder(**ours)
    records = some_records(chance, base_offset, with_headers=magic == 2)
    for offset, time, key, value, headers in records:
        builder.append_with_offset(offset, None if time == -1 else time, key, value, headers)
    words = [record_words(*record) for record in records]
    if magic == 2 and chance.random() < 0.2:
        last_offset = records[-1][0] + 5
        builder.override_last_offset(last_offset)
        words.append(f"last_offset {last_offset} 0")
    return build_request(words, **theirs), builder, len(records)


def opened(built: bytes) -> tuple[bytes, bytes]:
    """Return the header of a compressed batch without size and CRC, and its records."""
    batch = MemoryRecords.copy_of(built).batches()[0]
    codec = CODEC_NAMES.index(batch.codec)
    if batch.magic == 2:
        return built[:8] + built[12:17] + built[21:61], decompress(codec, built[61:], 2)
    start, end = wrapper_value(memoryview(built))
    head = built[:8] + built[16 : start - 4]
    return head, decompress(codec, built[start:end], batch.magic)


def test_batches_of_every_kind_are_those_of_kafka() -> None:
    """MB-4, MB-8, MR-2, DB-3, CO-1, CO-2, CO-6: seeded batches; see the module."""
    chance = random.Random(20260)
    cases = [some_case(chance) for _ in range(600)]
    builders = [builder for _, builder, _ in cases]
    built = [bytes(builder.build()) for builder in builders]
    answers = ask([request for request, _, _ in cases])
    reading = ask([f"read records={hexed(data)}" for data in built])
    for builder, data, answer, read, (request, _, count) in zip(
        builders, built, answers, reading, cases, strict=True
    ):
        assert answer.error is None, request
        wanted = answer.bytes_at(0)
        if builder.codec == 0:
            assert data == wanted, request
        else:
            assert opened(data) == opened(wanted), request
        info = [-1 if fact is None else fact for fact in builder.info]
        assert answer.words[1:] == [str(fact) for fact in info], request
        assert read.error is None, request
        assert len(read.words) == count
        assert read.words == [told(record) for record in MemoryRecords.copy_of(data).records()]
        assert read.words == [told(record) for record in MemoryRecords.copy_of(wanted).records()]


def told(record: Record) -> str:
    """Return a record as the Java program reports one."""
    time, sequence = record.timestamp, record.sequence
    return (
        f"{record.offset},{-1 if time is None else time},"
        f"{-1 if sequence is None else sequence},{record.size}"
    )


def test_control_batches_are_those_of_kafka() -> None:
    """CR-4, CR-5, DB-10, MB-3: markers, a leader change, the ends of a snapshot."""
    voters = [{"voterId": 7}]
    change = {"version": 0, "leaderId": 7, "voters": voters, "grantingVoters": voters}
    control = {"control": 1, "base_offset": 12, "leader_epoch": 5, "append_time": 1000}
    producer = {"producer_id": 9, "producer_epoch": 2, "transactional": 1}
    place = {"base_offset": 12, "timestamp": 1000}
    asked = [
        build_request(["marker 12 1000 1 30"], **control, **producer),
        build_request(["marker 12 1000 0 31"], **control, **producer),
        build_request(["leader 12 1000"], **control),
        build_request(["snapshot_header 12 1000"], **control),
        build_request(["snapshot_footer 12 1000"], **control),
    ]
    ours = [
        end_transaction_marker(
            12, 1000, 9, 2, commit=commit, coordinator_epoch=epoch, partition_leader_epoch=5
        )
        for commit, epoch in ((True, 30), (False, 31))
    ]
    header = {"version": 0, "lastContainedLogTimestamp": 99}
    ours += [
        quorum_control_batch(kind, values, **place, leader_epoch=5)
        for kind, values in (
            (LEADER_CHANGE, change),
            (SNAPSHOT_HEADER, header),
            (SNAPSHOT_FOOTER, {"version": 0}),
        )
    ]
    assert [bytes(built) for built in ours] == [answer.bytes_at(0) for answer in ask(asked)]


def test_what_kafka_refuses_to_build_is_refused_here() -> None:
    """MB-2, MB-6, LR-10: the formats lack it, or the numbers do not fit together."""
    record = record_words(0, 5, b"k", b"v")
    refused: list[tuple[dict[str, Any], list[str]]] = [
        ({"magic": 1, "transactional": 1, "producer_id": 1}, [record]),
        ({"magic": 0, "control": 1}, [record]),
        ({"magic": 1, "codec": "zstd"}, [record]),
        ({"magic": 0, "codec": "zstd"}, [record]),
        ({"magic": 1, "delete_horizon": 5}, [record]),
        ({"magic": 1, "producer_id": 1, "producer_epoch": 0, "base_sequence": 0}, [record]),
        ({"transactional": 1}, [record]),
        ({"producer_id": 1, "base_sequence": 0}, [record]),
        ({"producer_id": 1, "producer_epoch": 0}, [record]),
        ({"control": 1}, [record]),
        ({}, [record, record]),
        ({"base_offset": 1}, [record_words(2**31 + 1, 5, b"k", b"v")]),
        ({}, [record_words(0, -2, b"k", b"v")]),
        ({"magic": 1}, [record_words(0, 5, b"k", b"v", [(b"h", b"v")])]),
        ({"control": 1, "transactional": 1}, ["marker 0 5 1 3"]),
        ({"control": 1, "producer_id": 1, "producer_epoch": 0}, ["marker 0 5 1 3"]),
        ({"control": 1}, ["leader 0 5"]),
    ]
    asked = [build_request(records, **options) for options, records in refused]
    assert {answer.error for answer in ask(asked)} == {"IllegalArgumentException"}
    names = {"transactional": "is_transactional", "control": "is_control"}
    for options, records in refused:
        with pytest.raises(ValueError, match=r"\w"):
            build_here({names.get(name, name): v for name, v in options.items()}, records)


def build_here(options: dict[str, Any], records: list[str]) -> MemoryRecords:
    """Build what a request asks for."""
    builder = RecordsBuilder(**options)
    for words in records:
        kind, offset, time, *rest = words.split(" ")
        if kind == "marker":
            builder.append_end_transaction(int(time), int(rest[1]), commit=True)
        elif kind == "leader":
            builder.append_quorum_control(int(time), LEADER_CHANGE, {"version": 1})
        else:
            headers = [(b"h", b"v")] if len(rest) > 2 else []
            builder.append_with_offset(int(offset), int(time), b"k", b"v", headers)
    return builder.build()
