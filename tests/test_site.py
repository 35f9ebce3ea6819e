"""The documentation site: it builds without a warning, and its format pages are what files hold."""

import re
import struct
from collections.abc import Iterator
from pathlib import Path

import format_pages
import pytest
from formats import FORMATS, Example
from mkdocs.commands.build import build
from mkdocs.config import load_config

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "sample_data"

EXAMPLES = [example for page in FORMATS for example in page.examples]
ROW = re.compile(r"^ *(\d+) +(\d+)  ((?:[0-9a-f]{2} )*[0-9a-f]{2})( …)? +(\S.*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder


def test_the_site_is_complete_and_asks_for_nothing_from_a_network(site: Path) -> None:
    pages = {str(path.relative_to(site)): path.read_text() for path in site.rglob("*.html")}
    documents = {path.stem for path in (ROOT / "docs").glob("*.md")}
    made = {f"formats/{page.page}" for page in FORMATS} | {"contributing", "commands", "overview"}
    made |= {"tables"}
    assert {f"{name}.html" for name in documents | made} <= pages.keys()
    for name, page in pages.items():
        assert not re.findall(r"<(?:script|link|img|iframe)[^>]+https?://[^>]+>", page), name
        assert name == "404.html" or 'href="' + "../" * name.count("/") + "reference/" in page
    assert (site / "search" / "search_index.js").stat().st_size > 100_000


def test_the_fields_of_a_layout_add_up() -> None:
    sizes = {}
    for page in FORMATS:
        for heading, module, name in page.layouts:
            rows = format_pages.layout_table(module, name).splitlines()[2:]
            cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
            at = 0
            for cell in cells[:-1]:
                assert int(cell[0]) == at, (name, cell)
                at += int(cell[1])
                assert cell[3].endswith(f"int{8 * int(cell[1])}")
            assert int(cells[-1][0]) == at, heading
            sizes[name] = at
    assert sizes == {
        "BATCH_HEADER": 61,
        "MESSAGE_V0": 18,
        "MESSAGE_V1": 26,
        "CONTROL_KEY": 4,
        "END_TRANSACTION": 6,
        "OFFSET_ENTRY": 8,
        "TIME_ENTRY": 12,
        "ABORTED_TRANSACTION": 34,
        "SNAPSHOT_HEADER": 10,
        "PRODUCER_ENTRY": 46,
    }


def test_every_field_of_a_batch_has_a_row_with_its_comment() -> None:
    table = format_pages.layout_table("workbench.layout.batch_header", "BATCH_HEADER")
    assert "| 27 | 8 | `base_timestamp` | int64 | ms; the delete horizon when" in table
    table = format_pages.layout_table("workbench.layout.message_header", "MESSAGE_V1")
    assert "| 8 | 4 | `size` | int32 | bytes after this field |" in table


def rows(example: Example) -> Iterator[tuple[int, int, bytes, bool, str]]:
    """Yield position, size, bytes, whether these are all, and the rest, of the rows of a page."""
    for at, size, shown, more, rest in ROW.findall(format_pages.example_text(example)):
        yield int(at), int(size), bytes.fromhex(shown), not more, rest


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.about)
def test_the_bytes_of_an_example_are_those_of_the_file_without_a_gap(example: Example) -> None:
    data = (SAMPLES / example.path).read_bytes()
    found = list(rows(example))
    assert found
    for at, size, shown, is_whole, rest in found:
        assert data[at : at + len(shown)] == shown, rest
        assert len(shown) == size if is_whole else len(shown) < size
    covered = {byte for at, size, *_ in found for byte in range(at, at + size)}
    first, last = min(covered), max(covered)
    if not example.groups:
        first = example.start
        size = len(data) if example.stop else struct.unpack(">i", data[first + 8 : first + 12])[0]
        last = min(example.stop or first + size + 12, len(data)) - 1
    assert covered == set(range(first, last + 1))


def test_numbers_beside_the_bytes_are_the_bytes() -> None:
    (example,) = [each for each in EXAMPLES if each.path.endswith("480.snapshot")]
    for _, size, shown, _, rest in rows(example):
        name, value, *_ = rest.split()
        assert int(value) == int.from_bytes(shown, signed=name != "crc"), name
        assert size == len(shown)
