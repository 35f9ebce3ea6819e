"""The explorer's traits, messages and pictures, without a browser."""

import ast
import dataclasses
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import traitlets

import workbench as wb
from tests.golden.cases import Case
from widgets import LogExplorer
from widgets._widget import error_text
from widgets.explorer.segment_view import SegmentView
from widgets.view.packing import unpack
from workbench.errors import SchemaError
from workbench.log_manager.manager import LogManager

SAMPLES = Path(__file__).parents[2] / "sample_data"
Golden = Callable[[str], Case]
NOTHING = {"partition": None, "segment": None, "position": None, "offset": None}


@pytest.fixture
def logs(golden: Golden) -> wb.LogDirectory:
    return wb.open_log_directory(golden("4.2.0-txn").directory("data"))


class Listener:
    """Keeps what a widget would send to its front end."""

    def __init__(self, explorer: LogExplorer) -> None:
        self.sent: list[dict[str, Any]] = []
        explorer.send = lambda content, buffers=None: self.sent.append(
            content | {"buffers": buffers}
        )


def ask(explorer: LogExplorer, kind: str, **body: Any) -> dict[str, Any]:
    listener = Listener(explorer)
    explorer.receive(explorer, {"kind": kind, "id": 7, **body}, [])
    (answer,) = listener.sent
    assert answer["id"] == 7
    return answer


def view_of(explorer: LogExplorer) -> SegmentView:
    assert explorer.shown is not None
    return explorer.shown


def test_it_opens_a_path_as_well_as_what_was_opened(golden: Golden) -> None:
    directory = golden("4.2.0-txn").directory("data")
    assert (
        LogExplorer(directory).describe()
        == LogExplorer(wb.open_log_directory(directory)).describe()
    )


def test_it_starts_with_the_largest_topic_of_the_users(logs: wb.LogDirectory) -> None:
    chosen = LogExplorer(logs).selected["partition"]
    assert not chosen.startswith("__")
    assert logs[chosen].size == max(p.size for n, p in logs.items() if not n.startswith("__"))


def test_an_option_nobody_knows_is_refused(logs: wb.LogDirectory) -> None:
    with pytest.raises(TypeError, match="LogExplorer: unknown option show_value"):
        LogExplorer(logs, show_value=True)


def test_the_old_spelling_of_color_by_works_and_warns(logs: wb.LogDirectory) -> None:
    with pytest.warns(DeprecationWarning, match="color_by"):
        explorer = LogExplorer(logs, colour_by="producer")
    assert explorer.color_by == "producer"
    with pytest.warns(DeprecationWarning, match="color_by"):
        explorer.colour_by = "epoch"
    assert explorer.color_by == "epoch"
    with pytest.warns(DeprecationWarning, match="color_by"):
        assert explorer.colour_by == "epoch"
    with pytest.warns(DeprecationWarning, match="color_by"), pytest.raises(traitlets.TraitError):
        explorer.colour_by = "red"


def test_an_offset_alone_finds_segment_and_batch(logs: wb.LogDirectory) -> None:
    explorer = LogExplorer(logs, selected={"partition": "txn-b-0", "offset": 20})
    chosen = explorer.selected
    assert chosen["segment"] == 1
    batch = explorer.selected_batch()
    assert batch.position == chosen["position"]
    assert batch.last_offset >= 20
    assert [record.offset for record in explorer.selected_records()] == [20]


def test_a_position_inside_a_batch_becomes_the_batchs_own(logs: wb.LogDirectory) -> None:
    explorer = LogExplorer(logs)
    second = logs["txn-b-0"].segments[1].batches[1]
    explorer.selected = {"partition": "txn-b-0", "segment": 1, "position": second.position + 5}
    assert explorer.selected["position"] == second.position


