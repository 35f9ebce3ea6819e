"""What a person has in hand goes into every public name, or one sentence says what does."""

import inspect
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import pytest

import widgets
import workbench as wb
from widgets.replication.replica_lanes import UnknownNameError
from workbench.errors import LogDirectoryError, WorkbenchError

SAMPLES: Final = Path(__file__).parents[1] / "sample_data"
SHOP: Final = SAMPLES / "shop-4.3.1"

LOOKS: Final = {"CheckpointTable", "ClusterView", "DiskUsage", "FindingView", "GroupView",
                "LogExplorer", "Overview", "RecordBrowser", "SqlBox", "TransactionLanes",
                "WhatIfView", "Workbench", "open_log_directory", "serve", "verify",
                "what_if"}  # fmt: skip
"""What takes everything."""
ONE_PARTITION: Final = {"CleanerView", "CompactionPlayer", "RecoveryPlayer", "RetentionView"}
"""What takes everything that has one such partition."""
RESULTS: Final = {"Finding", "FindingList", "Partition", "Segment", "Topic"}
"""What calls return; nobody makes one."""


@pytest.fixture(scope="module")
def logs() -> wb.LogDirectory:
    return wb.open_log_directory(SHOP)


def in_hand(logs: wb.LogDirectory) -> dict[str, Any]:
    """Return every kind of object, by what it is."""
    return {
        "directory": logs,
        "topic": logs["customers"],
        "partition": logs["customers-0"],
        "segment": logs["customers-0"].segments[1],
        "path": SHOP,
        "text": str(SHOP / "customers-0"),
    }


def names() -> Iterator[Any]:
    for module in (wb, widgets):
        for name in module.__all__:
            thing = getattr(module, name)
            is_error = inspect.isclass(thing) and issubclass(thing, BaseException)
            if callable(thing) and not is_error and name not in RESULTS:
                yield pytest.param(thing, id=name)


def called(thing: Any, given: Any, to: Path) -> Any:
    more: dict[str, list[Any]] = {"what_if": [{"retention.ms": 1}], "LookupPlayer": []}
    for each in ("compact", "recover", "retain", "to_table"):
        more[each] = [to]
    options = {"offset": 3} if thing.__name__ == "LookupPlayer" else {}
    return thing(given, *more.get(thing.__name__, []), **options)


@pytest.mark.parametrize("thing", list(names()))
def test_every_object_goes_into_every_name(
    thing: Any, logs: wb.LogDirectory, tmp_path: Path
) -> None:
    name = thing.__name__
    if not inspect.signature(thing).parameters:
        return
    for kind, given in in_hand(logs).items():
        is_one = name in ONE_PARTITION and kind in {"partition", "segment", "text"}
        try:
            made = called(thing, given, tmp_path / kind)
        except (WorkbenchError, UnknownNameError) as error:  # one sentence
            refused = str(error)
        else:
            refused = ""
            if hasattr(made, "close"):
                made.close()
        assert not refused or (name not in LOOKS and not is_one), (kind, refused)


@pytest.mark.parametrize(
    ("widget", "given", "said"),
    [
        ("CleanerView", "customers", "compacted here: customers-0, customers-1"),
        ("CompactionPlayer", None, "compacted here: customers-0, customers-1, __"),
        ("RetentionView", "orders", "here: orders-0, orders-1, orders-2"),
    ],
)
def test_what_shows_one_partition_says_which_are_here(
    widget: str, given: str | None, said: str, logs: wb.LogDirectory
) -> None:
    with pytest.raises(LogDirectoryError, match=f"{widget} shows one partition; {said}"):
        getattr(widgets, widget)(logs if given is None else logs[given])


def test_a_topic_is_shown_without_the_others(logs: wb.LogDirectory) -> None:
    assert set(widgets.LogExplorer(logs["customers"]).logs) == {"customers-0", "customers-1"}
    assert set(wb.open_log_directory([logs["orders-0"], SHOP / "orders-1"])) == {
        "orders-0",
        "orders-1",
    }
    assert wb.open_log_directory(logs) is logs
    assert wb.verify(logs["customers-0"], info=True) == wb.verify(SHOP / "customers-0", info=True)


def test_names_that_are_in_a_log_beside_what_is_given_are_there(logs: wb.LogDirectory) -> None:
    for given, shown in ((logs["payments-0"], 1), (logs["payments"], 2)):
        lanes = widgets.TransactionLanes(given)
        assert list(lanes.partitions) == ["payments-0", "payments-1"][:shown]
        names = [lane["name"] for lane in lanes.get_state("_shown")["_shown"]["lanes"]]
        assert names == ["payments-eu", "payments-us"]
        assert lanes.open_producers.num_rows == 1
    alone = wb.open_log_directory(SHOP / "payments-0")["payments-0"]
    assert set(widgets.TransactionLanes(alone).partitions) == {"payments-0"}
    assert "order-dashboard" in widgets.GroupView(logs["orders-0"]).groups


