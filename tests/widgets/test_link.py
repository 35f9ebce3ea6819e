"""Joining ES modules: strict, so that what works joined works apart, and the other way round."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from widgets._link import STATIC, link


def modules(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / f"{name}.js").write_text(text)
    return folder


def test_each_module_is_put_in_once_before_the_first_that_needs_it(tmp_path: Path) -> None:
    modules(
        tmp_path,
        a='import { b } from "./b.js";\nimport { c } from "./c.js";\nexport default { b, c };\n',
        b='import { c } from "./c.js";\nexport const b = c + 1;\n',
        c="export const c = 1;\n",
    )
    text = link("a.js", tmp_path)
    assert text.count("const c = 1;") == 1
    assert text.index("const c") < text.index("const b") < text.index("export default")
    assert "import" not in text


def test_modules_of_two_folders_are_joined(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    modules(tmp_path / "one", a='import { b } from "../two/b.js";\nexport default b;\n')
    modules(tmp_path / "two", b='import { c } from "./c.js";\nexport const b = c;\n')
    modules(tmp_path / "two", c="export const c = 1;\n")
    text = link("one/a.js", tmp_path)
    assert re.findall(r"^// (.*)$", text, re.MULTILINE) == ["two/c.js", "two/b.js", "one/a.js"]


IMPORTS_Y = 'import { y } from "./b.js";\n'
HAS_Y = "export const y = 1;\n"


@pytest.mark.parametrize(
    ("a", "b", "problem"),
    [
        ('import { x } from "./b.js";\n', HAS_Y, "does not export"),
        (IMPORTS_Y + "const z = 1;\n", HAS_Y + "const z = 2;\n", "declared in b.js"),
        (IMPORTS_Y + "const x = 1,\n  z = 1;\n", HAS_Y + "const z = 2;\n", "z is declared in b.js"),
        (IMPORTS_Y + "let z;\n", 'export const y = f("(", [1, 2]), z = 2;\n', "z is declared in b"),
        (IMPORTS_Y + "const { z } = y, v = 1;\n", HAS_Y, "cannot join"),
        ('import * as b from "./b.js";\n', HAS_Y, "cannot join"),
        (IMPORTS_Y, "export { y };\nconst y = 1;\n", "cannot join"),
        (IMPORTS_Y, HAS_Y + "export default y;\n", "cannot join"),
        (IMPORTS_Y, 'import { z } from "./a.js";\n' + HAS_Y, "a ring"),
    ],
)
def test_what_cannot_be_joined_is_refused(tmp_path: Path, a: str, b: str, problem: str) -> None:
    modules(tmp_path, a=a, b=b)
    with pytest.raises(ValueError, match=problem):
        link("a.js", tmp_path)


def test_names_inside_of_a_declaration_are_its_own(tmp_path: Path) -> None:
    modules(
        tmp_path,
        a=IMPORTS_Y + "const w = (p, q) => {\n  const z = 1, v = 2;\n  return z + v;\n};\n",
        b='export const x = { v: [1, 2], z: "a, v = 1" }, y = 1;\nconst z = 2;\n',
    )
    assert "const w" in link("a.js", tmp_path)


def test_every_widget_is_one_text_that_node_runs(tmp_path: Path) -> None:
    modules = [each for each in STATIC.rglob("*.js") if "\nexport default " in each.read_text()]
    entries = [module.relative_to(STATIC).as_posix() for module in modules]
    assert {"explorer/explorer.js", "replication/replica_lanes.js"} < set(entries)
    for number, entry in enumerate(entries):
        text = link(entry)
        (tmp_path / f"{number}.mjs").write_text(text)
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
        assert "https://" not in text
    imports = "".join(f'await import("./{number}.mjs");\n' for number in range(len(entries)))
    (tmp_path / "all.mjs").write_text(imports)
    node = shutil.which("node")
    assert node, "install Node.js 20 or newer to check the front end"
    done = subprocess.run(
        [node, str(tmp_path / "all.mjs")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


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