@pytest.mark.parametrize(
    "wrong",
    [
        {"partition": "nobody-0"},
        {"partition": "txn-b-0", "segment": 12345},
        {"partition": "txn-b-0", "segment": 1, "position": 10**9},
        {"partition": "txn-b-0", "offset": 10**9},
        {"topic": "txn-b"},
    ],
)
def test_a_selection_of_what_is_not_there_is_refused(
    logs: wb.LogDirectory, wrong: dict[str, Any]
) -> None:
    explorer = LogExplorer(logs)
    before = explorer.selected
    with pytest.raises(traitlets.TraitError):
        explorer.selected = wrong
    assert explorer.selected == before


def test_offsets_travel_as_text(logs: wb.LogDirectory) -> None:
    explorer = LogExplorer(logs, selected={"partition": "txn-b-0", "offset": 20})
    sent = explorer.get_state("selected")["selected"]
    assert (sent["segment"], sent["offset"]) == ("1", "20")
    explorer.set_state({"selected": sent | {"offset": "21", "position": None}})
    assert explorer.selected["offset"] == 21


def test_every_batch_is_sent(logs: wb.LogDirectory) -> None:
    explorer = LogExplorer(logs, selected={"partition": "txn-b-0", "segment": 1})
    rows = logs["txn-b-0"].segments[1].batches.rows
    sent = explorer.get_state("_segment")["_segment"]
    for name in ("position", "size", "base_offset", "last_offset", "max_timestamp", "record_count"):
        assert unpack(sent["batches"][name]).tolist() == rows[name].tolist()
    index = logs["txn-b-0"].segments[1].offset_index
    assert index is not None
    assert unpack(sent["offset_index"]["position"]).tolist() == list(index.positions)


def test_pages_of_records_give_every_record_once(logs: wb.LogDirectory) -> None:
    explorer = LogExplorer(logs, selected={"partition": "txn-b-0", "segment": 1})
    total = explorer.get_state("_segment")["_segment"]["rows"]
    offsets = []
    for start in range(0, total, 7):
        page = ask(
            explorer, "records", partition="txn-b-0", segment="1", start=start, stop=start + 7
        )
        offsets += [int(row[0]) for row in page["rows"]]
    assert len(offsets) == total
    assert offsets == sorted(set(offsets))


def test_a_question_about_what_is_no_longer_selected_gets_nothing(logs: wb.LogDirectory) -> None:
    explorer = LogExplorer(logs, selected={"partition": "txn-b-0", "segment": 1})
    assert ask(explorer, "records", partition="txn-b-0", segment="0", start=0, stop=9)["rows"] == []


@pytest.mark.parametrize(("start", "stop"), [(0, 5000), (-1, 5), (5, 5)])
def test_a_page_of_senseless_size_is_refused(logs: wb.LogDirectory, start: int, stop: int) -> None:
    explorer = LogExplorer(logs, selected={"partition": "txn-b-0", "segment": 1})
    answer = ask(explorer, "records", partition="txn-b-0", segment="1", start=start, stop=stop)
    assert answer["rows"] == []


def test_no_value_leaves_the_kernel_while_values_are_hidden(golden: Golden) -> None:
    case = golden("4.2.0-plain-java")
    logs = wb.open_log_directory(case.directory("data"))
    explorer = LogExplorer(logs, selected={"partition": "java-none-0"})
    secrets = [
        record.value
        for record in _records(explorer)
        if record.value is not None and len(record.value) > 8
    ]
    assert secrets
    sent = str(explorer.get_state())
    for secret in secrets:
        assert secret.decode("latin-1") not in sent
        assert secret.hex() not in sent
    shown = str(
        LogExplorer(logs, selected={"partition": "java-none-0"}, show_values=True).get_state()
    )
    assert secrets[0].decode("latin-1") in shown


def _records(explorer: LogExplorer) -> list[Any]:
    window = view_of(explorer).records
    return list(window.read(0, len(window)))


def test_control_records_are_shown_in_words_even_while_values_are_hidden(
    logs: wb.LogDirectory,
) -> None:
    explorer = LogExplorer(logs, selected={"partition": "txn-b-0", "segment": 1})
    view = view_of(explorer)
    rows = view.page(0, 1000, explorer.lens)
    markers = {row[3][0] for row in rows if row[3][1] == "control"}
    assert markers == {f"{kind} marker, coordinator epoch 0" for kind in ("abort", "commit")}
    position = next(int(row["position"]) for row in view.rows if row["is_control"])
    answer = ask(
        explorer,
        "bytes",
        partition="txn-b-0",
        segment="1",
        position=position,
        inside=False,
        start=0,
        stop=200,
    )
    assert answer["masks"] == []
    assert any("coordinator epoch 0" in field["note"] for field in answer["fields"])


