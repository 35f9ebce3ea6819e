"""A color that stands in several files is the palette's, or a variable of the style that all share.

So a color that is changed in one place is missed at each other that still has the old one.
"""

import re
from collections import defaultdict
from itertools import chain
from pathlib import Path
from typing import Final

from widgets.pictures import ACCENT, DAMAGE, PALETTE

ROOT: Final = Path(__file__).parents[2]
SHARED: Final = ROOT / "widgets" / "static" / "shared"
COLOR: Final = re.compile(r"(?:#|%23)([0-9A-Fa-f]{6})\b")
NEUTRAL: Final = {"#8b949e"}  # gray that says nothing


def sources() -> list[Path]:
    """Return what draws: pages, pictures, and the extension of JupyterLab."""
    own = (ROOT / "widgets" / "static", ROOT / "labextension" / "static")
    pages = (each for folder in own for each in folder.rglob("*") if each.is_file())
    python = (ROOT / "widgets").rglob("*.py")
    return sorted(each for each in chain(pages, python) if each.suffix in {".css", ".js", ".py"})


def declared() -> set[str]:
    """Return the colors of `theme.js`, and of the variables of the styles."""
    styles = "".join(each.read_text("utf-8") for each in sources() if each.suffix == ".css")
    texts = [(SHARED / "theme.js").read_text("utf-8"), *re.findall(r"--klw-[^;]*;", styles)]
    return {f"#{each}" for text in texts for each in COLOR.findall(text)}


def test_a_color_of_several_files_is_declared() -> None:
    found = defaultdict(set)
    for path in sources():
        for each in COLOR.findall(path.read_text("utf-8")):
            found[f"#{each}"].add(path.relative_to(ROOT).as_posix())
    several = {color: sorted(files) for color, files in found.items() if len(files) > 1}
    assert {each: several[each] for each in several.keys() - declared() - NEUTRAL} == {}
    assert len(several) > 10


def test_pages_and_pictures_have_one_palette() -> None:
    page = (SHARED / "theme.js").read_text("utf-8")
    quoted = ", ".join(f'"{each}"' for each in PALETTE[:7])
    assert f"PALETTE = [{quoted}];" in page
    assert f'DAMAGE = "{DAMAGE}";' in page
    assert f"--klw-accent: {ACCENT};" in (SHARED / "base.css").read_text("utf-8")
