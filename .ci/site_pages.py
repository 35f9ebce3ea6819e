"""What mkdocs adds to docs/ for the documentation site: generated pages, and links between all.

The site also has the pages on file formats, and the documents that stand at the root of the
project. Documents link to each other as files of the repository, so that they can be read there;
here such a link is led to the page of that file.
"""

from __future__ import annotations

import inspect
import os
import pkgutil
import re
from importlib import import_module
from pathlib import Path
from typing import Final

import format_pages
import module_map
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Link, Navigation
from mkdocs.structure.pages import Page

import workbench.tables
from workbench.tables.columns import columns_of, is_row_class

PROJECT: Final = Path(__file__).resolve().parent.parent

PAGES: Final = {
    "README.md": "overview.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "workbench/README.md": "architecture.md",
    "sample_data/README.md": "samples.md",
}
"""Documents outside docs/ and their pages."""

IMAGES: Final = "notebooks/images"
REFERENCE: Final = "reference/index.html"  # written by pdoc


def on_config(config: MkDocsConfig) -> None:
    """Complete the table of contents: formats, and pages that it does not name."""
    contents = {next(iter(part)): part for part in config.nav or [] if isinstance(part, dict)}
    contents["File formats"]["File formats"] = [path for path, _ in _formats()]
    named = set(re.findall(r"[\w/-]+\.md", str(config.nav)))
    others = sorted(path.name for path in Path(config.docs_dir).glob("*.md"))
    contents["Background"]["Background"] += [name for name in others if name not in named]


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add what is not in docs/."""
    made = dict(_formats())
    for document, page in PAGES.items():
        made[page] = (PROJECT / document).read_text(encoding="utf-8")
    made["commands.md"] = _commands()
    made["tables.md"] = _tables()
    made["modules.md"] = module_map.module_map()
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    for image in sorted((PROJECT / IMAGES).iterdir()):
        files.append(File.generated(config, f"images/{image.name}", abs_src_path=str(image)))


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Lead links that are written for the repository to pages of the site."""
    here = page.file.src_uri
    source = next((path for path, made in PAGES.items() if made == here), f"docs/{here}")

    def lead(link: re.Match[str]) -> str:
        text, target, anchor = link.groups("")
        path = os.path.normpath(os.path.join(os.path.dirname(source), target))
        if path in PAGES:
            led = PAGES[path]
        elif path.startswith("docs/") or not (PROJECT / path).exists():
            led = path.removeprefix("docs/")  # if it is not there, the strict build fails
        elif path.startswith(f"{IMAGES}/"):
            led = path.replace(IMAGES, "images")
        else:
            return f"{text[1:-1]} (`{path}`)"
        return f"{text}({os.path.relpath(led, os.path.dirname(here) or '.')}{anchor})"

    return re.sub(r"(!?\[[^\]]*\])\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)", lead, markdown)


def on_nav(nav: Navigation, **_: object) -> None:
    """Add the reference of all Python names, which is not mkdocs'."""
    nav.items.append(Link("Python names", REFERENCE))


def _formats() -> list[tuple[str, str]]:
    if not _made:
        _made.extend(format_pages.pages())
    return _made


_made: Final[list[tuple[str, str]]] = []


def _commands() -> str:
    """Return the page of all commands, from their help."""
    from click import Context

    from workbench.cli.main import SECTIONS, main

    page = "# Commands\n\nWhat `kafka-workbench COMMAND --help` prints, for every command.\n"
    parent = Context(main, info_name="kafka-workbench")
    for section, commands in SECTIONS.items():
        page += f"\n## {section}\n"
        for name in commands:
            command = main.get_command(parent, name)
            assert command is not None
            context = Context(command, info_name=name, parent=parent, terminal_width=100)
            page += f"\n### {name}\n\n```text\n{command.get_help(context)}\n```\n"
    return page


def _tables() -> str:
    """Return the page of all tables, from the classes of their rows."""
    page = (
        "# Tables\n\nEvery table, and every field of it: a column in Arrow, pandas and Spark, and a"
        " key in JSON.\nA time is a timestamp in UTC in Arrow, and in JSON milliseconds since the"
        " epoch.\n"
    )
    for module in pkgutil.iter_modules(workbench.tables.__path__, "workbench.tables."):
        found = import_module(module.name)
        rows = [each for each in vars(found).values() if is_row_class(each, module.name)]
        if rows:
            page += f"\n## {(found.__doc__ or '').partition(chr(10))[0].rstrip('.')}\n"
        for row in rows:
            page += f"\n### {row.__name__}\n\n{inspect.getdoc(row)}\n"
            page += "\n| field | type | meaning |\n|---|---|---|\n"
            for column in columns_of(row):
                page += f"| `{column.name}` | {column.type_text} | {column.meaning} |\n"
    return page