def test_what_a_batch_decompresses_to_is_shown_with_its_fields(golden: Golden) -> None:
    logs = wb.open_log_directory(golden("4.2.0-plain-java").directory("data"))
    explorer = LogExplorer(logs, selected={"partition": "java-gzip-0"}, show_values=True)
    position = logs["java-gzip-0"].segments[0].batches[1].position
    body = {"partition": "java-gzip-0", "segment": "0", "position": position, "start": 0}
    disk = ask(explorer, "bytes", inside=False, stop=61, **body)
    inner = ask(explorer, "bytes", inside=True, stop=disk["decompressed_size"], **body)
    values = [field["value"] for field in inner["fields"] if field["name"] == "value"]
    assert values
    assert any(value.encode() in inner["buffers"][0] for value in values)


def test_a_records_bytes_are_found(golden: Golden) -> None:
    logs = wb.open_log_directory(golden("4.2.0-plain-java").directory("data"))
    explorer = LogExplorer(logs, selected={"partition": "java-none-0"}, show_values=True)
    record = _records(explorer)[2]
    answer = ask(explorer, "row", partition="java-none-0", segment="0", offset=str(record.offset))
    inside, start, size = answer["place"]
    assert answer["row"] == 2
    assert inside is False
    explained = view_of(explorer).explained(view_of(explorer).rows["position"][record.batch])
    assert (record.value or b"") in explained.batch.data[start : start + size]


def test_what_became_of_transactions_is_told(logs: wb.LogDirectory) -> None:
    explorer = LogExplorer(logs, selected={"partition": "txn-b-0", "segment": 1})
    fates = unpack(explorer.get_state("_segment")["_segment"]["fates"])
    assert set(fates) >= {0, 1, 2}
    answer = ask(explorer, "fates", partition="txn-b-0", segment="1")
    assert unpack(answer["column"] | {"data": answer["buffers"][0]}).tolist() == fates.tolist()


def test_a_time_leads_to_the_first_record_at_or_after_it(logs: wb.LogDirectory) -> None:
    explorer = LogExplorer(logs, selected={"partition": "txn-b-0"})
    ask(explorer, "go", text="2023-11-14 22:13:21.030", partition="txn-b-0")
    assert explorer.selected["offset"] == logs["txn-b-0"].offset_for_timestamp(1_700_000_001_030)


def test_what_cannot_be_gone_to_is_said_in_the_widget(logs: wb.LogDirectory) -> None:
    explorer = LogExplorer(logs, selected={"partition": "txn-b-0"})
    answer = ask(explorer, "go", text="soon", partition="txn-b-0")
    assert answer["kind"] == "error"
    assert "neither an offset nor a time" in answer["text"]
    assert explorer.get_state("_error")["_error"] == answer["text"]
    ask(explorer, "go", text="12", partition="txn-b-0")
    assert explorer.get_state("_error")["_error"] == ""


def test_a_message_nobody_knows_is_answered_with_an_error(logs: wb.LogDirectory) -> None:
    assert ask(LogExplorer(logs), "format_disk")["kind"] == "error"


def test_a_wrong_selection_of_the_front_end_is_shown_not_lost(logs: wb.LogDirectory) -> None:
    explorer = LogExplorer(logs)
    explorer.set_state({"selected": {"partition": "nobody-0"}})
    assert "nobody-0" in explorer.get_state("_error")["_error"]
    assert isinstance(explorer.last_error, traitlets.TraitError)


