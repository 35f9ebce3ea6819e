"""The recipes of `CONTRIBUTING.md` are followed, in a copy of the code, and what they add works.

Each names the files that it changes; a recipe that leaves one out fails here.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pytest

ROOT: Final = Path(__file__).parents[2]


class Recipe(NamedTuple):
    """What somebody who follows a recipe writes.

    Attributes:
        title: its heading in `CONTRIBUTING.md`.
        new: file → its text.
        changes: file → what stands there, and what is added behind it.
        program: what then works; it raises otherwise.
    """

    title: str
    new: Mapping[str, str]
    changes: Mapping[str, tuple[tuple[str, str], ...]]
    program: str


CODEC: Final = Recipe(
    "Add a codec",
    {
        "workbench/record/codecs/turned.py": '''"""Every byte turned, as no codec of Kafka does."""

from workbench.record.reading.arena import Arena


def decompress(data: memoryview, arena: Arena) -> None:
    arena.append(bytes(each ^ 0xFF for each in data))


def compress(data: bytes | memoryview) -> bytes:
    return bytes(each ^ 0xFF for each in data)
''',
    },
    {
        "workbench/layout/attributes.py": (
            ("ZSTD: Final = 4\n", "TURNED: Final = 5\n"),
            ('"zstd"', ', "turned"'),
        ),
        "workbench/record/codecs/registry.py": (
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
        "workbench/tables/segments.py": (
            (
                '    path: Annotated[str, "path of the .log file"]\n',
                '    is_odd: Annotated[bool, "whether its base offset is odd"]\n',
            ),
        ),
        "workbench/loaders/tables/segment_tables.py": (
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
        "workbench/cli/commands/contents/greet.py": '''"""Greet."""

import click


@click.command
def command() -> None:
    """Greet who asks."""
    click.echo("good morning")
''',
    },
    {
        "workbench/cli/main.py": (
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
        "workbench/decoders/backward.py": '''"""Text from its end."""

from typing import Any, Final

from workbench.decoders.decoder import Bytes, Decoder


def decode(data: Bytes | None) -> Any:
    """Return the text backward; None for null."""
    return None if data is None else bytes(data).decode(errors="replace")[::-1]


BACKWARD: Final = Decoder("backward", decode, lambda _key, value: decode(value))
''',
    },
    {
        "workbench/decoders/registry.py": (
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
        "workbench/config/definitions.py": (
            (
                """        doc="Whether disabling remote storage deletes its segments.",
        is_used=False,
    ),
""",
                """    Definition("greeting.bytes", "int", 7, at_least(1), "Bytes of a greeting."),
""",
            ),
        ),
        "workbench/config/log_config.py": (
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
        "workbench/values/registry.py": (
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

KIND_OF_FILE: Final = Recipe(
    "Add a kind of file",
    {
        "workbench/files/partition_note.py": '''"""`partition.note`: a word about a partition."""

from dataclasses import dataclass
from typing import Self

from workbench.errors import CorruptCheckpointError
from workbench.files.reading import FileProblem, ProblemList, SmallFile


@dataclass(frozen=True, slots=True)
class PartitionNote(SmallFile):
    """A word.

    Attributes:
        word: None only if the file is damaged.
        problems: see `reading`.
    """

    word: str | None
    problems: tuple[FileProblem, ...] = ()

    corrupt_error = CorruptCheckpointError
    size_limit = 100

    @classmethod
    def _parse(cls, data: bytes, problems: ProblemList) -> Self:
        if not data.isalpha():
            problems.add("malformed", 0, repr(data), "a word")
        return cls(data.decode() if data.isalpha() else None, problems.found())
''',
    },
    {
        "workbench/files/names.py": (
            ('QUORUM_STATE: Final = "quorum-state"\n', 'NOTE: Final = "partition.note"\n'),
            ("frozenset({LEADER_EPOCHS, PARTITION_METADATA, QUORUM_STATE", ", NOTE"),
        ),
        "workbench/inspection/verify/file.py": (
            (
                "from workbench.files.partition_metadata import PartitionMetadata\n",
                "from workbench.files.partition_note import PartitionNote\n",
            ),
            (
                '    names.QUORUM_STATE: (QuorumState, "quorum-state-damaged"),\n',
                '    names.NOTE: (PartitionNote, "partition-note-damaged"),\n',
            ),
        ),
        "workbench/inspection/findings.py": (
            (
                '    "partition-metadata-damaged": "a partition.metadata that cannot be read",\n',
                '    "partition-note-damaged": "a partition.note that cannot be read",\n',
            ),
        ),
        "workbench/inspection/facts/file_facts.py": (
            (
                "from workbench.files.partition_metadata import PartitionMetadata\n",
                "from workbench.files.partition_note import PartitionNote\n",
            ),
            (
                "    names.PARTITION_METADATA: PartitionMetadata.read,\n",
                "    names.NOTE: PartitionNote.read,\n",
            ),
        ),
        "workbench/loaders/tables/by_hand.py": (
            ("_NAMED: Final = {\n", '    names.NOTE: ByHand("yes", "somebody noted a word"),\n'),
        ),
    },
    """
