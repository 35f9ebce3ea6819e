"""Where a change is made: the table of `CONTRIBUTING.md` names files that hold what it says.

And `workbench/README.md` leads there: a row of its table names the folder that the file is in.
"""

import re
from pathlib import Path
from typing import Final, NamedTuple

import pytest

ROOT: Final = Path(__file__).parents[2]
ROW: Final = re.compile(r"\| ([^|`]+) \| `([^`|]+)` \| `([^`|]+)` \|")


class Change(NamedTuple):
    what: str
    file: str
    symbol: str


def changes() -> list[Change]:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    section = text.split("## Where a change is made\n", 1)[1].split("\n## ", 1)[0]
    return [Change(*row) for row in ROW.findall(section)]


def rooms() -> set[str]:
    """Return the folders that the table of `workbench/README.md` leads to."""
    text = (ROOT / "workbench" / "README.md").read_text("utf-8")
    table = text.split("## Where to look\n", 1)[1].split("\n## ", 1)[0]
    return {
        name.replace(".", "/") for name in re.findall(r"`((?:workbench|widgets)[\w.]*)`", table)
    }


def defines(text: str, symbol: str) -> bool:
    """Return whether a file defines a name: a class, a function, a constant, or CSS's or TOML's."""
    name = re.escape(symbol.rpartition(".")[2])
    kinds = rf"(?:async )?def {name}\(|class {name}\b|{name}\b *[:=]"
    return re.search(rf"^\s*(?:{kinds})", text, re.MULTILINE) is not None


def test_there_are_twenty_changes() -> None:
    found = changes()
    assert len(found) >= 20
    assert len({each.what for each in found}) == len(found)


@pytest.mark.parametrize("change", changes(), ids=lambda change: change.what)
def test_a_change_is_made_where_the_table_says(change: Change) -> None:
    assert defines((ROOT / change.file).read_text("utf-8"), change.symbol)
    parents = {str(each) for each in Path(change.file).with_suffix("").parents}
    exact = str(Path(change.file).with_suffix(""))
    named = rooms() & {*parents, exact} - {"workbench"}
    assert named, "no row of workbench/README.md leads there"


def test_a_name_that_a_file_only_uses_is_not_defined_there() -> None:
    text = (ROOT / "workbench/log/log.py").read_text("utf-8")
    assert "TopicPartition" in text
    assert not defines(text, "TopicPartition")
    assert defines(text, "Log.append_as_leader")
