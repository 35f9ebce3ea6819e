"""Every folder of `workbench` and of its tests is in one of the six houses."""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
MAKEFILE: Final = (ROOT / "Makefile").read_text("utf-8")


def folders(path: Path) -> set[str]:
    """Return the folders that have Python files."""
    return {each.name for each in path.iterdir() if any(each.glob("*.py"))}


def of_house(name: str) -> list[str]:
    """Return the words of a variable of the Makefile."""
    found = re.search(rf"^{name} := (.*)$", MAKEFILE, re.MULTILINE)
    assert found is not None, name
    return found[1].split()


def test_the_tests_of_each_folder_belong_to_one_house() -> None:
    listed = [folder for house in of_house("HOUSES") for folder in of_house(house)]
    assert len(listed) == len(set(listed))
    assert set(listed) == folders(ROOT / "tests") - {"benchmarks"}


def test_the_map_has_each_folder_in_one_house() -> None:
    text = (ROOT / "workbench" / "README.md").read_text("utf-8")
    text = text.split("## Layers\n", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| (\w+): [^|]* \| ([^|]*) \|$", text, re.MULTILINE)
    assert [house for house, _ in rows] == of_house("HOUSES")
    named = [name for _, names in rows for name in re.findall(r"`(\w+)`", names)]
    assert len(named) == len(set(named))
    assert set(named) - {"widgets", "log_directory"} == folders(ROOT / "workbench")
