"""A job without isolation level says how many records of aborted and open transactions it reads."""

import json
import re
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.golden.cases import open_case
from tests.spark.tasks import Load
from workbench.errors import UncommittedRecordsWarning
from workbench.inspection.listing import list_log_directories
from workbench.loaders.scan.reading import uncommitted
from workbench.spark_source.columns import spark_schema
from workbench.spark_source.jvm.planner import Planner
from workbench.spark_source.options import parse_columns, parse_options
from workbench.spark_source.plan.uncommitted import Planned, uncommitted_text
from workbench.spark_source.streaming import KafkaLogStreamReader

pytestmark = pytest.mark.spark  # it imports pyspark, as the source does

CASES = ("2.8.2-txn", "3.9.1-txn", "4.2.0-txn")
HINT = "kafka.isolation.level=read_committed leaves them out, read_uncommitted is silent"


@pytest.fixture(name="logs", params=CASES, scope="module")
def logs_(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_case(request.param, tmp_path_factory.mktemp("uncommitted")).path / "data"


def of_scan(logs: Path, **options: Any) -> str:
    """Return what a scan includes, in its words, and hold it to what it reads."""
    scan = wb.open_log_directory(logs).scan(include_internal=True, **options)
    with warnings.catch_warnings(action="ignore", category=UncommittedRecordsWarning):
        scan.count()
    return scan.last_reading.uncommitted()


def told(given: dict[str, str]) -> list[str]:
    """Return what the planner of the reader in Java tells the user of a batch query."""
    schema = spark_schema(parse_columns(given)).json()
    answer = Planner().answer({"what": "plan", "options": given, "schema": schema})
    assert answer["reason"] is None
    assert json.dumps(answer)
    return list(answer["warnings"])


def test_a_batch_a_stream_and_the_reader_in_java_count_as_a_scan(logs: Path) -> None:
    expected = of_scan(logs)
    assert re.fullmatch(r"included: \d+ records of aborted transactions.*", expected)
    sentence = f"{expected}, before filters; {HINT}"
    with pytest.warns(UncommittedRecordsWarning) as found:
        Load(logs)
    assert [str(each.message) for each in found] == [sentence]
    given = {"path": str(logs), "includeInternal": "true"}
    assert told(given) == [sentence]
    assert told(given | {"kafka.isolation.level": "read_uncommitted"}) == []
    options = parse_options(given | {"startingOffsets": "earliest"}, streaming=True)
    reader = KafkaLogStreamReader(options, options.columns)
    with pytest.warns(UncommittedRecordsWarning) as found:
        reader.partitions(reader.initialOffset(), reader.latestOffset())
    assert [str(each.message) for each in found] == [sentence]


@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
def test_who_gives_a_level_is_told_nothing(level: str, logs: Path) -> None:
    with warnings.catch_warnings(action="error"):
        Load(logs, kafka__isolation__level=level)


def test_only_the_offsets_that_are_asked_for_count(logs: Path) -> None:
    texts = set()
    for partition in list_log_directories(logs).partitions.values():
        end = partition.log_end_offset
        for low, high in ((0, end // 2), (end // 3, end), (end // 4 + 1, end // 2 + 2)):
            if low < high:
                text = uncommitted_text([Planned(partition, low, high)])
                range_ = f"{low}:{high}"
                assert text == of_scan(logs, partitions=partition.name, offsets=range_), range_
                texts.add(text)
    assert len(texts) > 3


def test_of_large_logs_the_indexes_say_how_many_transactions_were_aborted(logs: Path) -> None:
    directory = wb.open_log_directory(logs)
    rows = directory.inspect.aborted_transactions().to_pylist()
    aborted = Counter((row["topic"], row["partition"]) for row in rows)
    for partition in list_log_directories(logs).partitions.values():
        planned = [Planned(partition, 0, partition.log_end_offset)]
        count = aborted[partition.topic, partition.partition]
        text = uncommitted_text(planned, most_bytes=0)
        if not count:
            assert text == ""
            continue
        words = "1 transaction" if count == 1 else f"{count} transactions"
        assert text == (
            f"included: aborted transactions, not counted by record, of {partition.name} ({words})"
        )


def test_what_cannot_be_read_is_left_to_the_tasks(logs: Path, tmp_path: Path) -> None:
    (partition, *_) = list_log_directories(logs).partitions.values()
    planned = [Planned(partition, 0, 10)]
    for segment in partition.segments:
        Path(segment.path).rename(tmp_path / Path(segment.path).name)
    try:
        assert uncommitted_text(planned) == ""
    finally:
        for segment in partition.segments:
            (tmp_path / Path(segment.path).name).rename(segment.path)
    assert uncommitted(0, 0) == ""