import json, subprocess, sys
from pathlib import Path
import workbench as wb

Path("logs/t-0").mkdir(parents=True)
Path("logs/t-0", f"{0:020d}.log").touch()
note = Path("logs/t-0/partition.note")
note.write_text("tea")
logs = wb.open_log_directory("logs")
assert [each.kind for each in logs.verify() if each.path.endswith(note.name)] == []
MAIN = "from workbench.cli.main import main; main()"
def run(*words):
    ran = subprocess.run([sys.executable, "-c", MAIN, *words], capture_output=True, text=True)
    return json.loads(ran.stdout)
assert run("describe", str(note), "--json")["word"] == "tea"
(row,) = [each for each in logs.inspect.files().to_pylist() if each["name"] == note.name]
assert row["by_hand"] == "yes"
note.write_text("1 2")
assert run("verify", str(note), "--json")[0]["kind"] == "partition-note-damaged"
""",
)

GREETING: Final = """{{
  "apiKey": 900, "type": "{kind}", "name": "Greet{name}",
  "validVersions": "0", "flexibleVersions": "0+",
  "fields": [{{ "name": "Word", "type": "string", "versions": "0+", "about": "A word." }}]
}}
"""

REQUEST: Final = Recipe(
    "Add a request of Kafka's protocol",
    {
        "workbench/record/messages/4.4.0/GreetRequest.json": GREETING.format(
            kind="request", name="Request"
        ),
        "workbench/record/messages/4.4.0/GreetResponse.json": GREETING.format(
            kind="response", name="Response"
        ),
        "workbench/server/handlers/greeting.py": '''"""Greetings."""

from typing import Any

from workbench.server.protocol.api_keys import GREET
from workbench.server.serving import Call, Served


def greet(_call: Call, request: Any) -> Any:
    """Return the word backward."""
    return {"word": request["word"][::-1]}


HANDLERS = {GREET.key: Served(greet)}
''',
    },
    {
        "workbench/server/protocol/api_keys.py": (
            ("# About the records of partitions\n", 'GREET: Final = _served("Greet", 900, 0, 0)\n'),
        ),
        "workbench/server/kafka_apis.py": (
            ("    fetch_requests,\n    group_requests", ",\n    greeting"),
            ("    **admin_requests.HANDLERS,\n", "    **greeting.HANDLERS,\n"),
        ),
    },
    """
import socket, struct
from pathlib import Path
import workbench as wb
from workbench.server.protocol.api_keys import GREET

Path("logs/t-0").mkdir(parents=True)
Path("logs/t-0", f"{0:020d}.log").touch()
with wb.open_log_directory("logs").serve(port=0) as server:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        frame = struct.pack(">hhihB", GREET.key, 0, 7, -1, 0)
        frame += GREET.request.encode({"word": "tea"}, 0)
        client.sendall(struct.pack(">i", len(frame)) + frame)
        (size,) = struct.unpack(">i", client.recv(4, socket.MSG_WAITALL))
        answer = client.recv(size, socket.MSG_WAITALL)
