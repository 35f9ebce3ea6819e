"""Patterns of English that the house does not use, in comments, docstrings, texts and documents.

Each has a plainer word. What is meant otherwise (a name, a quotation) is written another way.
"""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]

WORSE: Final = {
    r"\banew\b": "again",
    r"\bin words\b(?! if\b)": "as text, as a sentence",
    r"\b(behaviour|favour|neighbour|analyse|cancelled|modelled|labelled)(s|d)?\b": "US spelling",
    r"\btells? of\b|\btold of\b": "mentions, reports",
    r"\b(is|are|be) told (at once|again|with|as)\b": "reported, returned, sent",
    r"\bnobody need\b": "no one needs to",
    r"\bmakes? nothing of\b": "leaves unchanged",
    r"\bholds? nothing of\b": "has no bytes of",
}
"""Pattern → what to write instead."""

OF_PRODUCT: Final = {
    r"\btold\b|\btell(s|ing)?\b": "receives, reports, shows, says, distinguishes",
    r"(?<!\[\")\bcut(s|ting)?\b": "truncates, trims, splits, shortens",
    r"\bnobody\b": "no one, or name the actor",
    r"(?<!there )\b(is|are|was|were) no (?!longer|such|more|other)\w": "is not a",
    r"\b(at or|bytes?|offsets?|batch|record|what is|comes?|lies) behind\b(?! the)": "after, past",
    r"[;,] else\b(?! if)": "otherwise",
}
"""The same, outside of tests."""

NAMES: Final = re.compile(
    r"`[^`]*`|\{[^{}]*\}|^\W*[\w-]+\W*$|^\s*[\w, ]+: |\bbytes (cut|behind)\b", re.MULTILINE
)
"""Names in prose: in backticks or braces, alone on a line, documented arguments, two columns."""

FOLDERS: Final = ("docs", "notebooks", "sample_data", "tests", "widgets", "workbench")
KINDS_OF_FILES: Final = {".js", ".md", ".py"}
MADE: Final = (
    "workbench/server/protocol/requests.py",
    "workbench/server/protocol/responses.py",
    "workbench/decoders/records.py",
)
KINDS: Final = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)}


def prose_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line numbers and texts that somebody reads: not names, not programs in documents."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in KINDS:
                yield token.start[0], token.string
    elif path.suffix == ".js":
        for number, line in enumerate(text.splitlines(), 1):
            for found in re.findall(r"//.*|\"[^\"]*\"|`[^`]*`", line):
                yield number, found
    else:
        is_program = False
        for number, line in enumerate(text.splitlines(), 1):
            is_program ^= line.startswith("```")
            if not is_program:
                yield number, line


def test_no_document_docstring_comment_or_text_has_a_pattern_with_a_plainer_word() -> None:
    documents = [
        *ROOT.glob("*.md"),
        *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.*") if path.is_file()),
    ]
    assert len(documents) > 1000
    found = []
    for path in documents:
        name = str(path.relative_to(ROOT))
        if path.suffix not in KINDS_OF_FILES or name.startswith(MADE) or path == Path(__file__):
            continue
        for number, text in prose_of(path):
            worse, said = (WORSE, text)
            if not name.startswith("tests/"):
                worse, said = WORSE | OF_PRODUCT, NAMES.sub("", text)
            for pattern, better in worse.items():
                for match in re.finditer(pattern, said, re.IGNORECASE):
                    found.append(f"{name}:{number}: {match[0]!r}: {better}")  # noqa: PERF401
    assert not found, "\n" + "\n".join(found)
