import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.record.declared import declare, field
from workbench.errors import CorruptRecordError, UnsupportedFormatError
from workbench.record.message_schema import (
    NULL_UUID,
    UNKNOWN_TAGS,
    Field,
    Message,
    Struct,
    message,
    uuid_text,
)

EVERYTHING = declare(
    field("Small", "int8"),
    field("Short", "int16", versions="1+"),
    field("Port", "uint16"),
    field("Number", "int32", default="-1"),
    field("Long", "int64", versions="0-1"),
    field("Ratio", "float64"),
    field("Flag", "bool"),
    field("Name", "string"),
    field("Maybe", "string", nullable=True),
    field("Data", "bytes"),
    field("NoData", "bytes", nullable=True),
    field("Id", "uuid"),
    field("Numbers", "[]int32"),
    field("MaybeNames", "[]string", nullable=True),
    field(
        "Inner", "Inner",
        field("A", "int32"),
        field(
            "Deep", "[]Deep",
            field("B", "string"),
            field("C", "[]uuid", versions="2+", nullable=True),
        ),
    ),
    field("MaybeInner", "Other", field("X", "int16"), nullable=True),
    field("Tagged", "int64", versions="2+", tag=0, default="-1"),
    field("TaggedNames", "[]string", versions="2+", tag=1, nullable=True, default="null"),
    field(
        "TaggedStruct", "Third", field("Y", "string"),
        versions="3+", tag=7, nullable=True, default="null",
    ),
    versions="0-3",
    flexible="2+",
)  # fmt: skip
RANGES = {
    "int8": 8, "int16": 16, "int32": 32, "int64": 64,
}  # fmt: skip


def values_of(kind: str | Struct) -> st.SearchStrategy[Any]:
    if isinstance(kind, Struct):
        return st.fixed_dictionaries({each.name: field_values(each) for each in kind.fields})
    if kind in RANGES:
        half = 1 << (RANGES[kind] - 1)
        return st.integers(-half, half - 1)
    return {
        "uint16": st.integers(0, 65535),
        "float64": st.floats(allow_nan=False),
        "bool": st.booleans(),
        "string": st.text(max_size=20),
        "bytes": st.binary(max_size=20),
        "uuid": st.binary(min_size=16, max_size=16).map(uuid_text),
    }[kind]


def field_values(of: Field) -> st.SearchStrategy[Any]:
    strategy = values_of(of.type)
    if of.is_array:
        strategy = st.lists(strategy, max_size=3)
    return st.one_of(st.none(), strategy) if of.is_nullable else strategy


@given(data=st.data(), version=st.integers(0, 3))
def test_what_was_encoded_comes_back_from_between_other_bytes(
    data: st.DataObject, version: int
) -> None:
    values = data.draw(values_of(EVERYTHING.struct(version)))
    encoded = EVERYTHING.encode(values, version)
    assert EVERYTHING.decode(b"??" + encoded + b"!", version, 2) == (values, len(encoded) + 2)
    json.dumps({name: value for name, value in values.items() if name not in ("data", "noData")})


@given(data=st.data(), version=st.integers(0, 3))
def test_every_cut_is_an_error(data: st.DataObject, version: int) -> None:
    encoded = EVERYTHING.encode(data.draw(values_of(EVERYTHING.struct(version))), version)
    for size in range(len(encoded)):
        with pytest.raises(CorruptRecordError):
            EVERYTHING.decode(encoded[:size], version)


@given(junk=st.binary(max_size=60), version=st.integers(0, 3))
def test_any_bytes_give_values_or_one_of_our_errors(junk: bytes, version: int) -> None:
    try:
        values, end = EVERYTHING.decode(junk, version)
    except CorruptRecordError as caught:
        error = caught
    else:
        assert values
        assert 0 < end <= len(junk)
        return
    assert error.position is not None
    assert 0 <= error.position <= len(junk)


def test_the_bytes_of_an_old_version_are_as_kafka_writes_them() -> None:
    declared = declare(
        field("Name", "string"),
        field("Maybe", "string", nullable=True),
        field("Ids", "[]int32"),
        field("Flag", "bool"),
        flexible="none",
    )
    encoded = declared.encode({"name": "né", "ids": [1, -1], "flag": True}, 0)
    assert encoded.hex() == "00036ec3a9ffff0000000200000001ffffffff01"


def test_the_bytes_of_a_flexible_version_are_as_kafka_writes_them() -> None:
    declared = declare(
        field("Name", "string"),
        field("Maybe", "string", nullable=True),
        field("Parts", "[]Part", field("Id", "int8")),
        field("Extra", "int16", tag=3, default="5"),
    )
    encoded = declared.encode({"name": "ab", "parts": [{"id": 1}, {"id": 2}], "extra": 6}, 0)
    assert encoded.hex() == "0361620003010002000103020006"


def test_tagged_fields_at_their_default_are_not_written_and_come_back() -> None:
    declared = declare(field("A", "int32", tag=0, default="7"), field("B", "[]string", tag=1))
    assert declared.encode({}, 0) == b"\0"
    assert declared.encode({"a": 7, "b": []}, 0) == b"\0"
    first, _ = declared.decode(b"\0", 0)
    assert first == {"a": 7, "b": []}
    first["b"].append("changed")
    assert declared.decode(b"\0", 0)[0] == {"a": 7, "b": []}


