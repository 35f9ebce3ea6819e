"""The validator and Kafka's own, on the same thousands of appends: same answer, same bytes."""

import random
from typing import Any, NamedTuple

import pytest

from tests.kafka_records import Answer, ask, validate_request
from tests.naive import Record, batch, message, wrapper
from workbench.config.log_config import LogConfig
from workbench.errors import (
    CorruptRecordError,
    InvalidRecordError,
    InvalidTimestampError,
    UnsupportedForMessageFormatError,
    WorkbenchError,
)
from workbench.layout.attributes import CODEC_NAMES, NONE
from workbench.log.append.append_info import ValidationResult
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.append.validation import LogValidator
from workbench.log.context import record_rules
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.batch_checks import check_batches

pytestmark = pytest.mark.broker

NOW = 1_700_000_000_000
ERRORS: dict[str, tuple[type[WorkbenchError], ...]] = {
    "InvalidRecordException": (InvalidRecordError,),
    "InvalidTimestampException": (InvalidTimestampError,),
    "CorruptRecordException": (CorruptRecordError,),
    "UnsupportedForMessageFormatException": (UnsupportedForMessageFormatError,),
    # What Kafka did not expect itself; a client gets "unknown server error".
    "UnsupportedOperationException": (InvalidRecordError,),
    "IllegalArgumentException": (
        InvalidRecordError,
        CorruptRecordError,
        UnsupportedForMessageFormatError,
    ),
    "KafkaException": (InvalidRecordError, CorruptRecordError),
}


class Case(NamedTuple):
    """An append and where it goes."""

    records: bytes
    options: dict[str, Any]


def some_records(chance: random.Random) -> list[Record]:
    """Return up to nine records, mostly with keys and times that a topic takes."""
    found = []
    offset = 0
    for _ in range(chance.choice((1, 1, 3, 9))):
        time = NOW + chance.choice((0, 0, 0, 1, -5000, 5000, 3_600_001))
        if chance.random() < 0.1:
            time = chance.choice((-1, 0, -7))
        key = None if chance.random() < 0.1 else chance.choice((b"", b"k", b"key" * 30))
        value = chance.choice((None, b"", b"value", b"v" * 300))
        headers = ((b"h", None), (b"i", b"x")) if chance.random() < 0.2 else ()
        found.append(Record(offset, time, key, value, headers))
        offset += 2 if chance.random() < 0.04 else 1
    return found


def some_batch(chance: random.Random) -> bytes:
    """Return a batch of magic 2, sometimes with a field that does not fit."""
    records = some_records(chance)
    fields: dict[str, Any] = {}
    if chance.random() < 0.3:
        sequence = chance.choice((0, 5, 2**31 - 1, -1))
        fields |= {"producer_id": 7, "producer_epoch": 1, "base_sequence": sequence}
        fields["attributes"] = chance.choice((0, 0x10))
    if chance.random() < 0.15:
        fields["attributes"] = chance.choice((0x08, 0x20, 0x30, 0x18, 0x80))
    if chance.random() < 0.15:
        name, value = chance.choice(
            (
                ("count", chance.choice((-1, 0, 1, 2, 4))),
                ("last_offset", chance.choice((-3, 0, 2, 15))),
                ("max_timestamp", NOW + 77),
                ("base_timestamp", NOW - 3),
                ("tail", b"\0"),
                ("tail", bytes.fromhex("0c000000010100")),
                ("base_offset", 3),
            )
        )
        fields[name] = value
    return batch(records, chance.choice((0, 0, 1, 2, 3, 4)), **fields)


def some_messages(chance: random.Random, magic: int) -> bytes:
    """Return one or more messages of an old format, or a wrapper around some."""
    records = [record for record in some_records(chance) if record.timestamp >= -1]
    records = [Record(index, r.timestamp, r.key, r.value) for index, r in enumerate(records)]
    codec = chance.choice((0, 1, 2, 3))
    attributes = 8 if magic and chance.random() < 0.1 else 0
    if not records:
        records = [Record(0, NOW, b"k", b"v")]
    if not codec:
        return b"".join(message(magic, record, attributes) for record in records)
    fields: dict[str, Any] = {"attributes": attributes}
    if chance.random() < 0.2:
        name, value = chance.choice(
            (
                ("offset", chance.choice((0, 1, 50))),
                ("inner_magic", 1 - magic),
                ("payload", b""),
                ("payload", message(magic, records[0], 1)),
                ("payload", message(magic, records[0])[:-1]),
                ("payload", message(magic, records[0])[:-1] + b"\xff"),
            )
        )
        fields[name] = value
    return wrapper(magic, records, codec, **fields)


