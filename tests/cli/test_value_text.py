import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.cli.output import time_of
from workbench.cli.show.value_text import FORMATS, key_text, plain_text, value_text
from workbench.runtime.words import size_text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (None, "null"),
        (b"", '""'),
        (b"Krak\xc3\xb3w", "Kraków"),
        (b"\xff\x00", "0xff00"),
        (b"a\tb\n", "a\\tb\\n"),
        (b"a\x00b", "0x610062"),
    ],
)
def test_bytes_are_text_where_they_can_be_and_else_hex(data: bytes | None, text: str) -> None:
    assert plain_text(data) == text


@given(st.binary())
def test_a_value_never_breaks_its_line_or_steers_the_terminal(data: bytes) -> None:
    for name in FORMATS:
        for text in (key_text(name, "orders")(data), value_text(name, "orders")(b"k", data)):
            assert text.isprintable()


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1000, "1,000 B"), (1536, "1.5 KiB"), (5 << 30, "5 GiB")],
)
def test_sizes_have_units(size: int, text: str) -> None:
    assert size_text(size) == text


def test_times_are_utc_and_none_is_none() -> None:
    assert time_of(1_700_000_000_001) == "2023-11-14T22:13:20.001Z"
    assert time_of(-1) is None
    assert time_of(2**63 - 1) == "9,223,372,036,854,775,807 ms"
