"""Fields of values as columns of a scan, and the bytes of records."""

import json
from pathlib import Path

import pytest

import workbench as wb

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


@pytest.fixture(scope="module")
def logs() -> wb.LogDirectory:
    return wb.open_log_directory(SHOP)


def test_fields_are_columns_with_the_values_of_the_json(logs: wb.LogDirectory) -> None:
    asked = ["offset", "$.total_cents", "$.ship_to.city", "$.items", "$.customer_id"]
    found = logs.scan("orders", columns=asked).to_pylist()
    values = [json.loads(row["value"]) for row in logs.scan("orders", columns="value")]
    assert list(found[0]) == asked
    assert [row["$.total_cents"] for row in found] == [each["total_cents"] for each in values]
    assert [row["$.ship_to.city"] for row in found] == [
        (each.get("ship_to") or {}).get("city") for each in values
    ]
    assert [row["$.items"] for row in found] == [each["items"] for each in values]


def test_flatten_names_all_fields_in_the_place_of_the_value(logs: wb.LogDirectory) -> None:
    flat = logs.scan("orders", columns=["offset", "value", "bytes"]).flatten()
    assert flat.columns[0] == "offset"
    assert flat.columns[-1] == "bytes"
    assert {"$.ship_to.city", "$.items", "$.total_cents"} < set(flat.columns)
    with_query = flat.filter("$.total_cents>5000").select("$.total_cents").to_arrow()
    assert min(with_query["$.total_cents"].to_pylist()) > 5000
    with pytest.raises(LookupError, match="no column value to flatten; columns: offset"):
        flat.select("offset").flatten()


def test_a_mask_holds_for_a_field_that_is_a_column(logs: wb.LogDirectory) -> None:
    scan = logs.scan("orders", columns="$.customer_id", mask="orders value.customer_id first 1")
    assert set(scan.to_arrow()["$.customer_id"].to_pylist()) == {"C"}


def test_bytes_are_those_of_key_value_and_headers(logs: wb.LogDirectory) -> None:
    for topic in ("orders", "customers", "payments"):
        scan = logs.scan(topic, isolation_level="read_uncommitted")
        sizes = [
            len(row["key"] or b"")
            + len(row["value"] or b"")
            + sum(len(each["key"].encode()) + len(each["value"] or b"") for each in row["headers"])
            for row in scan
        ]
        assert scan.select("bytes").to_arrow()["bytes"].to_pylist() == sizes


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("$.total_cent", r"no value has a field \$.total_cent; did you mean \$.total_cents\?"),
        ("value.total_cents", r"unknown column value.total_cents; did you mean \$.total_cents\?"),
        ("$.items.sku", r"\$.items.sku leads into a list; take the list whole, before .sku"),
        ("$.items[0]", r"\$.items\[0\] is not a column: "),
        ("$", r"\$ is not a column: "),
        ("vlaue", r"unknown column vlaue; did you mean value\?"),
    ],
)
def test_a_column_that_is_not_there_has_a_hint(
    column: str, said: str, logs: wb.LogDirectory
) -> None:
    with pytest.raises(LookupError, match=said):
        logs.scan("orders", columns=column).to_arrow()


def test_values_without_fields_are_told(logs: wb.LogDirectory) -> None:
    with pytest.raises(LookupError, match="values are large_string; decode= says how"):
        logs.scan("orders", columns="$.a", decode="utf8").to_arrow()


def test_a_partition_that_is_asked_for_as_a_topic_is_named(logs: wb.LogDirectory) -> None:
    with pytest.raises(LookupError, match="orders-0, which is a partition: partitions='orders-0'"):
        logs.inspect.offset_index("orders-0")
