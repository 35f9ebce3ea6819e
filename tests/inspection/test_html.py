"""Tables for notebooks: escaped, deterministic, aligned."""

import pytest

from workbench.inspection.facts.html import table_html


def test_text_is_escaped_in_title_heading_cell_and_note() -> None:
    html = table_html("<t>", ["<c>"], [["<script>"]], note="<n>")
    assert "<script>" not in html
    for text in ("&lt;t&gt;", "&lt;c&gt;", "&lt;script&gt;", "&lt;n&gt;"):
        assert text in html


def test_the_same_arguments_give_the_same_bytes() -> None:
    rows: list[list[str | int | None]] = [["orders-0", 1234567, None]]
    assert table_html("t", ["a", "b", "c"], rows) == table_html("t", ["a", "b", "c"], rows)


def test_whole_numbers_get_separators_and_stand_right() -> None:
    html = table_html("", ["size"], [[1234567], [None]])
    assert '<td class="number">1,234,567</td>' in html
    assert '<td class="number none">–</td>' in html
    assert "<h4>" not in html


def test_a_column_of_mixed_cells_stands_left() -> None:
    assert "<td>12</td>" in table_html("", ["what"], [[12], ["twelve"]])


def test_sentences_may_take_more_than_one_line() -> None:
    html = table_html("", ["what", "why"], [["a", "<b>"], ["c", None]], sentences=["why"])
    assert '<td class="words">&lt;b&gt;</td>' in html
    assert "<td>a</td>" in html
    assert '<td class="none">–</td>' in html


def test_a_long_name_may_take_more_than_one_line() -> None:
    html = table_html("", ["a", "b"], [["x.y", "x.y"]], names=["b"])
    assert '<td>x.y</td><td class="long">x.y</td>' in html


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="row 0 has 1 cells, expected 2"):
        table_html("", ["a", "b"], [["only one"]])
