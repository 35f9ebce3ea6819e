"""Write the drawing of the architecture, from the contracts of pyproject.toml and the docstrings.

A row is a layer: a folder imports only folders below its own row. Run as `python3 .ci/drawing.py`
(this is a part of `make map`). Needs nothing but Python 3.11 or newer.
"""

from __future__ import annotations

import ast
import html
import textwrap
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
DRAWING = PROJECT / "docs" / "assets" / "architecture.svg"

ENGINE = {"cleaner", "log", "log_manager"}
READERS = {"inspection", "decoders"}
FLOORS = (  # the lowest folder of each floor, from above, and what it is about
    ("log_directory", "Faces: what people call"),
    ("values", "Data: tables, scans, the protocol"),
    ("coordinator", "Brokers"),
    ("inspection", "Directory: what is there, what would be done"),
    ("runtime", "Engine"),
    ("layout", "Format: bytes and files"),
)

WIDTH, LEFT, GAP = 940, 150, 8
LINE, PAD, CHARACTER = 15, 9, 6.15  # px; the mean width of a character

STYLE = """
  text { font: 12px/1 system-ui, sans-serif; fill: #1f2328; }
  .name { font-weight: 600; } .about { fill: #57606a; } .floor { font-size: 11px; fill: #57606a; }
  rect { fill: #f6f8fa; stroke: #d0d7de; } .engine { fill: #fff1d6; stroke: #d4a72c; }
  .reader { fill: #dbeafe; stroke: #5b8dd6; } .top { fill: #e6f4ea; stroke: #57ab6e; }
  .disk { fill: #eef0f2; stroke: #8c959f; }
  .arrow { stroke: #8c959f; stroke-width: 1.5; fill: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .about, .floor { fill: #9da7b3; }
    rect { fill: #161b22; stroke: #30363d; } .engine { fill: #3a2d0c; stroke: #9e7a1b; }
    .reader { fill: #12263f; stroke: #3d6db3; } .top { fill: #12301c; stroke: #3b7d4f; }
    .disk { fill: #21262d; stroke: #6e7681; }
  }
"""


def layers() -> list[list[str]]:
    """Return the folders of `workbench`, layer by layer, the highest first."""
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(
        each
        for each in settings["tool"]["importlinter"]["contracts"]
        if each.get("containers") == ["workbench"]
    )
    return [[name.strip() for name in layer.split("|")] for layer in contract["layers"]]


def about(name: str) -> str:
    """Return the first sentence of a module's docstring, without marks of code."""
    folder = PROJECT / name.replace(".", "/")
    path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].replace("`", "").removesuffix(".")


def drawing() -> str:
    """Return the SVG."""
    parts: list[str] = []
    y = 12.0
    rows = [["widgets"], *layers()]
    width = WIDTH - LEFT - 12
    bottoms = dict(FLOORS)
    floor_top = y
    for row in rows:
        each = (width - GAP * (len(row) - 1)) / len(row)
        boxes = [(name, wrapped(name, each)) for name in row]
        height = 2 * PAD + LINE * max(len(lines) for _, lines in boxes) - 3
        for at, (name, lines) in enumerate(boxes):
            parts.append(box(name, lines, LEFT + at * (each + GAP), y, each, height))
        y += height + GAP
        for name in row:
            if name in bottoms:
                parts.append(floor(bottoms[name], floor_top, y - GAP))
                floor_top = y
    parts.append(disk(y))
    parts.append(legend(y))
    y += 26
    title = "The layers of Kafka Log Workbench: a folder imports only folders below it"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 4:.0f}" role="img" '
        f'aria-label="{title}">\n<title>{title}</title>\n<style>{STYLE}</style>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def wrapped(name: str, width: float) -> list[str]:
    """Return the lines of a box: the name, and what the folder is for."""
    module = name if name == "widgets" else f"workbench.{name}"
    most = int((width - 2 * PAD) / CHARACTER)
    return textwrap.wrap(f"{name}: {about(module)}", most)


def box(name: str, lines: list[str], x: float, y: float, width: float, height: float) -> str:
    """Return a box with its lines; the name at their beginning is bold."""
    kind = "engine" if name in ENGINE else "reader" if name in READERS else ""
    kind = kind or ("top" if name in {"widgets", "cli", "server", "spark", "log_directory"} else "")
    first, *others = lines
    said = html.escape(first.removeprefix(f"{name}:"))
    place = f'x="{x + PAD:.1f}" y="{y + PAD + 10:.1f}"'
    spans = f'<tspan class="name">{name}</tspan><tspan class="about">{said}</tspan>'
    texts = [f"<text {place}>{spans}</text>"]
    for at, line in enumerate(others, 1):
        place = f'x="{x + PAD:.1f}" y="{y + PAD + 10 + at * LINE:.1f}"'
        texts.append(f'<text {place} class="about">{html.escape(line)}</text>')
    shape = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="6"'
    return f'<rect {shape} class="{kind}"/>' + "".join(texts)


def floor(text: str, top: float, bottom: float) -> str:
    """Return the name of a floor, beside its rows."""
    lines = textwrap.wrap(text, 20)
    middle = (top + bottom) / 2 - LINE * (len(lines) - 1) / 2 + 4
    words = "".join(
        f'<text class="floor" text-anchor="end" x="{LEFT - 18}" y="{middle + at * LINE:.1f}">'
        f"{html.escape(line)}</text>"
        for at, line in enumerate(lines)
    )
    return words + f'<path class="arrow" d="M{LEFT - 10} {top:.1f}V{bottom:.1f}"/>'


def legend(y: float) -> str:
    """Return what the colors mean."""
    parts, x = [], float(LEFT)
    for kind, text in (
        ("reader", "only reads"),
        ("engine", "the engine, which writes"),
        ("top", "where a user comes in"),
    ):
        parts.append(
            f'<rect x="{x}" y="{y + 4:.1f}" width="14" height="14" rx="3" class="{kind}"/>'
        )
        parts.append(f'<text x="{x + 20}" y="{y + 15:.1f}" class="about">{text}</text>')
        x += 44 + CHARACTER * len(text)
    return "".join(parts)


def disk(bottom: float) -> str:
    """Return the disk, at the lower left: the log directories that everything is about."""
    y = bottom - 62
    return (
        f'<path class="disk" d="M14 {y}a36 9 0 0 1 72 0v38a36 9 0 0 1 -72 0z"/>'
        f'<path class="arrow" d="M14 {y}a36 9 0 0 0 72 0"/>'
        f'<text x="50" y="{y + 30}" text-anchor="middle">log.dirs</text>'
    )


if __name__ == "__main__":
    DRAWING.write_text(drawing(), encoding="utf-8")
    print(DRAWING.relative_to(PROJECT))
