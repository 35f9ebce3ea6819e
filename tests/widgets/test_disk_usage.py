"""DiskUsage without a browser: every byte is counted once, and holes are not counted as used."""

import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
import traitlets

import workbench as wb
from widgets import DiskUsage, LogExplorer
from widgets.disk.usage_nodes import KEY, KIND, NAME, OCCUPIED, PARENT, SIZE
from widgets.disk.usage_picture import Rect, squarify
from widgets.view.text import short_names
from workbench.loaders.tables.disk_usage import parts_of_file

SAMPLES = Path(__file__).parents[2] / "sample_data"
SHOP = SAMPLES / "shop-4.3.1"
MIB = 1 << 20


def bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def sent(usage: DiskUsage, name: str) -> Any:
    """What goes to the front end."""
    return usage.get_state(name)[name]


def table_of(query: str) -> Any:
    """Run the code that a widget shows and return its table."""
    *statements, last = query.splitlines()
    names: dict[str, Any] = {}
    exec("\n".join(statements), names)  # noqa: S102
    return eval(last, names)  # noqa: S307


def top(nodes: list[Any], column: int = SIZE) -> int:
    return sum(node[column] for node in nodes if node[PARENT] < 0)


@pytest.fixture
def sparse(tmp_path: Path) -> Path:
    """A partition whose active segment is preallocated, as while a broker runs."""
    folder = tmp_path / "orders-0"
    shutil.copytree(SHOP / "orders-0", folder)
    for name, size in (("index", 10 * MIB), ("log", 4 * MIB)):
        os.truncate(folder / f"00000000000000001475.{name}", size)
    return tmp_path


@pytest.mark.parametrize("name", ["shop-4.3.1", "damaged", "era-0.8.2.2", "two-brokers/broker1"])
def test_every_byte_on_the_disk_is_in_the_tree_once(name: str) -> None:
    usage = DiskUsage(SAMPLES / name)
    assert usage.sizes[0] == top(sent(usage, "_usage")["nodes"]) == bytes_in(SAMPLES / name)
    for key, partition in list(usage.logs.items())[::7]:
        usage.selected = {"partition": key}
        assert sent(usage, "_partition")["name"] == key
        assert top(sent(usage, "_partition")["nodes"]) == bytes_in(Path(partition.path))


def test_the_parts_of_a_segment_are_those_of_the_table() -> None:
    usage = DiskUsage(SHOP, at=["orders", "orders-0", "903"])
    assert usage.selected["segment"] == 903
    parts = {
        node[KIND]: node[SIZE] for node in sent(usage, "_segment")["nodes"] if node[PARENT] >= 0
    }
    table = wb.open_log_directory(SHOP).inspect.disk_usage(topics="orders", partitions=0)
    rows = table.filter(pc.equal(table["segment"], 903)).to_pylist()
    expected = {row["part"]: row["bytes"] for row in rows}
    assert parts == expected
    assert parts["values"] > parts["headers"] > parts["keys"] > 0


def test_preallocated_files_count_with_what_the_disk_holds(sparse: Path) -> None:
    usage = DiskUsage(sparse, at=["orders", "orders-0", "1475"])
    size, occupied = usage.sizes
    assert size == bytes_in(sparse)
    assert size - occupied > 13 * MIB
    held = {(node[KEY], node[KIND]): node for node in sent(usage, "_segment")["nodes"]}
    files = [name for (name, kind) in held if name == kind and name in {"index", "log"}]
    assert sorted(files) == ["index", "log"]
    parts = [node for node in sent(usage, "_segment")["nodes"] if node[KIND] == "preallocated"]
    assert len(parts) == 2
    assert all(part[OCCUPIED] < 64 << 10 < part[SIZE] for part in parts)
    assert "unreadable" not in {node[KIND] for node in sent(usage, "_segment")["nodes"]}
    assert "on the disk" in usage.describe()


def test_the_parts_of_a_large_segment_are_estimated_from_its_beginning() -> None:
    (segment,) = [s for s in wb.open_log_directory(SHOP)["clicks-0"].segments if not s.base_offset]
    whole = {part.name: part for part in parts_of_file(segment, "log")}
    some = {part.name: part for part in parts_of_file(segment, "log", most=1)}
    assert sum(part.size for part in some.values()) == segment.size
    assert some["values"].size == pytest.approx(whole["values"].size, rel=0.1)


def test_it_follows_the_explorer_and_the_explorer_it() -> None:
    logs = wb.open_log_directory(SHOP)
    usage, explorer = DiskUsage(logs), LogExplorer(logs)
    traitlets.link((explorer, "selected"), (usage, "selected"))
    usage.at = ["orders", "orders-0"]
    assert explorer.selected["partition"] == "orders-0"
    assert usage.at == ["orders", "orders-0"], "the explorer's first segment opens nothing here"
    usage.at = ["orders", "orders-0", "903"]
    assert explorer.selected["segment"] == 903
    explorer.selected = {"partition": "orders-0", "segment": 442}
    assert usage.at == ["orders", "orders-0", "442"]
    explorer.selected = {"partition": "clicks-1"}
    assert usage.at == ["clicks", "clicks-1"]