def some_case(chance: random.Random) -> Case:
    """Return an append of any format, with a topic that takes most of them."""
    magic = chance.choice((0, 1, 2, 2, 2, 2))
    records = some_batch(chance) if magic == 2 else some_messages(chance, magic)
    if chance.random() < 0.05:
        records += some_batch(chance) if chance.random() < 0.5 else some_messages(chance, 1)
    options: dict[str, Any] = {
        "offset": chance.choice((0, 1234567, 2**40)),
        "now": NOW,
        "target": chance.choice(("producer", "producer", *CODEC_NAMES)),
        "compacted": int(chance.random() < 0.3),
        "magic": 2 if chance.random() < 0.8 else chance.randint(0, 1),
        "epoch": chance.choice((0, 9)),
        "origin": chance.choice(("CLIENT", "CLIENT", "CLIENT", "COORDINATOR")),
    }
    if options["magic"] < 2 and options["target"] == "zstd":
        options["target"] = "gzip"
    if options["target"] == "gzip" and chance.random() < 0.5:
        options["level"] = 7
    if chance.random() < 0.3:
        options["type"] = "LogAppendTime"
    if chance.random() < 0.5:
        options |= {"before": 6000, "after": 6000}
    return Case(records, options)


def validate(case: Case) -> ValidationResult:
    """Do with the validator here what the request asks of Kafka's."""
    options = case.options
    topic: dict[str, Any] = {
        "message.timestamp.type": options.get("type", "CreateTime"),
        "message.timestamp.before.max.ms": options.get("before", 2**63 - 1),
        "message.timestamp.after.max.ms": options.get("after", 2**63 - 1),
        "cleanup.policy": "compact" if options["compacted"] else "delete",
        "compression.type": options["target"].replace("none", "uncompressed"),
    }
    if "level" in options:
        topic["compression.gzip.level"] = options["level"]
    config = LogConfig.of(topic)
    records = MemoryRecords.copy_of(case.records)
    batches = check_batches(records, record_rules(config), options["now"])
    validator = LogValidator(
        "orders-0",
        record_rules(config),
        AppendOrigin[options["origin"]],
        options["epoch"],
        options["now"],
        options["magic"],
    )
    return validator.validate_and_assign(records, batches, options["offset"])


def compare(case: Case, answer: Answer) -> str:
    """Hold our answer to Kafka's; return in a word what it was."""
    if answer.error == "NullPointerException":  # it built a batch without records
        assert validate(case).records.size == 0
        return answer.error
    if answer.error is not None:
        with pytest.raises(ERRORS[answer.error]) as caught:
            validate(case)
        if answer.words:
            assert isinstance(caught.value, InvalidRecordError)
            assert [str(index) for index in caught.value.record_errors] == answer.words
        if answer.error == "InvalidRecordException":
            assert not isinstance(caught.value, InvalidTimestampError)
        return answer.error
    result = validate(case)
    largest, next_offset, is_changed = answer.words[1:]
    assert result.max_timestamp == int(largest)
    assert result.next_offset == int(next_offset)
    assert result.message_size_maybe_changed == (is_changed == "true")
    wanted = MemoryRecords.copy_of(answer.bytes_at(0))
    table = wanted.batches()
    if not result.message_size_maybe_changed or (table.column("codec") == NONE).all():
        assert bytes(result.records) == bytes(wanted)
    ours = result.records.batches()
    assert len(ours) == len(table)
    for index, theirs in enumerate(table.rows):
        row = ours.rows[index]
        for name in theirs.dtype.names:
            if name not in {"size", "crc", "position"}:
                assert row[name] == theirs[name], name
        told = result.batches[index]
        assert (told.base_offset, told.last_offset) == (row["base_offset"], row["last_offset"])
        assert told.partition_leader_epoch == row["partition_leader_epoch"]
        assert (told.max_timestamp, told.size) == (row["max_timestamp"], row["size"])
    assert all(batch.is_valid for batch in check_batches(result.records))
    assert result.records.records() == wanted.records()
    return "rebuilt" if result.message_size_maybe_changed else "in place"


def test_every_append_is_answered_as_kafka_answers_it() -> None:
    """LV-1 to LV-15: seeded appends of all formats and codecs, sound and not.

    Of LV-1, LV-2, LV-3, LV-4, LV-5, LV-6, LV-7, LV-8, LV-9, LV-10, LV-11, LV-12, LV-13, LV-14 and
    LV-15 each is met many times.
    """
    chance = random.Random(20261)
    cases = [some_case(chance) for _ in range(4000)]
    answers = ask([validate_request(case.records, **case.options) for case in cases])
    met: dict[str, int] = {}
    for case, answer in zip(cases, answers, strict=True):
        word = compare(case, answer)
        met[word] = met.get(word, 0) + 1
    assert min(met[word] for word in ("in place", "rebuilt", *list(ERRORS)[:4])) > 10
