"""Proofs hold every statement with numbers in the notebooks.

A statement is a sentence of the text with a number that is not a version, a default or a part of
code. It is held if each of its numbers is in what a proof of the notebook prints.
"""

import re
from pathlib import Path
from typing import Any, Final

import pytest

from notebooks.build import answers, sources

COUNTS: Final = {
    "01": 2,
    "02": 4,
    "03": 7,
    "04": 7,
    "05": 5,
    "06": 8,
    "07": 7,
    "08": 2,
    "09": 16,
    "10": 2,
    "11": 12,
    "12": 4,
    "13": 3,
    "14": 4,
    "15": 3,
}
"""By notebook: statements that are held, at least."""

_NUMBER = re.compile(r"(?<![\w.-])\d[\d,]*(?:\.\d+)?(?![\w-])")
_NO_TEXT: Final = re.compile(r"`[^`]*`|^#.*$|^ *\d\. |^\*\*\d\.\*\*|\]\([^)]*\)", re.MULTILINE)
_OF_KAFKA = re.compile(
    r"\b(?:since|up to|rules of|Kafka|under|of|and|or|by|before) \d+\.\d+(?:, \d+\.\d+)*"
    r"|\bdefault:\s+[\d,.]+|\bversion \d+|\bbrokers \d+ and \d+"
    r"|KIP-\d+|\b[Nn]otebook \d+|\boffsets? \d+|\bsegment \d+|\bpartition \d+|\bbroker \d+"
    r"|\b20\d\d\b|\bmagic \d|\b\d\d:\d\d",
    re.IGNORECASE,
)
"""Versions and defaults of Kafka, and names that have a number."""


def statements(notebook: Any) -> list[tuple[str, set[str]]]:
    """Return the sentences with numbers, and the numbers of each without separators."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            continue
        text = re.sub(r"```.*?```|</?(?:details|summary)>|Answer", "", cell.source, flags=re.DOTALL)
        text = _OF_KAFKA.sub("", _NO_TEXT.sub("", text).replace("**", ""))
        for sentence in re.split(r"(?<=[.:?!])\s+", text):
            if sentence.endswith("?"):
                continue
            numbers = _NUMBER.findall(sentence)
            if numbers:
                plain = {each.replace(",", "").rstrip(".") for each in numbers}
                found.append((" ".join(sentence.split()), plain))
    return found


def held(notebook: Any) -> tuple[list[str], list[str]]:
    """Return the statements that a proof holds, and the others."""
    printed = "\n".join(answer.output for answer in answers(notebook)).replace(",", " , ")
    printed = re.sub(r"(?<=\d) , (?=\d{3}\b)", "", printed)
    proved = {each.removesuffix(".0") for each in re.findall(r"\d+(?:\.\d+)?", printed)}
    parts: tuple[list[str], list[str]] = ([], [])
    for sentence, numbers in statements(notebook):
        parts[not {each.removesuffix(".0") for each in numbers} <= proved].append(sentence)
    return parts


@pytest.mark.parametrize("source", sources(), ids=lambda each: each.stem[:2])
def test_proofs_hold_every_statement_and_as_many_as_before(source: Path) -> None:
    import jupytext

    proved, others = held(jupytext.read(source))
    assert not others
    assert len(proved) >= COUNTS[source.stem[:2]]