assert GREET.response.decode(answer, 0, 5)[0] == {"word": "aet"}
""",
)

WIDGET: Final = Recipe(
    "Add a widget",
    {
        "widgets/greeting.py": '''"""A greeting."""

import traitlets

from widgets._assets import script, style
from widgets._widget import KafkaWidget


class Greeting(KafkaWidget):
    """Show a word."""

    _esm = script("greeting/greeting.js")
    _css = style("greeting/greeting.css")

    word = traitlets.Unicode("tea").tag(sync=True)

    def describe(self) -> str:
        """Return the word."""
        return self.word

    def to_png(self) -> bytes:
        """Draw the word."""
        from widgets.pictures import text_picture

        return text_picture(self.word)
''',
        "widgets/static/greeting/greeting.css": ".klw-greeting { padding: 8px; }\n",
        "widgets/static/greeting/greeting.js": """import { h } from "../shared/dom.js";

function render({ model, el }) {
  el.append(h("p", { class: "klw-greeting" }, model.get("word")));
}

export default { render };
""",
    },
    {
        "widgets/__init__.py": (
            (
                "    from widgets.explorer.explorer import LogExplorer as LogExplorer\n",
                "    from widgets.greeting import Greeting as Greeting\n",
            ),
            (
                '    "FindingView": "widgets.verification.finding_view",\n',
                '    "Greeting": "widgets.greeting",\n',
            ),
        ),
    },
    """
import widgets

shown = widgets.Greeting(word="tea")
assert "Greeting" in widgets.__all__
assert shown.describe() == "tea"
assert shown.to_png().startswith(b"\\x89PNG")
assert "klw-greeting" in shown._esm and "klw-greeting" in shown._css
assert "tea" in shown.to_html()
shown.close()
""",
)

RECIPES: Final = (
    CODEC, TABLE, COMMAND, DECODER, CONFIGURATION, FORMAT, KIND_OF_FILE, REQUEST, WIDGET,
)  # fmt: skip
LONG: Final = (KIND_OF_FILE, REQUEST, WIDGET)


def title_of(recipe: Recipe) -> str:
    """Return the first file that a recipe changes, as the name of a case."""
    return next(iter(recipe.changes)).removeprefix("workbench/")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a copy of the packages, without what is compiled or bundled."""
    folder = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__", "*.library", "*.jar", "bundles")
    for name in ("workbench", "widgets"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("setup.py", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    return folder


def follow(recipe: Recipe, copy: Path) -> None:
    """Do what a recipe says."""
    for name, text in recipe.new.items():
        (copy / name).parent.mkdir(exist_ok=True)
        (copy / name).write_text(text)
    for name, additions in recipe.changes.items():
        text = (copy / name).read_text("utf-8")
        for found, addition in additions:
            assert text.count(found) == 1, f"{name}: {found}"
            text = text.replace(found, found + addition)
        (copy / name).write_text(text, "utf-8")


def run(words: Sequence[str], folder: Path, copy: Path) -> None:
    """Run Python in a folder, with the packages of the copy."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy),
        "KAFKA_WORKBENCH_KERNELS": "plain",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    ran = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(
    "recipe",
    [pytest.param(each, marks=[pytest.mark.long] if each in LONG else []) for each in RECIPES],
    ids=title_of,
)
def test_what_a_recipe_adds_works(recipe: Recipe, copy: Path, tmp_path: Path) -> None:
    follow(recipe, copy)
    if recipe is WIDGET:
        run(["setup.py", "-q", "bundle"], copy, copy)
    run(["-c", recipe.program], tmp_path, copy)


@pytest.mark.parametrize("recipe", RECIPES, ids=title_of)
def test_a_recipe_names_the_files_that_it_changes(recipe: Recipe) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    section = text.split(f"## {recipe.title}\n", 1)[1].split("\n## ", 1)[0]
    for name in recipe.changes:
        module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
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
