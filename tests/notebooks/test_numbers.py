"""How many of the statements with numbers in the notebooks a proof holds.

A statement is a sentence of the text with a number that is not a version, a default or a part of
code. It is held if each of its numbers is in what a proof of the notebook prints.
"""

import re
from pathlib import Path
from typing import Any, Final

import pytest

from notebooks.build import answers, sources

COUNTS: Final = {
    "01": (2, 1),
    "02": (5, 5),
    "03": (7, 0),
    "04": (8, 1),
    "05": (5, 1),
    "06": (8, 0),
    "07": (7, 1),
    "08": (2, 0),
    "09": (20, 3),
    "10": (2, 1),
    "11": (12, 0),
    "12": (4, 1),
    "13": (3, 1),
    "14": (4, 2),
    "15": (4, 3),
}
"""By notebook: statements that are held, and others. Raise the first, lower the second."""

_NUMBER = re.compile(r"(?<![\w.-])\d[\d,]*(?:\.\d+)?(?![\w-])")
_NO_TEXT: Final = re.compile(r"`[^`]*`|^#.*$|^ *\d\. |^\*\*\d\.\*\*|\]\([^)]*\)", re.MULTILINE)
_OF_KAFKA = re.compile(
    r"\b[Ss]ince \d[\d.]*|\bup to \d+\.\d+|\b(?:rules of|Kafka|under|of|and|or|by|before) \d+\.\d+"
    r"|KIP-\d+|\b[Nn]otebook \d+|\boffsets? \d+|\bsegment \d+|\bpartition \d+|\bbroker \d+"
    r"|\b20\d\d\b|\bmagic \d|\b\d\d:\d\d"
)
"""Facts about Kafka, and names that have a number."""


def statements(notebook: Any) -> list[tuple[str, set[str]]]:
    """Return the sentences with numbers, and the numbers of each without separators."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            continue
        text = re.sub(r"```.*?```|</?(?:details|summary)>|Answer", "", cell.source, flags=re.DOTALL)
        text = _NO_TEXT.sub("", text).replace("**", "")
        for sentence in re.split(r"(?<=[.:?!])\s+", text):
            if sentence.endswith("?"):
                continue
            numbers = _NUMBER.findall(_OF_KAFKA.sub("", sentence))
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
def test_proofs_hold_as_many_statements_as_before(source: Path) -> None:
    import jupytext

    proved, others = held(jupytext.read(source))
    least, most = COUNTS[source.stem[:2]]
    assert len(proved) >= least
    assert len(others) <= most, others


def test_proofs_hold_most_statements() -> None:
    proved, others = (sum(each) for each in zip(*COUNTS.values(), strict=True))
    assert proved > 0.8 * (proved + others)