def test_directories_of_one_broker_are_the_first_level(tmp_path: Path) -> None:
    for name, partition in (("a", "orders-0"), ("b", "orders-1")):
        shutil.copytree(SHOP / partition, tmp_path / name / partition)
    paths = [str(tmp_path / name) for name in "ab"]
    usage = DiskUsage(wb.open_log_directory(paths))
    assert [n[KEY] for n in sent(usage, "_usage")["nodes"] if n[PARENT] < 0] == paths
    assert [n[NAME] for n in sent(usage, "_usage")["nodes"] if n[PARENT] < 0] == ["a", "b"]
    usage.selected = {"partition": "orders-1"}
    assert usage.at == [paths[1], "orders", "orders-1"]


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["/kafka/broker1", "/kafka/broker2"], ["broker1", "broker2"]),
        (["/disk1/kafka", "/disk2/kafka"], ["disk1/kafka", "disk2/kafka"]),
        (["/kafka"], ["kafka"]),
        (["/a/kafka", "/kafka"], ["a/kafka", "kafka"]),
    ],
)
def test_directories_have_the_shortest_names_that_differ(
    paths: list[str], names: list[str]
) -> None:
    assert short_names(paths) == names


@pytest.mark.parametrize(
    "path", [["nothing"], ["orders", "orders-9"], ["orders", "orders-0", "77"],
             ["orders", "orders-0", "903", "timeindex", "more"]]
)  # fmt: skip
def test_a_path_to_nothing_is_refused(path: list[str]) -> None:
    usage = DiskUsage(SHOP, at=["orders"])
    with pytest.raises(traitlets.TraitError, match="nothing to open"):
        usage.at = path
    assert usage.at == ["orders"]


@pytest.mark.parametrize(
    "path", [[], ["orders"], ["orders", "orders-0"], ["orders", "orders-0", "903"],
             ["orders", "orders-0", "903", "log"], ["orders", "orders-0", "other files"],
             ["other files"]]
)  # fmt: skip
def test_every_level_has_a_picture_and_code_that_runs(path: list[str]) -> None:
    usage = DiskUsage(SHOP, at=path)
    assert usage.to_png().startswith(b"\x89PNG")
    table = table_of(usage.query)
    assert len(table)
    if path == ["orders"]:
        assert table["size"].sum() == next(
            n[SIZE] for n in sent(usage, "_usage")["nodes"] if n[KEY] == path[0]
        )


def test_an_empty_directory_is_shown(tmp_path: Path) -> None:
    usage = DiskUsage(tmp_path)
    assert usage.sizes == (0, 0)
    assert usage.to_png().startswith(b"\x89PNG")


def test_what_was_written_since_is_listed_anew(tmp_path: Path) -> None:
    shutil.copytree(SHOP / "orders-0", tmp_path / "orders-0")
    usage = DiskUsage(tmp_path, at=["orders", "orders-0", "0"])
    shutil.copytree(SHOP / "orders-1", tmp_path / "orders-1")
    usage.answer_refresh()
    assert usage.sizes[0] == bytes_in(tmp_path)
    assert usage.at == ["orders", "orders-0", "0"]
    shutil.rmtree(tmp_path / "orders-0")
    usage.refresh()
    assert usage.at == ["orders"]


def test_rectangles_have_the_areas_of_the_values_and_fill_the_box() -> None:
    values = [60.0, 30, 6, 2, 1, 1]
    rects = squarify(values, Rect(10, 20, 300, 200))
    for value, rect in zip(values, rects, strict=True):
        assert rect.width * rect.height == pytest.approx(value * 600)
        assert rect.left >= 10 - 1e-6
        assert rect.left + rect.width <= 310 + 1e-6
        assert rect.top + rect.height <= 220 + 1e-6
    assert squarify([], Rect(0, 0, 1, 1)) == []
    assert max(rects[0].width / rects[0].height, rects[0].height / rects[0].width) < 2


@pytest.mark.parametrize("suffix", ["2a80b025c5194d9d8899eea2857e4e47-delete", "future", "stray"])
def test_what_is_not_in_use_is_verified_and_has_its_code(suffix: str, tmp_path: Path) -> None:
    """The folder of a deleted topic, of a replica that moves, or of a stray one."""
    name = f"orders-0.{suffix}" if "-" in suffix else f"orders-0.{'a' * 32}-{suffix}"
    shutil.copytree(SHOP / "orders-0", tmp_path / name)
    shutil.copytree(SHOP / "payments-0", tmp_path / "payments-0")
    found = LogExplorer(tmp_path).verify(name)
    assert all(tmp_path / name in (Path(f.path), *Path(f.path).parents) for f in found)
    base = wb.open_log_directory(tmp_path)[name].segments[0].base_offset
    usage = DiskUsage(tmp_path, at=["orders", name, str(base)])
    assert usage.selected["segment"] == base
    table = table_of(usage.query)
    assert set(table["segment"]) >= {base}
    assert len(table)
