import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import CorruptRecordError, UnsupportedFormatError
from workbench.record.message_schema import (
    LATEST,
    NULL_UUID,
    UNKNOWN_TAGS,
    Field,
    Message,
    declare,
    uuid_text,
)

EVERYTHING = declare(
    "Everything",
    """
    small: int8
    short: int16 versions 1+
    port: uint16
    number: int32 = -1
    long: int64 versions 0-1
    ratio: float64
    flag: bool
    name: string
    maybe: ?string
    data: bytes
    noData: ?bytes
    id: uuid
    numbers: [int32]
    maybeNames: ?[string]
    inner: {
        a: int32
        deep: [
            b: string
            c: ?[uuid] versions 2+
        ]
    }
    maybeInner: ?{
        x: int16
    }
    tagged: int64 = -1 tag 0 versions 2+
    taggedNames: ?[string] = null tag 1 versions 2+
    taggedStruct: ?{
        y: string
    } = null tag 7 versions 3+
    """,
    highest=3,
    flexible=2,
)
RANGES = {
    "int8": 8, "int16": 16, "int32": 32, "int64": 64,
}  # fmt: skip


def values_of(
    kind: str | tuple[Field, ...], version: int, *, flexible: bool
) -> st.SearchStrategy[Any]:
    if isinstance(kind, tuple):
        return st.fixed_dictionaries(
            {
                field.name: field_values(field, version, flexible=flexible)
                for field in kind
                if field.first <= version <= field.last and (field.tag is None or flexible)
            }
        )
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


def field_values(field: Field, version: int, *, flexible: bool) -> st.SearchStrategy[Any]:
    strategy = values_of(field.type, version, flexible=flexible)
    if field.is_array:
        strategy = st.lists(strategy, max_size=3)
    return st.one_of(st.none(), strategy) if field.is_nullable else strategy


def message_values(message: Message, version: int) -> st.SearchStrategy[Any]:
    flexible = message.flexible is not None and version >= message.flexible
    return values_of(message.fields, version, flexible=flexible)


@given(data=st.data(), version=st.integers(0, 3))
def test_what_was_encoded_comes_back_from_between_other_bytes(
    data: st.DataObject, version: int
) -> None:
    values = data.draw(message_values(EVERYTHING, version))
    encoded = EVERYTHING.encode(values, version)
    assert EVERYTHING.decode(b"??" + encoded + b"!", version, 2) == (values, len(encoded) + 2)
    json.dumps({name: value for name, value in values.items() if name not in ("data", "noData")})


@given(data=st.data(), version=st.integers(0, 3))
def test_every_cut_is_an_error(data: st.DataObject, version: int) -> None:
    encoded = EVERYTHING.encode(data.draw(message_values(EVERYTHING, version)), version)
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
    message = declare(
        "Old", "name: string\nmaybe: ?string\nids: [int32]\nflag: bool", flexible=None
    )
    encoded = message.encode({"name": "né", "ids": [1, -1], "flag": True}, 0)
    assert encoded.hex() == "00036ec3a9ffff0000000200000001ffffffff01"


def test_the_bytes_of_a_flexible_version_are_as_kafka_writes_them() -> None:
    message = declare(
        "New",
        """
        name: string
        maybe: ?string
        parts: [
            id: int8
        ]
        extra: int16 = 5 tag 3
        """,
    )
    encoded = message.encode({"name": "ab", "parts": [{"id": 1}, {"id": 2}], "extra": 6}, 0)
    assert encoded.hex() == "0361620003010002000103020006"


def test_tagged_fields_at_their_default_are_not_written_and_come_back() -> None:
    message = declare("Tags", "a: int32 = 7 tag 0\nb: [string] tag 1")
    assert message.encode({}, 0) == b"\0"
    assert message.encode({"a": 7, "b": []}, 0) == b"\0"
    first, _ = message.decode(b"\0", 0)
    assert first == {"a": 7, "b": []}
    first["b"].append("changed")
    assert message.decode(b"\0", 0)[0] == {"a": 7, "b": []}


def test_unknown_tags_are_kept_and_written_again() -> None:
    message = declare("Tags", "a: int32 = 7 tag 1")
    encoded = bytes.fromhex("030001aa0104000000010902bbcc")
    values, end = message.decode(encoded, 0)
    assert values == {"a": 1, UNKNOWN_TAGS: {0: b"\xaa", 9: b"\xbb\xcc"}}
    assert end == len(encoded)
    assert message.encode(values, 0) == encoded


@pytest.mark.parametrize(
    ("hexadecimal", "problem"),
    [
        ("", "cut short"),
        ("000000000100", "name is null"),
        ("01ffffffff0000", "ids, an array needs 268435454 bytes"),
        ("ffffff", "varint"),
        ("05616263", "name needs 4 bytes, 3 are left"),
        ("010101000500000001", "a tagged field needs 5 bytes, 4 are left"),
        ("01010100050000000100", "extra takes 4 bytes, its tag says 5"),
    ],
)
def test_bad_bytes_are_an_error_that_says_what(hexadecimal: str, problem: str) -> None:
    message = declare("Bad", "name: string\nids: [int32]\nextra: int32 tag 0")
    with pytest.raises(CorruptRecordError, match=problem):
        message.decode(bytes.fromhex(hexadecimal), 0)


def test_null_is_not_empty() -> None:
    message = declare("Nulls", "a: ?string\nb: ?bytes\nc: ?[int8]\nd: ?{\nx: int8\n}")
    nothing: dict[str, Any] = {"a": None, "b": None, "c": None, "d": None}
    empty = {"a": "", "b": b"", "c": [], "d": {"x": 0}}
    for values in (nothing, empty):
        assert message.decode(message.encode(values, 0), 0)[0] == values


def test_a_version_that_is_not_declared_is_refused() -> None:
    for version in (-1, 4):
        with pytest.raises(UnsupportedFormatError, match=rf"version {version} \(expected 0 to 3\)"):
            EVERYTHING.decode(bytes(100), version)


def test_text_that_is_no_utf8_is_shown_as_java_shows_it() -> None:
    message = declare("Text", "name: string")
    assert message.decode(b"\x03a\xff\0", 0)[0] == {"name": "a�"}


def test_a_uuid_is_url_safe_base64_without_padding() -> None:
    assert uuid_text(bytes(16)) == NULL_UUID
    assert uuid_text(bytes(15) + b"\x01") == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert uuid_text(bytes([0xFB, 0xFF]) + bytes(14))[:2] == "-_"


def test_a_declaration_says_versions_tags_and_defaults() -> None:
    message = declare("M", "a: ?[int32] = null tag 8 versions 1+\nb: int64 = -1 versions 1-1")
    assert message.fields == (
        Field("a", "int32", True, True, 8, 1, LATEST, None),  # noqa: FBT003
        Field("b", "int64", False, False, None, 1, 1, -1),  # noqa: FBT003
    )