def test_verify_marks_the_partition_segment_and_batch(golden: Golden) -> None:
    logs = wb.open_log_directory(golden("4.2.0-damage-unclean").directory("before"))
    explorer = LogExplorer(logs, selected={"partition": "dmg-flip-value-0", "segment": 32})
    found = explorer.verify()
    assert found
    state = explorer.get_state()
    assert state["_verified"] == ["dmg-flip-value-0"]
    assert state["_findings"][0]["segment"] == "32"
    assert state["_strip"]["findings"] == [0, len(found), 0]
    assert state["_counts"] == {"dmg-flip-value-0": {"error": len(found)}}


def test_a_wrong_crc_is_marked_as_soon_as_the_segment_is_opened(golden: Golden) -> None:
    logs = wb.open_log_directory(golden("4.2.0-damage-unclean").directory("before"))
    explorer = LogExplorer(logs, selected={"partition": "dmg-flip-value-0", "segment": 32})
    sent = explorer.get_state("_segment")["_segment"]
    problem = unpack(sent["batches"]["problem"])
    assert (problem != 0).tolist() == [False, False, True, False, False, False, False]
    assert sent["problem_words"][str(problem[2])] == "the CRC does not match"
    lost = [row for row in sent["head"] if row[6]]
    assert len(lost) == 4
    assert len(sent["head"]) == sent["rows"] == 28


@pytest.mark.parametrize(
    ("topic", "stop"),
    [
        ("dmg-tail-zeros", "zeros"),
        ("dmg-cut-last-17", "unfinished batch"),
    ],
)
def test_the_end_of_a_damaged_file_is_named(golden: Golden, topic: str, stop: str) -> None:
    logs = wb.open_log_directory(golden("4.2.0-damage-unclean").directory("before"))
    stops = set()
    for segment in logs[f"{topic}-0"].segments:
        explorer = LogExplorer(
            logs, selected={"partition": f"{topic}-0", "segment": segment.base_offset}
        )
        stops.add(explorer.get_state("_segment")["_segment"]["stop"])
    assert stop in stops


def test_what_follows_a_batch_with_a_bad_size_is_in_the_map(golden: Golden) -> None:
    logs = wb.open_log_directory(golden("4.2.0-damage-unclean").directory("before"))
    holes = []
    for segment in logs["dmg-length-0-0"].segments:
        explorer = LogExplorer(
            logs, selected={"partition": "dmg-length-0-0", "segment": segment.base_offset}
        )
        shown = explorer.get_state("_segment")["_segment"]
        rows = segment.batches.rows
        assert (shown["rows"], shown["stop"]) == (rows["record_count"].sum(), "end")
        assert shown["valid_size"] == segment.size
        ends = rows["position"] + rows["size"]
        holes += [segment.base_offset] * int((rows["position"][1:] > ends[:-1]).sum())
    assert holes == [32]


def test_garbage_after_zeros_is_not_called_preallocated(golden: Golden, tmp_path: Path) -> None:
    source = golden("4.2.0-damage-unclean").directory("before") / "dmg-cut-last-17-0"
    folder = shutil.copytree(source, tmp_path / "dmg-cut-last-17-0")
    log = min(folder.glob("*.log"))
    whole = log.read_bytes()
    for rest, stop in ((bytes(9000), "zeros"), (bytes(9000) + b"garbage", "bad size")):
        log.write_bytes(whole + rest)
        logs = wb.open_log_directory(tmp_path)
        explorer = LogExplorer(logs, selected={"partition": folder.name, "segment": int(log.stem)})
        assert explorer.get_state("_segment")["_segment"]["stop"] == stop


def test_the_findings_query_gives_those_of_its_partition_alone(tmp_path: Path) -> None:
    data = tmp_path / "partition = of mine"
    with LogManager([data]) as manager:
        for number in (1, 10):
            manager.get_or_create_log("orders", number).append([(b"key", b"value")])
            (data / f"orders-{number}" / "leader-epoch-checkpoint").write_text("garbage")
    explorer = LogExplorer(data, selected={"partition": "orders-1"})
    module = ast.parse(explorer.query["findings"])
    assert isinstance(module.body[-1], ast.Expr)
    names: dict[str, Any] = {}
    exec(compile(ast.Module(module.body[:-1], []), "query", "exec"), names)  # noqa: S102
    found = eval(compile(ast.Expression(module.body[-1].value), "query", "eval"), names)  # noqa: S307
    assert {os.path.dirname(each.path) for each in found} == {str(data / "orders-1")}


