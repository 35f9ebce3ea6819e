from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import corrupt
from workbench.errors import CorruptCheckpointError, UnsupportedFormatError
from workbench.files.meta_properties import MetaProperties, parse_properties
from workbench.files.reading import ProblemList

KRAFT = b"""#
#Sat Nov 21 13:25:56 UTC 2026
node.id=1
directory.id=eBy7_C3J6IHAa4e5TsX0Wg
version=1
cluster.id=sQc7SA4hVBplaPuJCQI22A
"""
ZOOKEEPER = b"#\n#Sat Nov 21 13:41:25 UTC 2026\nbroker.id=7\nversion=0\ncluster.id=any name\n"


def values(data: bytes) -> dict[str, str]:
    return {key: value for key, (_, value) in parse_properties(data, ProblemList()).items()}


def test_version_1_names_a_node() -> None:
    found = MetaProperties.decode(KRAFT)
    assert (found.version, found.node_id) == (1, 1)
    assert found.cluster_id == "sQc7SA4hVBplaPuJCQI22A"
    assert found.directory_id == UUID("781cbbfc-2dc9-e881-c06b-87b94ec5f45a")
    assert KRAFT.endswith(found.encode())


def test_version_0_names_a_broker() -> None:
    found = MetaProperties.decode(ZOOKEEPER)
    assert (found.version, found.node_id, found.cluster_id) == (0, 7, "any name")
    assert found.directory_id is None


@pytest.mark.parametrize("lines", [b"", b"broker.id=1\n", b"cluster.id=x\n", b"broker.id=1\nx=y"])
@pytest.mark.parametrize("version", [b"", b"version=0\n"])
def test_version_0_may_leave_anything_out(lines: bytes, version: bytes) -> None:
    """CK-5."""
    assert MetaProperties.decode(version + lines).version == 0


@pytest.mark.parametrize("key", [b"node.id", b"cluster.id"])
def test_version_1_needs_both_ids(key: bytes) -> None:
    """CK-5."""
    with pytest.raises(CorruptCheckpointError, match=f"missing: found no {key.decode()}"):
        MetaProperties.decode(KRAFT.replace(key, b"other"))


def test_versions_that_are_not_known() -> None:
    """CK-5."""
    with pytest.raises(UnsupportedFormatError, match="unknown version: found version 2"):
        MetaProperties.decode(b"version=2\n")
    with pytest.raises(CorruptCheckpointError, match="malformed: found version 'orange'"):
        MetaProperties.decode(b"version=orange\n")


def test_ids_that_do_not_parse_are_corrupt() -> None:
    """CK-7."""
    with pytest.raises(
        CorruptCheckpointError, match=r"at byte 10: malformed: found broker\.id 'x'"
    ):
        MetaProperties.decode(b"version=0\nbroker.id=x\n")
    with pytest.raises(CorruptCheckpointError, match=r"at byte 0: malformed: found broker\.id ''"):
        MetaProperties.decode(b"broker.id=\n")
    with pytest.raises(CorruptCheckpointError, match=r"bad value: found directory\.id 'x'"):
        MetaProperties.decode(b"directory.id=x\n")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a=b", {"a": "b"}),
        (b"a:b\nc d\n", {"a": "b", "c": "d"}),
        (b"  a \t=  b \n", {"a": "b "}),
        (b"a = = b", {"a": "= b"}),
        (b"empty=\nalone\n", {"empty": "", "alone": ""}),
        (b"# a=b\n ! c=d\n\n \t\n", {}),
        (b"a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        (b"a=1,\\\n   2,\\\r\n3", {"a": "1,2,3"}),
        (b"a=b\\", {"a": "b"}),
        (b"a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        (b"# goes on \\\na=b", {"a": "b"}),
        (b"\\\n#a=b", {"#a": "b"}),
        (b"a\\ b\\=c\\:=d", {"a b=c:": "d"}),
        (b"a=\\t\\n\\r\\f\\u00fC\\x", {"a": "\t\n\r\füx"}),
        (b"a=\xfc", {"a": "ü"}),
        (b"a=1\na=2", {"a": "2"}),
        (b"=b", {"": "b"}),
    ],
)
def test_properties_are_read_as_java_reads_them(data: bytes, expected: dict[str, str]) -> None:
    """CK-7: keys with an empty value are kept."""
    assert values(data) == expected


def test_a_property_says_where_its_line_begins() -> None:
    properties = parse_properties(b"# x\n\n  a=\\\n 1\nb=2", ProblemList())
    assert {key: position for key, (position, _) in properties.items()} == {"a": 5, "b": 14}


def test_an_escape_that_lacks_digits_is_malformed() -> None:
    with pytest.raises(CorruptCheckpointError, match="at byte 4: malformed"):
        MetaProperties.decode(b"a=b\nc=\\u12")
    assert MetaProperties.decode(b"a=\\\\u12").properties == {"a": "\\u12"}


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=4))
def test_properties_round_trip(properties: dict[str, str]) -> None:
    assert values(MetaProperties(properties=properties).encode()) == properties


def test_half_of_a_character_is_replaced() -> None:
    assert values(b"a=\\uD83D\nb=\\uD83D\\uDE00") == {"a": "\N{REPLACEMENT CHARACTER}", "b": "😀"}


def test_every_cut_gives_a_value_or_the_right_error() -> None:
    for data in corrupt.every_cut(KRAFT):
        found = MetaProperties.decode(data, strict=False)
        if found.problems:
            with pytest.raises(CorruptCheckpointError):
                MetaProperties.decode(data)


@given(st.binary(max_size=80))
def test_any_bytes_give_properties_or_the_right_error(data: bytes) -> None:
    if MetaProperties.decode(data, strict=False).problems:
        with pytest.raises((CorruptCheckpointError, UnsupportedFormatError)):
            MetaProperties.decode(data)
