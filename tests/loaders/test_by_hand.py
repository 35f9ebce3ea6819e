"""Files that may be deleted by hand: without them, a broker starts with the same logs."""

import shutil
from pathlib import Path

import pytest

import workbench as wb
from tests.cli.program import run
from tests.golden.cases import open_case
from workbench.files import names

DAMAGED = Path(__file__).parents[2] / "sample_data" / "damaged"


def _started(data: Path) -> dict[str, list[int]]:
    """Return the offsets of each partition's records after the engine has started on them."""
    with wb.LogManager([data]):
        pass
    found: dict[str, list[int]] = {}
    logs = wb.open_log_directory(data)
    for name, partition in logs.items():
        if partition.kind == "log":
            scan = logs.scan(partitions=name, columns=["offset"])
            found[name] = scan.to_arrow()["offset"].to_pylist()
    return found


@pytest.mark.parametrize(
    "name", ["k0.10.2-interrupted-swap", "4.2.0-crash-cleaning", "3.9.1-crash-cleaning"]
)
def test_what_may_go_is_what_a_start_does_without(name: str, tmp_path: Path) -> None:
    case = open_case(name, tmp_path / "case")
    removed = 0
    for label in case.labels:
        data, without = tmp_path / "data", tmp_path / "without"
        for each in (data, without):
            shutil.rmtree(each, ignore_errors=True)
            shutil.copytree(case.directory(label), each)
        for row in wb.open_log_directory(without).inspect.files().to_pylist():
            if row["by_hand"] == "yes":
                (without / (row["folder"] or "") / row["name"]).unlink()
                removed += 1
        assert _started(without) == _started(data)
    assert removed or "swap" in name


def test_every_file_of_a_broker_has_a_reason() -> None:
    rows = wb.open_log_directory(DAMAGED).inspect.files().to_pylist()
    verdicts = {(row["folder"], row["name"]): row["by_hand"] for row in rows}
    assert verdicts["leftovers-0", f"{0:020}.log.deleted"] == "yes"
    assert verdicts["leftovers-0", f"{0:020}.log.swap"] == "look"  # beside a .cleaned
    assert verdicts["leftovers-0", "notes.txt"] == "look"
    assert verdicts[None, names.META_PROPERTIES] == "no"
    assert {row["by_hand"] for row in rows if row["kind"] == "log"} == {"no"}
    assert all(row["why"] for row in rows)


def test_an_index_beside_the_swap_of_its_log_is_kept(tmp_path: Path) -> None:
    """A broker of 4.1.1 completed the swap, and kept the index."""
    data = tmp_path / "damaged"
    shutil.copytree(DAMAGED, data)
    log = min((data / "healthy-0").glob("*.log"))
    log.rename(f"{log}.swap")
    rows = wb.open_log_directory(data).inspect.files().to_pylist()
    index = {row["name"]: row["by_hand"] for row in rows if row["folder"] == "healthy-0"}
    assert index[f"{log.stem}.index"] == "no"
    log.with_suffix(".log.cleaned").touch()  # 4.1.1 deleted swap and index then
    rows = wb.open_log_directory(data).inspect.files().to_pylist()
    index = {row["name"]: row["by_hand"] for row in rows if row["folder"] == "healthy-0"}
    assert (index[f"{log.stem}.index"], index[f"{log.name}.swap"]) == ("yes", "look")
    log.with_suffix(".log.cleaned").unlink()
    log.with_suffix(".log.swap").unlink()
    rows = wb.open_log_directory(data).inspect.files().to_pylist()
    index = {row["name"]: row["by_hand"] for row in rows if row["folder"] == "healthy-0"}
    assert index[f"{log.stem}.index"] == "yes"


def test_the_command_names_what_may_go_first() -> None:
    shown = run("ls", DAMAGED, "--files").out.splitlines()
    assert [line.split()[0] for line in shown[1:4]] == ["yes", "yes", "look"]
    rows = run("ls", DAMAGED, "--files", "--json", "-p", "leftovers-0").json
    assert {row["folder"] for row in rows} == {"leftovers-0"}
    assert sum(row["by_hand"] == "yes" for row in rows) == 2
