"""The rule by which keys and values are shown: text, JSON, what a topic or a schema says, hex."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.cli.program import run
from tests.examples import examples
from tests.naive import Record, batch
from workbench.decoders.decoder import JsonText
from workbench.errors import CorruptDataWarning
from workbench.loaders.exports.export import Export
from workbench.values.readable import Readable, as_json, as_line, readable
from workbench.values.schemas.schemas import Schema, Schemas


@pytest.mark.parametrize(
    ("data", "in_json", "in_a_line"),
    [
        (None, None, "null"),
        (b"", "", '""'),
        ("Kraków\u00a010 €".encode(), "Kraków\u00a010 €", "Kraków\\xa010 €"),
        (b"a\tb\n", "a\tb\n", r"a\tb\n"),
        (b"\x1b[31mred", "\x1b[31mred", r"\x1b[31mred"),
        (b"0x00", "0x00", "0x00"),
        (b"17", "17", "17"),
        (b"null", "null", "null"),
        (b'{"a":\n 1}', {"a": 1}, '{"a":  1}'),
        (b'["sink",{"p":0}]', ["sink", {"p": 0}], '["sink",{"p":0}]'),
        (b"[INFO] started", "[INFO] started", "[INFO] started"),
        (b'{"a": NaN}', '{"a": NaN}', '{"a": NaN}'),
        (b"\x00\x00\x00\x07", {"bytes": "00000007"}, "0x00000007"),
        (b"a\x00b", {"bytes": "610062"}, "0x610062"),
        (b"\xff", {"bytes": "ff"}, "0xff"),
    ],
)
def test_bytes_are_text_or_json_where_they_can_be_and_else_marked_hex(
    data: bytes | None, in_json: Any, in_a_line: str
) -> None:
    assert json.loads(as_json(readable(data))) == in_json
    assert as_line(readable(data)) == in_a_line


def test_json_escapes_what_is_not_visible_and_nothing_else() -> None:
    assert as_json("Kraków 東京 😀") == '"Kraków 東京 😀"'
    assert as_json("a\u202eb\u2028\x9b\x1b") == '"a\\u202eb\\u2028\\u009b\\u001b"'
    assert as_json(readable('["a\u202eé"]'.encode())) == '["a\\u202eé"]'
    assert as_json({"\ud800": "\U000e0001"}) == '{"\\ud800": "\\udb40\\udc01"}'


def test_json_keeps_its_digits_its_order_and_its_repeated_names() -> None:
    text = '{"b":1.000000000000000000001,"a":123456789012345678901234567890,"a":"é\\u0001😀"}'
    found = readable(text.encode())
    assert isinstance(found, JsonText)
    assert found == text
    assert as_json(found) == text
    nested = b"[" * 100_000 + b"]" * 100_000
    assert readable(nested) == nested.decode()


@examples(200)
@given(st.binary() | st.text().map(str.encode) | st.from_regex(rb"[\[{].*", fullmatch=True))
def test_any_bytes_are_one_line_of_json_from_which_they_come_back(data: bytes) -> None:
    found = readable(data)
    line = as_json(found)
    assert all(letter.isprintable() for letter in line if letter > "\x7f")
    assert "\n" not in line
    value = json.loads(line)
    if isinstance(found, bytes):
        assert bytes.fromhex(value["bytes"]) == data
    elif isinstance(found, JsonText):
        assert value == json.loads(data)
    else:
        assert value.encode() == data
    assert as_line(found).isprintable()


def framed(number: int, data: bytes) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + data


def test_a_schema_of_the_directory_reads_the_values_that_begin_with_its_id() -> None:
    avro = '{"type":"record","name":"R","fields":[{"name":"n","type":"long"}]}'
    read: list[None] = []

    def schemas() -> Schemas:
        read.append(None)
        return Schemas(
            {7: Schema("AVRO", avro), 8: Schema("AVRO", '"string"'), 9: Schema("AVRO", "{")}
        )

    rule = Readable("orders", schemas)
    assert rule.value(b"k", b"text") == "text"
    assert not read
    assert rule.value(b"k", framed(7, b"\x06")) == {"n": 3}
    assert rule.key(framed(8, b"\x04ok")) == "ok"
    assert rule.value(None, framed(5, b"\x06")) == framed(5, b"\x06")
    assert rule.value(None, struct.pack(">q", 1 << 40)) == struct.pack(">q", 1 << 40)
    for broken in (framed(7, b"\x80"), framed(9, b"\x02")):
        found = rule.value(None, broken)
        assert found["bytes"] == broken.hex()
        assert found["error"]
        assert as_line(found).startswith(f"0x{broken.hex()} (not decoded: ")
    assert len(read) == 1


def test_records_of_kafkas_own_topics_are_read_by_their_decoder() -> None:
    rule = Readable("__consumer_offsets")
    key = b"\0\x01\0\x01g\0\x01t\0\0\0\x03"
    assert rule.key(key)["data"] == {"group": "g", "topic": "t", "partition": 3}
    assert Readable("orders").key(key) == key
    assert rule.key(b"\xff")["bytes"] == "ff"
    assert rule.value(key, None) is None


def test_a_scan_gives_the_same_as_text(tmp_path: Path) -> None:
    avro = '{"type":"record","name":"R","fields":[{"name":"n","type":"long"}]}'
    stored = json.dumps({"subject": "s", "version": 1, "id": 7, "schema": avro}).encode()
    group = b"\0\x01\0\x01g\0\x01t\0\0\0\x03"
    written: dict[str, list[tuple[bytes | None, bytes | None]]] = {
        "_schemas": [(b'{"keytype":"SCHEMA"}', stored)],
        "__consumer_offsets": [(group, None)],
        "orders": [
            (b"k", b'{"a":\n1.50}'), (b"\xff", framed(7, b"\x06")), (None, framed(7, b"\x80")),
        ],
    }  # fmt: skip
    for topic, records in written.items():
        folder = tmp_path / f"{topic}-0"
        folder.mkdir()
        data = batch([Record(at, 5, key, value) for at, (key, value) in enumerate(records)])
        (folder / f"{0:020}.log").write_bytes(data)
    logs = wb.open_log_directory(tmp_path)
    scan = logs.scan(topics="orders", decode="auto")
    with pytest.warns(CorruptDataWarning, match="1 key or value null or incomplete"):
        table = scan.to_arrow()
    assert table["key"].to_pylist() == ["k", "0xff", None]
    first, second, third = table["value"].to_pylist()
    assert (first, second) == ('{"a":\n1.50}', '{"n": 3}')
    assert third.startswith("0x000000000780 (not decoded: ")
    assert [each.offset for each in scan.findings] == [2]
    (key,) = logs.scan(topics="__consumer_offsets", decode="auto").to_arrow()["key"].to_pylist()
    assert json.loads(key)["data"]["group"] == "g"
    target = tmp_path.parent / f"{tmp_path.name}.jsonl"
    Export(logs.scan(topics="orders", decode="auto"), str(target)).run()
    lines = target.read_text().splitlines()
    values = [json.loads(line)["value"] for line in lines]
    assert values[:2] == [{"a": 1.5}, {"n": 3}]
    assert run("dump", tmp_path, "-t", "orders", "--json").out.splitlines() == lines
