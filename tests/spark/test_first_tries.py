"""What an analyst types first in Spark: it works, or the first line of the error says what does."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException

import workbench as wb

pytestmark = pytest.mark.spark

SHOP = str(Path(__file__).parents[2] / "sample_data" / "shop-4.3.1")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("topic", "orders", "unknown option 'topic' of kafka-log; did you mean subscribe?"),
        ("subscribe", "order", "unknown topic order; did you mean orders?"),
        ("columns", "vlaue", "unknown column vlaue; did you mean value?"),
    ],
)
def test_9_what_is_wrong_with_an_option_is_in_the_first_line(
    name: str, value: str, said: str, spark: Any
) -> None:
    with pytest.raises(AnalysisException) as caught:
        spark.read.format("kafka-log").option(name, value).load(SHOP).count()
    assert said in str(caught.value).splitlines()[0]


def test_9_a_scan_is_a_data_frame_of_spark(spark: Any) -> None:
    columns = ["timestamp", "key", "value", "headers", "$.total_cents", "bytes"]
    scan = wb.open_log_directory(SHOP).scan("orders", columns=columns, limit=500)
    frame = scan.to_spark(spark)
    assert frame.columns == columns
    sums = frame.selectExpr("sum(`$.total_cents`)", "sum(value.total_cents)", "count(*)").first()
    assert sums[0] == sums[1] == sum(scan.to_arrow()["$.total_cents"].to_pylist())
    assert sums[2] == 500
