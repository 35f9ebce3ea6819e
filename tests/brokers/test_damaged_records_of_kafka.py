"""A damaged record: what Kafka's own consumer gets of its batch, with and without check.crcs.

A broker of 4.2 writes batches of five records; one record of some is damaged while it is down.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import crc32c
import pytest
from kafka import KafkaProducer

import workbench as wb
from tests.kafka_broker import Broker, compile_java, run_java
from workbench.errors import CorruptDataWarning
from workbench.log_directory import LogDirectory

_VERSION: Final = "4.2.0"
_EACH: Final = 5  # records of a batch
_BATCHES: Final = 8
_TOPIC: Final = "hurt"
_CRC_AT, _CRC_END = 17, 21


def _key_length(batch: bytearray, key: bytes) -> None:
    batch[batch.index(key) - 1] = 0x7F  # -64: after it, no field fits


def _value(batch: bytearray, key: bytes) -> None:
    batch[batch.index(key) + len(key) + 5] ^= 1


def _with_crc(batch: bytearray, key: bytes) -> None:
    """Damage a record and make the CRC fit, as what a faulty client sent has one."""
    batch[batch.index(key) - 1] = 0x7E  # 63: longer than the record
    batch[_CRC_AT:_CRC_END] = crc32c.crc32c(bytes(batch[_CRC_END:])).to_bytes(4)


_DAMAGE: Final[dict[int, Callable[[bytearray, bytes], None]]] = {
    7: _key_length,
    18: _value,
    27: _with_crc,
}
"""Offset of a record → what is done to it."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[LogDirectory, dict[str, list[str]]]:
    """Give a copy of the log, and what a consumer got from each offset."""
    folder = tmp_path_factory.mktemp("hurt")
    with Broker(_VERSION, folder / "broker", {"num.partitions": "1"}) as broker:
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap, linger_ms=500)
        for number in range(_BATCHES):
            for at in range(_EACH):
                producer.send(_TOPIC, b"v" * 40, key=b"key-%03d" % (number * _EACH + at))
            producer.flush()
        producer.close()
    log = broker.data / f"{_TOPIC}-0" / f"{0:020}.log"
    data = bytearray(log.read_bytes())
    rows = wb.open_log_directory(broker.data)[f"{_TOPIC}-0"].segments[0].batches.rows
    assert rows["record_count"].tolist() == [_EACH] * _BATCHES
    for offset, damage in _DAMAGE.items():
        row = rows[offset // _EACH]
        start, end = int(row["position"]), int(row["position"] + row["size"])
        batch = data[start:end]
        damage(batch, b"key-%03d" % offset)
        data[start:end] = batch
    log.write_bytes(data)
    copy = folder / "copy"
    shutil.copytree(broker.data, copy)
    source = (Path(__file__).parent / "DamagedReads.java").read_text()
    classes = compile_java(_VERSION, source, "DamagedReads")
    with broker:
        count = str(_BATCHES * _EACH)
        done = run_java(_VERSION, "DamagedReads", broker.bootstrap, _TOPIC, count, classes=classes)
    found: dict[str, list[str]] = {"true": [], "false": []}
    for line in done.stdout.splitlines():
        crcs, _, answer = line.split(" ", 2)
        found[crcs].append(answer)
    return wb.open_log_directory(copy), found


def test_a_consumer_gets_and_fails_where_is_said(
    answers: tuple[LogDirectory, dict[str, list[str]]],
) -> None:
    logs, found = answers
    partition = logs[f"{_TOPIC}-0"]
    for offset, answer in enumerate(found["true"]):
        said = partition.fate(offset).read_uncommitted
        if answer.startswith("gets"):
            assert (said.outcome, f"gets {said.next_offset}") == ("gets", answer)
        else:
            assert answer.startswith(f"fails {offset} org.apache.kafka.common.KafkaException")
            assert said.outcome == "fails"
            assert found["true"][said.next_offset or 0] == f"gets {said.next_offset}"
    assert [each.split()[0] for each in found["true"]].count("fails") == 5 + 5 + 3


def test_without_check_crcs_it_gets_the_records_before_the_damage(
    answers: tuple[LogDirectory, dict[str, list[str]]],
) -> None:
    logs, found = answers
    failing = [at for at, answer in enumerate(found["false"]) if answer.startswith("fails")]
    assert failing == [7, 8, 9, 27, 28, 29]
    partition = logs[f"{_TOPIC}-0"]
    words = {offset: partition.fate(offset).read_uncommitted.why for offset in (8, 18, 28)}
    assert "with check.crcs=false it gets the records up to 6 and fails then" in words[8]
    assert "with check.crcs=false it gets every record" in words[18]
    assert "to seek past the record, as the exception advises, is not enough" in words[28]


def test_a_rescue_reads_every_record_but_the_damaged_ones(
    answers: tuple[LogDirectory, dict[str, list[str]]],
) -> None:
    logs, _ = answers
    scan = logs.scan(_TOPIC, columns=["offset", "key"], rescue=True)
    with pytest.warns(CorruptDataWarning, match="rescued 4 of the 5 records"):
        rows = scan.to_arrow().to_pylist()
    every = [at for at in range(_BATCHES * _EACH) if at not in {7, 27}]
    assert [(row["offset"], row["key"]) for row in rows] == [(at, b"key-%03d" % at) for at in every]
    partition = logs[f"{_TOPIC}-0"]
    assert partition.fate(7).rescuable == (5, 6, 8, 9)
    assert partition.fate(18).rescuable == (15, 16, 17, 18, 19)
    assert partition.fate(28).rescuable == (25, 26, 28, 29)
