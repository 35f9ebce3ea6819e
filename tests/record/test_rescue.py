"""A damaged batch still gives the records beside the damage: every byte of one is changed."""

from pathlib import Path

import pytest

from tests.naive import Record, batch, message, record_bytes, wrapper
from workbench.file_system.source import FileSource
from workbench.layout import problems
from workbench.record.columns import RecordColumns
from workbench.record.reading.reader import Problem, RecordReader

_FIRST = 10
_HEADER = 61  # bytes of a batch's header


def _records(first: int) -> list[Record]:
    headers = ((b"trace", b"\x01"), (b"", None))
    return [
        Record(first + at, 1_700_000_000_000 + at, b"k%d" % at, b"value-%d" % at, headers)
        for at in range(3)
    ]


def _read(path: Path) -> tuple[dict[int, tuple[bytes | None, bytes | None]], list[Problem]]:
    """Return key and value by offset, and the problems; the batches that are sound have values."""
    found: dict[int, tuple[bytes | None, bytes | None]] = {}
    wrong: list[Problem] = []
    with FileSource(str(path)) as source:
        for chunk in RecordReader(source, rescue=True):
            columns: RecordColumns = chunk.columns
            assert columns.keys is not None
            assert columns.values is not None
            pairs = zip(columns.keys.items(), columns.values.items(), strict=True)
            found.update(zip(columns.offsets.tolist(), pairs, strict=True))
            wrong += chunk.problems
    return found, wrong


def _expected(records: list[Record]) -> dict[int, tuple[bytes | None, bytes | None]]:
    return {record.offset: (record.key, record.value) for record in records}


def test_the_neighbors_of_a_damaged_record_are_read(tmp_path: Path) -> None:
    records = _records(_FIRST)
    sizes = [len(record_bytes(each, _FIRST, records[0].timestamp)) for each in records]
    before, after = batch(_records(0)), batch(_records(20))
    whole = batch(records)
    assert len(whole) == _HEADER + sum(sizes)
    path = tmp_path / "log"
    lost = 0
    for number in range(3):
        begin = _HEADER + sum(sizes[:number])
        for at in range(begin + 1, begin + sizes[number]):  # the first byte is the length
            for mask in (0x01, 0x80, 0xFF):
                data = bytearray(whole)
                data[at] ^= mask
                path.write_bytes(before + data + after)
                found, (problem,) = _read(path)
                sound = [*_records(0), *records, *_records(20)]
                sound = [each for each in sound if each.offset != _FIRST + number]
                assert _expected(sound).items() <= found.items(), (at, mask)
                assert problem.code == problems.CRC_MISMATCH
                assert (problem.size == 0) == ("rescued 3 of the 3 records" in problem.found)
                lost += problem.size > 0
    assert lost > 20  # of some records no field can be trusted


@pytest.mark.parametrize("codec", range(5))
def test_compressed_batches_are_read_if_they_decompress(codec: int, tmp_path: Path) -> None:
    records = [*_records(0), *_records(_FIRST), *_records(20)]
    path = tmp_path / "log"
    wrong = batch(_records(_FIRST), codec, crc=7)
    path.write_bytes(batch(_records(0), codec) + wrong + batch(_records(20), codec))
    found, (problem,) = _read(path)
    assert found == _expected(records)
    assert "rescued 3 of the 3 records" in problem.found
    torn = bytearray(wrong)
    torn[_HEADER:] = bytes(len(torn) - _HEADER)
    path.write_bytes(batch(_records(0), codec) + torn + batch(_records(20), codec))
    found, (problem,) = _read(path)
    assert found == _expected([*_records(0), *_records(20)])
    assert problem.size == len(torn)


def test_after_a_length_that_leads_nowhere_the_rest_is_named(tmp_path: Path) -> None:
    records = _records(_FIRST)
    data = bytearray(batch(records))
    first = len(record_bytes(records[0], _FIRST, records[0].timestamp))
    data[_HEADER + first] = 0x7E  # of the second record: longer than what is left
    data[_HEADER + first + 1] |= 0x80
    path = tmp_path / "log"
    path.write_bytes(bytes(data))
    found, (problem,) = _read(path)
    assert found == _expected(records[:1])
    left = len(data) - _HEADER - first
    assert problem.found.endswith(f"not {left} bytes after them; each may have changed bytes")


@pytest.mark.parametrize("magic", [0, 1])
def test_old_messages_with_an_invalid_crc_are_read(magic: int, tmp_path: Path) -> None:
    plain = bytearray(message(magic, _records(0)[0]))
    plain[-1] ^= 1  # a byte of the value
    packed = bytearray(wrapper(magic, _records(5), 1))
    packed[12] ^= 1  # the first byte of the CRC
    path = tmp_path / "log"
    path.write_bytes(bytes(plain + packed))
    found, wrong = _read(path)
    assert list(found) == [0, 5, 6, 7]
    assert [each.code for each in wrong] == [problems.CRC_MISMATCH] * 2
