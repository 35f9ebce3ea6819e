"""The recipes of `CONTRIBUTING.md` are followed, in a copy of the package, and what they add works.

Each names the files that it changes; a recipe that leaves one out fails here.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest

ROOT: Final = Path(__file__).parents[2]


class Recipe(NamedTuple):
    """What somebody who follows a recipe writes.

    Attributes:
        title: its heading in `CONTRIBUTING.md`.
        new: file of `workbench` → its text.
        changes: file of `workbench` → what stands there, and what is added behind it.
        program: what then works; it raises otherwise.
    """

    title: str
    new: Mapping[str, str]
    changes: Mapping[str, tuple[tuple[str, str], ...]]
    program: str


CODEC: Final = Recipe(
    "Add a codec",
    {
        "record/codecs/turned.py": '''"""Every byte turned: a codec that Kafka does not have."""

from workbench.record.reading.arena import Arena


def decompress(data: memoryview, arena: Arena) -> None:
    arena.append(bytes(each ^ 0xFF for each in data))


def compress(data: bytes | memoryview) -> bytes:
    return bytes(each ^ 0xFF for each in data)
''',
    },
    {
        "layout/attributes.py": (
            ("ZSTD: Final = 4\n", "TURNED: Final = 5\n"),
            ('"zstd"', ', "turned"'),
        ),
        "record/codecs/registry.py": (
            ("import GZIP, LZ4, NONE, SNAPPY, ZSTD", ", TURNED"),
            ("import gzip_stream, lz4_frame, xerial_snappy, zstd_frame", ", turned"),
            (
                "        pieces=zstd_frame.pieces,\n    ),\n",
                """    TURNED: Codec(
        lambda data, arena, _magic: turned.decompress(data, arena),
        lambda data, _magic, _level: turned.compress(data),
        lowest_magic=2,
    ),
""",
            ),
        ),
    },
    """
import warnings
from pathlib import Path
import workbench as wb
from workbench.config.log_config import LogConfig
from workbench.record.writing.batch_writer import BatchWriter

def batch(first):
    writer = BatchWriter(codec="turned", base_offset=first)
    for _ in range(3):
        writer.append(1, b"k", b"v" * 40)
    return writer.finish().tobytes()

Path("logs/t-0").mkdir(parents=True)
log = Path("logs/t-0", f"{0:020d}.log")
data = b"".join(map(batch, (0, 3, 6)))
log.write_bytes(data)
logs = wb.open_log_directory("logs")
assert logs.scan().to_arrow()["offset"].to_pylist() == list(range(9))
assert logs.inspect.batches()["codec"].to_pylist() == ["turned"] * 3
assert [each for each in logs.verify() if each.severity == "error"] == []
assert LogConfig.of({"compression.type": "turned"}).compression_level is None
log.write_bytes(data[:8] + bytes(4) + data[12:])  # the length of the first batch
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    found = wb.open_log_directory("logs").scan().to_arrow()
assert found["offset"].to_pylist() == list(range(3, 9))
""",
)

TABLE: Final = Recipe(
    "Add a table",
    {},
    {
        "tables/segments.py": (
            (
                '    path: Annotated[str, "path of the .log file"]\n',
                '    is_odd: Annotated[bool, "whether its base offset is odd"]\n',
            ),
        ),
        "loaders/tables/segment_tables.py": (
            ("                s.path,\n", "                s.base_offset % 2 == 1,\n"),
        ),
    },
    """
from pathlib import Path
import workbench as wb

Path("logs/t-0").mkdir(parents=True)
for offset in (0, 7):
    Path("logs/t-0", f"{offset:020d}.log").touch()
logs = wb.open_log_directory("logs")
assert logs.inspect.segments()["is_odd"].to_pylist() == [False, True]
""",
)

COMMAND: Final = Recipe(
    "Add a command",
    {
        "cli/commands/contents/greet.py": '''"""Greet."""

import click


@click.command
def command() -> None:
    """Greet who asks."""
    click.echo("good morning")
''',
    },
    {
        "cli/main.py": (
            (
                '"Write records to Parquet, CSV or JSON lines."),\n',
                '        "greet": ("contents.greet", "Greet who asks."),\n',
            ),
        ),
    },
    """
import subprocess, sys
MAIN = "from workbench.cli.main import main; main()"
def run(*words):
    words = [sys.executable, "-c", MAIN, *words]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout
assert run("greet") == "good morning\\n"
assert "Greet who asks." in run("--help")
""",
)

DECODER: Final = Recipe(
    "Add a decoder",
    {
        "decoders/backward.py": '''"""Text from its end."""

from typing import Any, Final

from workbench.decoders.decoder import Bytes, Decoder


def decode(data: Bytes | None) -> Any:
    """Return the text backward; None for null."""
    return None if data is None else bytes(data).decode(errors="replace")[::-1]


BACKWARD: Final = Decoder("backward", decode, lambda _key, value: decode(value))
''',
    },
    {
        "decoders/registry.py": (
            (
                "from workbench.decoders.decoder import Decoder\n",
                "from workbench.decoders.backward import BACKWARD\n",
            ),
            ("        HEX,\n", "        BACKWARD,\n"),
        ),
    },
    """
