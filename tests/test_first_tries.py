"""What an analyst types first, without having read anything: it works, or one line says what does.

The tasks are those of a person who had a log directory and Jupyter; Spark's are in
``tests/spark/test_first_tries.py``.
"""

from operator import attrgetter
from pathlib import Path

import pandas as pd
import pytest

import widgets
import workbench as wb
from workbench.errors import LogDirectoryError

SAMPLES = Path(__file__).parents[1] / "sample_data"


@pytest.fixture(scope="module")
def logs() -> wb.LogDirectory:
    return wb.open_log_directory(SAMPLES / "shop-4.3.1")


def test_1_open() -> None:
    with pytest.raises(LogDirectoryError, match=r"these inside are: .*shop-4\.3\.1"):
        wb.open_log_directory(SAMPLES)


def test_2_segments_with_sizes(logs: wb.LogDirectory) -> None:
    with pytest.raises(AttributeError, match=r"did you mean inspect\.segments\?"):
        _ = logs.segments  # type: ignore[attr-defined]
    assert {"name", "size"} < set(logs.inspect.segments().to_pandas())


def test_3_the_sparse_index_against_its_batches_in_a_widget(logs: wb.LogDirectory) -> None:
    assert widgets.LogExplorer(logs["orders-0"]).selected["partition"] == "orders-0"


def test_4_the_sparse_index_against_its_batches_in_pandas(logs: wb.LogDirectory) -> None:
    index = logs["orders-0"].inspect.offset_index().to_pandas()
    batches = logs["orders-0"].inspect.batches().to_pandas()
    found = index.merge(
        batches, left_on=["segment", "batch_base_offset"], right_on=["segment", "base_offset"]
    )
    assert len(found) == len(index) > 50
    assert (found.position_x == found.position_y).all()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("ManualClock", r"did you mean engine\.ManualClock\?"),
        ("to_tabel", r"did you mean to_table\?"),
        ("engine.MemoryRecord", r"did you mean MemoryRecords\?"),
        ("spark.sesion", r"did you mean session\?"),
    ],
)
def test_a_name_beside_another_is_said(typed: str, said: str) -> None:
    with pytest.raises(AttributeError, match=said):
        attrgetter(typed)(wb)


def test_5_the_time_index(logs: wb.LogDirectory) -> None:
    assert {"timestamp", "offset"} < set(logs.inspect.time_index("orders").to_pandas())


def test_5_a_lookup(logs: wb.LogDirectory) -> None:
    player = widgets.LookupPlayer(logs["orders-0"], 1000)
    assert "offset 1000" in player.title.replace(",", "")


def test_6_what_is_dirty(logs: wb.LogDirectory) -> None:
    with pytest.raises(LogDirectoryError, match="compacted here: customers-0, customers-1"):
        widgets.CleanerView(logs)
    assert widgets.CleanerView(logs["customers-0"]).partition.name == "customers-0"


def test_7_a_data_frame_of_json(logs: wb.LogDirectory) -> None:
    with pytest.raises(AttributeError, match=r"did you mean scan\(\)\.to_pandas\?"):
        _ = logs.to_pandas  # type: ignore[attr-defined]
    frame = logs.scan("orders", columns=["key", "$.total_cents", "$.channel"]).to_pandas()
    assert frame.groupby("$.channel")["$.total_cents"].sum().sum() == 38_551_590
    assert "$.ship_to.city" in logs.scan("orders", decode="json").flatten().to_pandas()


def test_8_bytes_per_hour(logs: wb.LogDirectory) -> None:
    frame = logs.scan("orders", columns=["timestamp", "bytes"]).to_pandas()
    hours = frame.groupby(frame.timestamp.dt.floor("h"))["bytes"].sum()
    first = logs.scan("orders", timestamps=(hours.index[0], hours.index[0] + pd.Timedelta("1h")))
    whole = (len(row["key"]) + len(row["value"]) + _of_headers(row) for row in first)
    assert hours.iloc[0] == sum(whole)


def _of_headers(row: dict[str, list[dict[str, bytes]]]) -> int:
    return sum(len(each["key"]) + len(each["value"]) for each in row["headers"])


def test_10_step_through_a_compaction(logs: wb.LogDirectory) -> None:
    with pytest.raises(LogDirectoryError, match="compacted here: customers-0, customers-1"):
        widgets.CompactionPlayer(logs)
    player = widgets.CompactionPlayer(logs["orders-0"])
    assert player.title.startswith("If it were compacted")