def test_every_segment_of_every_damaged_directory_can_be_shown(golden: Golden) -> None:
    logs = wb.open_log_directory(golden("4.2.0-damage-unclean").directory("before"))
    for name, partition in logs.items():
        for segment in partition.segments:
            explorer = LogExplorer(
                logs, selected={"partition": name, "segment": segment.base_offset}, static=False
            )
            sent = explorer.get_state("_segment")["_segment"]
            assert len(sent["head"]) == min(200, sent["rows"])
            for position in unpack(sent["batches"]["position"]).tolist():
                view_of(explorer).explained(position)


def test_old_formats_are_shown_too(golden: Golden) -> None:
    case = golden("k0.10.0-formats")
    logs = wb.open_log_directory(case.directory(case.labels[0]))
    for name, partition in logs.items():
        for segment in partition.segments:
            explorer = LogExplorer(
                logs, selected={"partition": name, "segment": segment.base_offset}
            )
            sent = explorer.get_state("_segment")["_segment"]
            assert len(view_of(explorer).page(0, sent["rows"], explorer.lens)) == sent["rows"]


VIEWS = "directory segments batches offset_index time_index records bytes findings"


@pytest.mark.parametrize("view", VIEWS.split())
def test_the_python_of_every_view_can_be_run(logs: wb.LogDirectory, view: str) -> None:
    explorer = LogExplorer(logs, selected={"partition": "txn-b-0", "offset": 20})
    *lines, last = explorer.query[view].splitlines()
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)  # noqa: S102 - this is what the copied text is for
    result = eval(last, names)  # noqa: S307
    if view == "records":
        assert result["offset"].tolist() == [20]
    if view == "batches":
        assert result == explorer.selected_batch()
    if view == "directory":
        assert list(result) == list(logs)


def test_refresh_sees_what_was_written_since(golden: Golden, tmp_path: Path) -> None:
    source = golden("4.2.0-txn").directory("data") / "txn-b-0"
    target = tmp_path / "txn-b-0"
    target.mkdir()
    for file in sorted(source.iterdir())[:4]:
        (target / file.name).write_bytes(file.read_bytes())
    explorer = LogExplorer(tmp_path)
    before = explorer.get_state("_strip")["_strip"]
    for file in source.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    ask(explorer, "refresh")
    after = explorer.get_state("_strip")["_strip"]
    assert len(after["size"]) > len(before["size"])
    assert explorer.selected["partition"] == "txn-b-0"


def test_a_finding_is_gone_to(golden: Golden) -> None:
    logs = wb.open_log_directory(golden("4.2.0-damage-unclean").directory("before"))
    explorer = LogExplorer(logs)
    finding = next(each for each in logs.verify() if "dmg-flip-value-0" in each.path)
    explorer.show(finding)
    chosen = explorer.selected
    assert (chosen["partition"], chosen["segment"]) == ("dmg-flip-value-0", 32)
    assert chosen["position"] <= (finding.position or 0)
    elsewhere = dataclasses.replace(finding, path="/elsewhere/x.log")
    with pytest.raises(ValueError, match="is not in any partition"):
        explorer.show(elsewhere)


def test_an_empty_directory_is_no_error(tmp_path: Path) -> None:
    explorer = LogExplorer(tmp_path)
    assert explorer.selected == NOTHING
    assert explorer.to_png().startswith(b"\x89PNG")


def test_a_saved_notebook_gets_a_picture_and_a_line_of_text(logs: wb.LogDirectory) -> None:
    explorer = LogExplorer(logs, selected={"partition": "txn-b-0", "segment": 1})
    bundle = explorer._repr_mimebundle_()
    assert bundle is not None
    data, _ = bundle
    assert data["image/png"].startswith(b"\x89PNG")
    assert data["text/plain"].startswith("LogExplorer(data: 6 topics")
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "text/html" not in data
    assert "image/png" not in (LogExplorer(logs, static=False)._repr_mimebundle_() or ({}, {}))[0]