def test_a_segment_is_the_one_that_is_selected(logs: wb.LogDirectory) -> None:
    segment = logs["customers-0"].segments[2]
    selected = widgets.LogExplorer(segment).selected
    assert (selected["partition"], selected["segment"]) == ("customers-0", segment.base_offset)


def test_a_log_that_is_not_compacted_is_played_as_if_it_were(logs: wb.LogDirectory) -> None:
    assert widgets.CompactionPlayer(logs["orders-0"]).title.startswith("If it were compacted")
    assert widgets.CompactionPlayer(logs["customers-0"]).title == "Clean customers-0"


def test_a_folder_above_log_directories_names_them() -> None:
    with pytest.raises(
        LogDirectoryError, match="no log directory, but these inside are: "
    ) as caught:
        wb.open_log_directory(SAMPLES)
    for name in ("damaged", "shop-4.3.1", "era-0.8.2.2"):
        assert name in str(caught.value)
    assert "make" not in str(caught.value).split(": ")[-1].split(", ")
    with pytest.raises(LogDirectoryError, match="these inside are: "):
        widgets.LogExplorer(SAMPLES)


def test_a_topic_and_a_partition_have_the_tables_of_their_logs(logs: wb.LogDirectory) -> None:
    for name in ("batches", "offset_index", "time_index", "segments"):
        whole = getattr(logs.inspect, name)
        assert getattr(logs["orders-0"].inspect, name)().equals(whole(partitions="orders-0"))
        assert getattr(logs["orders"].inspect, name)().equals(whole(topics="orders"))


def test_an_index_says_where_its_table_is(logs: wb.LogDirectory) -> None:
    segment = logs["orders-0"].segments[0]
    for table in ("offset_index", "time_index"):
        with pytest.raises(AttributeError, match=rf"logs\.inspect\.{table}\(\) is an Arrow table"):
            _ = getattr(segment, table).to_pandas
        assert not hasattr(getattr(segment, table), "nothing")


def test_an_option_that_a_call_does_not_have_is_said_and_which_it_has(
    logs: wb.LogDirectory,
) -> None:
    tables = [getattr(logs.inspect, name) for name in dir(logs.inspect) if name[0] != "_"]
    calls = [logs.verify, logs.report, logs.explain_cleaning, logs["orders"].verify, wb.verify]
    for call in [*tables, *calls]:
        with pytest.raises(TypeError, match=rf"^unknown option 'segmnt' of {call.__name__}"):
            call(segmnt=0)
    with pytest.raises(TypeError, match=r"one segment is logs\[.*\]\.segments\[0\]"):
        logs.inspect.batches("orders", segment=0)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"unknown option show_value; did you mean show_values\?"):
        widgets.LogExplorer(logs, show_value=True)


@pytest.mark.parametrize(
    ("call", "options", "said"),
    [
        ("inspect.batches", {"workers": "four"}, "batches: workers is 'four', not a whole number"),
        ("inspect.batches", {"partitions": 1.5}, "partitions is 1.5, not several, a whole number"),
        ("inspect.commits", {"group": 3}, "commits: group is 3, not text or None"),
        ("scan", {"limit": "ten"}, "limit is 'ten', not a whole number or None"),
        ("scan", {"where": 3}, "the query is 3, not text or a Query"),
        ("scan", {"mask": 3}, "mask is 3, not a rule"),
        ("explain_cleaning", {"config": 3}, "config is 3, not a mapping or None"),
    ],
)
def test_an_argument_of_another_type_is_said(
    call: str, options: dict[str, Any], said: str, logs: wb.LogDirectory
) -> None:
    with pytest.raises(TypeError, match=said):
        attrgetter(call)(logs)(**options)


def test_a_group_that_is_not_there_is_said_and_which_was_meant(logs: wb.LogDirectory) -> None:
    meant, typed = r"did you mean order-dashboard\?", "order-dashbord"
    for name in ("commits", "deliveries", "group_offsets", "rebalances"):
        with pytest.raises(LookupError, match=meant):
            getattr(logs.inspect, name)(typed)
    with pytest.raises(LookupError, match=meant):
        widgets.GroupView(logs, group=typed)
    assert "did you mean order-dashboard?" in str(logs.explain_group(typed))
    assert "did you mean payments-eu?" in str(logs.explain_transaction("payments-e"))