import json, subprocess, sys
MAIN = "from workbench.cli.main import main; main()"
from pathlib import Path
from workbench.record.writing.batch_writer import BatchWriter

Path("logs/t-0").mkdir(parents=True)
writer = BatchWriter()
writer.append(1, None, b"abc")
Path("logs/t-0", f"{0:020d}.log").write_bytes(writer.finish())
words = [sys.executable, "-c", MAIN, "dump", "logs", "--json"]
words += ["--value-format", "backward"]
ran = subprocess.run(words, capture_output=True, text=True)
assert ran.returncode == 0, ran.stderr
assert json.loads(ran.stdout)["value"] == "cba"
""",
)

CONFIGURATION: Final = Recipe(
    "Add a configuration",
    {},
    {
        "config/definitions.py": (
            (
                """        doc="Whether disabling remote storage deletes its segments.",
        is_used=False,
    ),
""",
                """    Definition("greeting.bytes", "int", 7, at_least(1), "Bytes of a greeting."),
""",
            ),
        ),
        "config/log_config.py": (
            ("    remote_log_delete_on_disable: bool\n", "    greeting_bytes: int\n"),
        ),
    },
    """
import subprocess, sys
from pathlib import Path
from workbench.config.log_config import LogConfig
from workbench.errors import ConfigError

assert LogConfig.of({}).greeting_bytes == 7
assert LogConfig.of({"greeting.bytes": "9"}).greeting_bytes == 9
assert "greeting.bytes" in {each.name for each in LogConfig.of({}).describe()}
try:
    LogConfig.of({"greeting.bytes": 0})
except ConfigError as error:
    assert "greeting.bytes" in str(error)
else:
    raise AssertionError("0 is taken")
MAIN = "from workbench.cli.main import main; main()"
Path("logs/t-0").mkdir(parents=True)
Path("logs/t-0", f"{0:020d}.log").touch()
words = [sys.executable, "-c", MAIN, "what-if", "logs", "--set", "greeting.bytes=9"]
ran = subprocess.run(words, capture_output=True, text=True)
assert ran.returncode == 0, ran.stderr
""",
)

FORMAT: Final = Recipe(
    "Add a decoder",
    {},
    {
        "values/registry.py": (
            (
                '    "registry": partial(_registry, None),\n',
                '    "words": lambda _argument, _column: WholeValues(Utf8Decoder()),\n',
            ),
        ),
    },
    """
from pathlib import Path
import workbench as wb
from workbench.record.writing.batch_writer import BatchWriter

Path("logs/t-0").mkdir(parents=True)
writer = BatchWriter()
writer.append(1, None, b"abc")
Path("logs/t-0", f"{0:020d}.log").write_bytes(writer.finish())
scan = wb.open_log_directory("logs").scan(decode={"value": "words"})
assert scan.to_arrow()["value"].to_pylist() == ["abc"]
""",
)

RECIPES: Final = (CODEC, TABLE, COMMAND, DECODER, CONFIGURATION, FORMAT)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the package, without what is compiled."""
    copy = tmp_path_factory.mktemp("copy") / "workbench"
    ignored = shutil.ignore_patterns("__pycache__", "*.library", "*.jar")
    return Path(shutil.copytree(ROOT / "workbench", copy, ignore=ignored))


def follow(recipe: Recipe, package: Path) -> None:
    """Do what a recipe says."""
    for name, text in recipe.new.items():
        (package / name).write_text(text)
    for name, additions in recipe.changes.items():
        text = (package / name).read_text("utf-8")
        for found, addition in additions:
            assert text.count(found) == 1, f"{name}: {found}"
            text = text.replace(found, found + addition)
        (package / name).write_text(text, "utf-8")


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: next(iter(recipe.changes)))
def test_what_a_recipe_adds_works(recipe: Recipe, package: Path, tmp_path: Path) -> None:
    follow(recipe, package)
    environment = {
        **os.environ,
        "PYTHONPATH": str(package.parent),
        "KAFKA_WORKBENCH_KERNELS": "plain",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    ran = subprocess.run(
        [sys.executable, "-c", recipe.program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: next(iter(recipe.changes)))
def test_a_recipe_names_the_files_that_it_changes(recipe: Recipe) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    section = text.split(f"## {recipe.title}\n", 1)[1].split("\n## ", 1)[0]
    for name in recipe.changes:
        module = "workbench." + name.removesuffix(".py").replace("/", ".")
        assert f"`{module}`" in section or f"`{module.rpartition('.')[0]}`" in section


def test_the_names_of_codecs_are_the_same_in_every_language() -> None:
    from widgets.explorer.explorer_picture import CODECS
    from workbench.layout.attributes import CODEC_NAMES

    shown = ("uncompressed", *CODEC_NAMES[1:])
    assert shown == CODECS
    page = (ROOT / "widgets" / "static" / "shared" / "theme.js").read_text("utf-8")
    assert f"CODECS = [{', '.join(map(quoted, shown))}];" in page
    java = (ROOT / "workbench" / "spark_source" / "jvm" / "Codecs.java").read_text("utf-8")
    assert f"NAMES = {{{', '.join(map(quoted, CODEC_NAMES))}}};" in java


def quoted(text: str) -> str:
    return f'"{text}"'