def test_the_picture_is_the_same_for_the_same_view(logs: wb.LogDirectory) -> None:
    chosen = {"partition": "txn-b-0", "segment": 1}
    assert (
        LogExplorer(logs, selected=chosen).to_png() == LogExplorer(logs, selected=chosen).to_png()
    )


def test_matplotlib_is_not_imported_before_a_picture_is_asked_for() -> None:
    code = "import sys, widgets; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no such offset"), "no such offset"),
        (KeyError("orders-0"), "orders-0"),
        (RuntimeError(), "the widget failed (RuntimeError)"),
    ],
)
def test_an_error_is_shown_without_pythons_name_of_it(error: Exception, text: str) -> None:
    assert error_text(error) == text


def test_records_are_shown_decoded() -> None:
    logs = wb.open_log_directory(SAMPLES / "registry-4.3.1")
    explorer = LogExplorer(logs, show_values=True, decode={"value": "registry", "key": "avro"})
    shown = {}
    for topic in ("orders", "payments", "clicks", "late"):
        explorer.selected = {"partition": f"{topic}-0"}
        shown[topic] = [row[2:4] for row in explorer.get_state("_segment")["_segment"]["head"]]
    assert shown["orders"][1] == [["2", "text"], ['{"id": 2, "text": "grün", "at": null}', "text"]]
    assert shown["orders"][4][1] == ["not framed", "text"]
    assert '"state": "PAID"' in shown["payments"][0][1][0]
    assert '"page": "/"' in shown["clicks"][0][1][0]
    assert '"in a header"' in shown["late"][0][1][0]
    hidden = LogExplorer(logs, selected={"partition": "orders-0"}, decode={"value": "registry"})
    assert "tea" not in str(hidden.get_state("_segment"))
    masked = LogExplorer(
        logs, selected={"partition": "orders-0"}, show_values=True, mask=lambda *_: b"x",
        decode={"value": "registry"},
    )  # fmt: skip
    assert "tea" not in str(masked.get_state("_segment"))


def test_a_format_that_a_topic_does_not_have_leaves_its_bytes() -> None:
    logs = wb.open_log_directory(SAMPLES / "shop-4.3.1")
    explorer = LogExplorer(
        logs, show_values=True, decode={"value": "avro"}, selected={"partition": "orders-0"}
    )
    assert explorer.get_state("_segment")["_segment"]["head"][0][3][0].startswith("{")
    with pytest.raises(SchemaError, match="no column 'headers' to decode"):
        LogExplorer(logs, decode={"headers": "utf8"})


def test_kafkas_own_topics_are_decoded() -> None:
    logs = wb.open_log_directory(SAMPLES / "shop-4.3.1")
    explorer = LogExplorer(logs, show_values=True, selected={"partition": "__consumer_offsets-1"})
    assert any("group" in row[2][0] for row in explorer.get_state("_segment")["_segment"]["head"])


@pytest.mark.parametrize("name", ["$\\frac{$", "a$b$c^{", "\x1b[31m"])
def test_a_path_that_looks_like_a_formula_is_drawn(tmp_path: Path, name: str) -> None:
    shutil.copytree(SAMPLES / "shop-4.3.1" / "orders-0", tmp_path / name / "orders-0")
    explorer = LogExplorer(tmp_path / name)
    explorer.selected = {"partition": "orders-0", "segment": 0}
    assert explorer.to_png().startswith(b"\x89PNG")


def test_every_picture_draws_names_as_plain_text() -> None:
    """They are drawn on sheets, which see to it: only `charts` has figures, those of users."""
    folder = Path(__file__).parents[2] / "widgets"
    texts = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.py")}
    assert [name for name, text in sorted(texts.items()) if "savefig(" in text] == [
        "charts.py",
        "pictures.py",
    ]
    assert [name for name, text in texts.items() if "Figure(" in text] == ["pictures.py"]
