"""The front ends: bundles of their modules, tests of node, style sheets."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from widgets._assets import BUNDLES, STATIC, script


def test_the_bundles_are_of_these_sources() -> None:
    made_from = BUNDLES / "made-from"
    before = made_from.read_text()
    words = [sys.executable, "setup.py", "--quiet", "bundle"]
    subprocess.run(words, cwd=BUNDLES.parents[1], check=True)
    assert made_from.read_text() == before, "they were stale until now: run make env"


def test_every_widget_is_one_text_that_node_runs(tmp_path: Path) -> None:
    modules = [each for each in STATIC.rglob("*.js") if "\nexport default " in each.read_text()]
    entries = [module.relative_to(STATIC).as_posix() for module in modules]
    assert {"explorer/explorer.js", "replication/replica_lanes.js"} < set(entries)
    for number, entry in enumerate(entries):
        text = script(entry)
        (tmp_path / f"{number}.mjs").write_text(text)
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
        assert "https://" not in text
    names = [f"front{number}" for number in range(len(entries))]
    imports = "".join(f'import {name} from "./{name[5:]}.mjs";\n' for name in names)
    checks = "".join(f"if (!({name}.render instanceof Function)) throw 1;\n" for name in names)
    (tmp_path / "all.mjs").write_text(imports + checks)
    node = shutil.which("node")
    assert node, "install Node.js 20 or newer to check the front end"
    done = subprocess.run(
        [node, str(tmp_path / "all.mjs")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_front_end_that_was_not_built_says_how() -> None:
    with pytest.raises(FileNotFoundError, match="not built; run `make env` in the checkout"):
        script("explorer/nowhere.js")


def test_the_front_end_never_reads_text_as_html() -> None:
    for module in STATIC.rglob("*.js"):
        assert "innerHTML" not in module.read_text(), module.name
        assert "insertAdjacentHTML" not in module.read_text(), module.name


def test_the_front_end_passes_its_own_tests() -> None:
    node = shutil.which("node")
    assert node, "install Node.js 20 or newer to test the front end"
    tests = sorted((Path(__file__).parent.parent / "js").glob("*.test.mjs"))
    done = subprocess.run(
        [node, "--test", *map(str, tests)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_two_sheets_never_style_one_class_differently() -> None:
    """JupyterLab keeps the sheets of all widgets: the last one read would change the others."""
    rules: dict[str, set[str]] = {}
    for sheet in STATIC.rglob("*.css"):
        for name, rule in re.findall(r"^(\.klw-[\w-]+) \{(.*)\}$", sheet.read_text(), re.MULTILINE):
            rules.setdefault(name, set()).add(rule)
    assert len(rules) > 100
    assert [name for name, found in rules.items() if len(found) > 1] == []
