"""The planted directory is the same in Spark; `test_reader_in_java` runs this once more in Java."""

import os
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.every_road import COLUMNS, EVERYTHING, SOUND, plant, require_same, rows_of, wanted
from tests.pipelines.planted import Place
from tests.spark.conftest import IN_JAVA
from workbench.pipelines import to_table

pytestmark = pytest.mark.spark
OPTIONS = {"kafka.isolation.level": "read_committed", "includeHeaders": "true"}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("every") / "logs")


def load(spark: Any, logs: Path, **options: str) -> Any:
    return spark.read.format("kafka-log").options(**OPTIONS, **options).load(str(logs))


def test_spark_gives_what_a_consumer_gets(spark: Any, logs: Path) -> None:
    """Damage and older magics are read in Python."""
    require_same(rows_of(load(spark, logs, onCorrupt="skip").toArrow()), wanted(EVERYTHING))


def test_sound_logs_of_today_are_read_by_the_reader_that_was_asked_for(
    spark: Any, logs: Path
) -> None:
    frame = load(spark, logs, subscribe=",".join(SOUND))
    plan = frame._jdf.queryExecution().executedPlan().toString()  # noqa: SLF001 - Spark has no other way
    assert ("read in Java" in plan) == (IN_JAVA in os.environ)
    require_same(rows_of(frame.toArrow()), wanted(SOUND))


def test_decoded_values_are_those_of_a_scan(spark: Any, logs: Path) -> None:
    frame = load(spark, logs, subscribe="json", decode='{"value": "json"}')
    found = frame.toArrow().sort_by("offset")["value"].to_pylist()
    scan = wb.open_log_directory(logs).scan("json", columns=["value"], decode="json")
    assert found == scan.to_arrow()["value"].to_pylist()


@pytest.mark.parametrize(
    "form", ["parquet", *(pytest.param(n, marks=pytest.mark.long) for n in ("delta", "iceberg"))]
)
@pytest.mark.filterwarnings("ignore::workbench.errors.CorruptDataWarning")
def test_a_table_of_tasks_has_what_a_consumer_gets(
    spark: Any, logs: Path, tmp_path: Path, form: str
) -> None:
    lake = Place(form, tmp_path / "lake")
    to_table(logs, **lake.arguments, spark=spark, columns=COLUMNS)
    require_same(rows_of(lake.table()), wanted(EVERYTHING))
