"""Answers to cases from the field that no start decides: foreign segments, newest values."""

import shutil
from pathlib import Path

import pytest

import workbench as wb
from tests.cli.program import run
from tests.field.cases import open_field_case
from workbench.errors import LogDirectoryError
from workbench.files.redpanda_segment import is_redpanda_segment

NEWEST = """
    select decode(key) connector, partition, max("offset"),
           arg_max_null(decode(value), "offset") position
    from "connect-offsets" group by all order by all
"""


def test_connectors_stand_at_their_newest_records_and_a_tombstone_is_a_reset(
    tmp_path: Path,
) -> None:
    data = open_field_case("connect-offsets", tmp_path).data
    assert wb.open_log_directory(data).sql(NEWEST).fetchall() == [
        ('["files-in",{"filename":"/in/a.csv"}]', 3, 79, '{"position":19968}'),
        ('["jdbc-old",{"table":"t1"}]', 0, 13, None),
        ('["pg-source",{"server":"shop"}]', 3, 78, '{"lsn":1273,"txId":39}'),
    ]


@pytest.fixture
def redpanda(tmp_path: Path) -> Path:
    return open_field_case("redpanda", tmp_path).data


@pytest.mark.parametrize("place", ["", "kafka/orders/0_12", "kafka/orders/0_12/0-1-v1.log"])
@pytest.mark.parametrize("command", ["ls", "describe", "dump", "verify"])
def test_segments_of_redpanda_are_named(redpanda: Path, place: str, command: str) -> None:
    outcome = run(command, redpanda / place)
    assert outcome.code == 3
    assert "is a segment of Redpanda, not of Kafka" in outcome.err
    with pytest.raises(LogDirectoryError, match="Redpanda"):
        wb.verify(redpanda / place)


def test_a_name_like_redpandas_alone_is_not_its_segment(redpanda: Path, tmp_path: Path) -> None:
    segment = redpanda / "kafka" / "orders" / "0_12" / "0-1-v1.log"
    assert is_redpanda_segment(str(segment))
    other = tmp_path / "0-1-v1.log"
    damaged = bytearray(segment.read_bytes())
    damaged[20] ^= 1  # in the header
    other.write_bytes(damaged)
    assert not is_redpanda_segment(str(other))
    other.write_bytes(segment.read_bytes()[:60])
    assert not is_redpanda_segment(str(other))
    shutil.copy(segment, tmp_path / "00000000000000000000.log")
    assert not is_redpanda_segment(str(tmp_path / "00000000000000000000.log"))