def test_unknown_tags_are_kept_and_written_again() -> None:
    declared = declare(field("A", "int32", tag=1, default="7"))
    encoded = bytes.fromhex("030001aa0104000000010902bbcc")
    values, end = declared.decode(encoded, 0)
    assert values == {"a": 1, UNKNOWN_TAGS: {0: b"\xaa", 9: b"\xbb\xcc"}}
    assert end == len(encoded)
    assert declared.encode(values, 0) == encoded


@pytest.mark.parametrize(
    ("hexadecimal", "problem"),
    [
        ("", "truncated"),
        ("000000000100", "name is null"),
        ("01ffffffff0000", "ids, an array needs 268435454 bytes"),
        ("ffffff", "varint"),
        ("05616263", "name needs 4 bytes, 3 are left"),
        ("010101000500000001", "a tagged field needs 5 bytes, 4 are left"),
        ("01010100050000000100", "extra takes 4 bytes, its tag says 5"),
    ],
)
def test_bad_bytes_are_an_error_that_says_what(hexadecimal: str, problem: str) -> None:
    declared = declare(
        field("Name", "string"), field("Ids", "[]int32"), field("Extra", "int32", tag=0)
    )
    with pytest.raises(CorruptRecordError, match=problem):
        declared.decode(bytes.fromhex(hexadecimal), 0)


def test_null_is_not_empty() -> None:
    declared = declare(
        field("A", "string", nullable=True),
        field("B", "bytes", nullable=True),
        field("C", "[]int8", nullable=True),
        field("D", "D", field("X", "int8"), nullable=True),
    )
    nothing: dict[str, Any] = {"a": None, "b": None, "c": None, "d": None}
    empty = {"a": "", "b": b"", "c": [], "d": {"x": 0}}
    for values in (nothing, empty):
        assert declared.decode(declared.encode(values, 0), 0)[0] == values


def test_a_version_that_is_not_declared_is_refused() -> None:
    for version in (-1, 4):
        with pytest.raises(UnsupportedFormatError, match=rf"version {version} \(expected 0 to 3\)"):
            EVERYTHING.decode(bytes(100), version)


def test_text_that_is_no_utf8_is_shown_as_java_shows_it() -> None:
    declared = declare(field("Name", "string"))
    assert declared.decode(b"\x03a\xff\0", 0)[0] == {"name": "a�"}


def test_a_uuid_is_url_safe_base64_without_padding() -> None:
    assert uuid_text(bytes(16)) == NULL_UUID
    assert uuid_text(bytes(15) + b"\x01") == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert uuid_text(bytes([0xFB, 0xFF]) + bytes(14))[:2] == "-_"


def test_a_field_is_in_its_versions_with_its_tag_and_default() -> None:
    declared = declare(
        field("A", "[]int32", versions="1+", nullable=True, tag=8, default="null"),
        field("B", "int64", versions="1", default="0x7fffffff"),
        versions="0-2",
    )
    there = [declared.struct(version).fields for version in range(3)]
    assert [[(each.name, each.tag, each.default) for each in fields] for fields in there] == [
        [],
        [("a", 8, None), ("b", None, 0x7FFFFFFF)],
        [("a", 8, None)],
    ]


def test_the_newest_kafka_that_has_a_version_declares_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.record.message_schema._FOLDER", str(tmp_path))
    for kafka, versions, name in (
        ("9.1.0", "0-2", "Old"), ("10.0.1", "1-3", "New"), ("trunk", "4", "Newest"),
    ):  # fmt: skip
        (tmp_path / kafka).mkdir()
        declared = {
            "validVersions": versions, "flexibleVersions": "2+", "fields": [field(name, "int8")],
        }  # fmt: skip
        text = f"// a comment\n{json.dumps(declared, indent=1)}"
        (tmp_path / kafka / "Some.json").write_text(text)
    some = Message("Some")
    assert (some.lowest, some.highest) == (0, 4)
    names = [some.struct(version).fields[0].name for version in range(5)]
    assert names == ["old", "new", "new", "new", "newest"]
    assert [some.is_flexible(version) for version in range(5)] == [False, False, True, True, True]


def test_a_version_that_a_newer_kafka_has_removed_is_that_of_the_older_one() -> None:
    produce = message("ProduceRequest")
    assert (produce.lowest, produce.highest) == (0, 13)
    assert "transactionalId" not in [each.name for each in produce.struct(2).fields]
    assert "transactionalId" in [each.name for each in produce.struct(3).fields]


def test_a_tagged_field_that_may_be_null_has_the_default_that_kafka_gives_it() -> None:
    """Kafka 4.3.1's ConsumerGroupCurrentMemberAssignmentValue: null is written, and not read."""
    value = message("ConsumerGroupCurrentMemberAssignmentValue")
    assigned: dict[str, Any] = {"topicId": NULL_UUID, "partitions": [1]}
    encoded = value.encode({"assignedPartitions": [assigned]}, 0)
    decoded, _ = value.decode(encoded, 0)
    assert decoded["assignedPartitions"] == [{**assigned, "assignmentEpochs": []}]
    null = value.encode({"assignedPartitions": [{**assigned, "assignmentEpochs": None}]}, 0)
    assert len(null) == len(encoded) + 3
