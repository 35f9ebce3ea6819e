"""A fact has one line: Kafka's name for a topic or file, and the words that an option takes."""

import re
from functools import cache
from pathlib import Path
from typing import Final

import click

from workbench.cli.commands.to_table import command as to_table
from workbench.config import internal_topics
from workbench.files import names
from workbench.pipelines.lake.to_table import FORMATS

ROOT: Final = Path(__file__).parents[2]
TOPICS: Final = {internal_topics.METADATA_TOPIC, *internal_topics.INTERNAL_TOPICS}
FILES: Final = {
    *names.ROOT_FILES, names.PARTITION_METADATA, names.LEADER_EPOCHS, names.REMOTE_INDEX_CACHE
}  # fmt: skip
LITERAL: Final = re.compile(r"= Literal\[((?:\s*\"[^\"]+\",?)+)\s*\]")
COLUMN: Final = re.compile(r"Annotated\[\s*([^\"]+\"[^\"]+ [^\"]+\"),?\s*\]")
BOUND_OF_JAVA: Final = re.compile(r"[=:,(] *\(?(2\*\*|1 << )(31|63)\)? - 1\b|= -\(2\*\*63\)")
SENTENCE: Final = re.compile(r"(?<!\")\"([A-Za-z][^\"\n{}\[\]|]{28,})\"(?!\")")
SHOWN_BY_HELP: Final = '"parquet", "delta", "iceberg"'
"""The formats of tables: help shows them without importing what writes them."""


@cache
def texts() -> dict[str, str]:
    """Return the modules of the product by path."""
    paths = [each for name in ("workbench", "widgets") for each in (ROOT / name).rglob("*.py")]
    return {each.relative_to(ROOT).as_posix(): each.read_text("utf-8") for each in paths}


def test_a_topic_and_a_file_are_named_by_one_module() -> None:
    """Widgets describe files by their names, because they must not import `workbench.files`."""
    modules = texts()
    for name in TOPICS | FILES:
        found = {path for path, text in modules.items() if f'"{name}"' in text}
        if name in FILES:
            found = {each for each in found if each.startswith("workbench/")}
        assert found == {
            "workbench/config/internal_topics.py" if name in TOPICS else "workbench/files/names.py"
        }, name


def test_the_words_that_an_option_takes_stand_once() -> None:
    modules = texts()
    found = {values for text in modules.values() for values in LITERAL.findall(text)}
    several = {values for values in found if values.count('"') > 4 and "\n" not in values}
    assert len(several) > 20
    again = {
        values for values in several if sum(text.count(values) for text in modules.values()) > 1
    }
    assert again == {SHOWN_BY_HELP}


def test_help_shows_the_formats_of_tables() -> None:
    (option,) = (each for each in to_table.params if each.name == "table_format")
    assert isinstance(option.type, click.Choice)
    assert tuple(option.type.choices) == FORMATS


def test_what_several_columns_mean_is_said_once() -> None:
    columns = [
        found
        for path, text in texts().items()
        if path.startswith("workbench/tables/") and not path.endswith("/columns.py")
        for found in COLUMN.findall(text)
    ]
    assert len(columns) > 200
    assert {each for each in columns if columns.count(each) > 1} == set()


def test_the_bounds_of_numbers_stand_in_one_module() -> None:
    found = {path for path, text in texts().items() if BOUND_OF_JAVA.search(text)}
    assert found == {"workbench/layout/integers.py"}


def test_a_sentence_stands_in_one_module() -> None:
    found: dict[str, set[str]] = {}
    for path, text in texts().items():
        for sentence in SENTENCE.findall(text):
            if sentence.count(" ") > 2:
                found.setdefault(sentence, set()).add(path)
    assert len(found) > 1000
    assert {sentence for sentence, paths in found.items() if len(paths) > 1} == set()
