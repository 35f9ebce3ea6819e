import re
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.files import text
from workbench.files.reading import ProblemList
from workbench.layout.integers import INT64_MAX


def test_lines_end_as_in_java() -> None:
    lines = list(text.split_lines(b"a\nb\r\nc\rd\n\ne"))
    assert lines == [(0, "a"), (2, "b"), (5, "c"), (7, "d"), (9, ""), (10, "e")]
    assert list(text.split_lines(b"")) == []
    assert list(text.split_lines(b"\n")) == [(0, "")]


@given(st.text(alphabet="a\n\r\v\x85\u2028é ", max_size=20))
def test_lines_hold_all_but_their_ends_and_say_where_they_begin(content: str) -> None:
    data = content.encode()
    lines = list(text.split_lines(data))
    for position, line in lines:
        assert data[position:].startswith(line.encode())
    expected = re.split(r"\r\n|\r|\n", content)
    assert [line for _, line in lines] == (expected if expected[-1] else expected[:-1])


def test_bytes_that_are_not_utf_8_do_not_stop_a_reader() -> None:
    assert list(text.split_lines(b"a\xff\nb")) == [(0, "a\N{REPLACEMENT CHARACTER}"), (3, "b")]


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("a 1 2", ["a", "1", "2"]),
        ("a  1\t2", ["a", "1", "2"]),
        (" a 1", ["", "a", "1"]),
        ("a 1 ", ["a", "1"]),
        ("", [""]),
        ("a\u00a01", ["a\u00a01"]),
    ],
)
def test_fields_split_as_in_java(line: str, fields: list[str]) -> None:
    assert text.split_fields(line) == fields


@given(st.integers(-(2**70), 2**70))
def test_a_number_is_taken_when_it_fits(number: int) -> None:
    fits = -(2**63) <= number < 2**63
    assert text.parse_integer(str(number), INT64_MAX) == (number if fits else None)


@pytest.mark.parametrize(
    "written", ["", " 1", "1 ", "1_0", "0x1", "--1", "1.0", "9" * 5000, "\u0661", "one"]
)
def test_other_text_is_no_number(written: str) -> None:
    assert text.parse_integer(written, INT64_MAX) is None


def test_numbers_may_have_a_sign_and_leading_zeros() -> None:
    assert text.parse_integer("+5", 10) == 5
    assert text.parse_integer("0" * 30 + "7", 10) == 7
    assert text.parse_integer("-11", 10) == -11
    assert text.parse_integer("11", 10) is None


@given(st.uuids())
def test_ids_round_trip(uuid: UUID) -> None:
    written = text.format_uuid(uuid)
    assert len(written) == 22
    assert text.parse_uuid(written) == uuid


def test_the_id_of_the_metadata_topic() -> None:
    assert text.format_uuid(UUID(int=1)) == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert text.parse_uuid("AAAAAAAAAAAAAAAAAAAAAA") == text.NO_UUID


@pytest.mark.parametrize(
    "written", ["", "A" * 21, "A" * 23, "A" * 21 + "+", "A" * 21 + "\n", "é" * 22]
)
def test_other_text_is_no_id(written: str) -> None:
    assert text.parse_uuid(written) is None


@pytest.mark.parametrize(
    "data",
    [b"", b"garbage", b"[1]", b"7", b'{"a":1', b"\xff\xfe", b"[" * 100_000, b"9" * 5000, b"{} {}"],
)
def test_what_is_no_json_object_is_a_problem(data: bytes) -> None:
    problems = ProblemList()
    assert text.parse_json_object(data, problems) is None
    (problem,) = problems.found()
    assert problem.kind == "malformed"
    assert problem.position is not None
    assert 0 <= problem.position <= len(data)
