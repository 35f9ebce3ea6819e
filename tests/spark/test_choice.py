"""What a load reads: the replica ahead of several brokers, the folders of a pattern, topics."""

import os
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.comparison.replicas import run, write_replica
from tests.s3_server import s3_server
from tests.spark.tasks import Load, rows
from workbench.errors import LogDirectoryError
from workbench.spark_source.options import parse_options
from workbench.spark_source.plan.planning import Plan, ReplicaChoice
from workbench.spark_source.streaming import KafkaLogStreamReader
from workbench.spark_source.tables import FindingsReader, FindingsTask

pytestmark = pytest.mark.spark  # it imports pyspark, as the source does

SAMPLES = Path(__file__).parents[2] / "sample_data"
SHOP = SAMPLES / "shop-4.3.1"
INTERNAL = {"__cluster_metadata", "__consumer_offsets", "__transaction_state"}


def meta(folder: Path, node_id: int, cluster: str = "one") -> None:
    text = f"version=1\nnode.id={node_id}\ncluster.id={cluster}\n"
    (folder / "meta.properties").write_text(text)


@pytest.fixture
def brokers(tmp_path: Path) -> list[Path]:
    """Three brokers: the second has the newest epoch, the third is longer and was never leader."""
    logs = [run(0, 10, 1), [*run(0, 8, 1), *run(8, 12, 2, "new")], run(0, 15, 1)]
    found = []
    for node_id, batches in enumerate(logs, 1):
        found.append(write_replica(tmp_path / f"broker-{node_id}", batches))
        meta(found[-1], node_id)
    return found


def test_of_several_brokers_the_replica_ahead_is_read_as_serve_reads_it(
    brokers: list[Path],
) -> None:
    path = ",".join(map(str, brokers))
    with pytest.warns(ReplicaChoice, match=r"orders-0: the replica of broker 2 \(epoch 2, .* 12"):
        load = Load(path)
    found = rows(load.table(), "value")
    assert [row["offset"] for row in found] == list(range(12))
    assert [row["value"][:1] for row in found] == [b"m"] * 8 + [b"n"] * 4
    compared = wb.compare_replicas(dict(enumerate(brokers, 1)))["orders-0"]
    assert compared.ahead == "2"


def test_a_stream_of_several_brokers_reads_the_replica_ahead_too(brokers: list[Path]) -> None:
    given = {"path": ",".join(map(str, brokers)), "startingOffsets": "earliest"}
    options = parse_options(given, streaming=True)
    reader = KafkaLogStreamReader(options, options.columns)
    with warnings.catch_warnings(action="ignore", category=ReplicaChoice):
        start, end = reader.initialOffset(), reader.latestOffset()
        tasks = reader.partitions(start, end)
    assert end["orders"] == {"0": 12}
    assert sum(batch.num_rows for task in tasks for batch in reader.read(task)) == 12


def test_findings_are_of_all_brokers(brokers: list[Path]) -> None:
    options = parse_options({"path": ",".join(map(str, brokers))})
    with warnings.catch_warnings(action="ignore", category=ReplicaChoice):
        tasks = FindingsReader(options, deep=True).partitions()
    checked = (each for task in tasks if isinstance(task, FindingsTask) for each in task.partitions)
    folders = {each.path for each in checked}
    assert folders == {str(broker / "orders-0") for broker in brokers}


def test_brokers_of_different_clusters_are_refused(brokers: list[Path]) -> None:
    meta(brokers[2], 3, "another")
    with pytest.raises(LogDirectoryError, match="belongs to broker 3 of cluster another"):
        Load(",".join(map(str, brokers)))


def test_a_pattern_means_the_folders_that_it_matches(brokers: list[Path]) -> None:
    home = brokers[0].parent
    (home / "broker-notes.txt").write_text("no folder")
    wanted = tuple(map(str, brokers))
    for text in ("broker-*", "broker-?", "broker-[1-3]", "broker-{1,2,3}", "b{roker-1,roker-[23]}"):
        assert parse_options({"path": f"{home}/{text}"}).paths == wanted
    assert parse_options({"path": f"{home}/broker-{{3,1}},{home}/broker-2"}).paths == (
        wanted[2], wanted[0], wanted[1]
    )  # fmt: skip
    assert parse_options({"path": f"{home}/*/orders-0"}).paths == tuple(
        f"{each}/orders-0" for each in wanted
    )
    with pytest.raises(LogDirectoryError, match="no folder matches the pattern"):
        parse_options({"path": f"{home}/nothing-*"})
    with pytest.raises(LogDirectoryError, match="more than 10,000 paths"):
        parse_options({"path": f"{home}/" + "{a,b}" * 20})


def test_a_folder_whose_name_looks_like_a_pattern_is_itself(tmp_path: Path) -> None:
    odd = tmp_path / "logs[1]*"
    shutil.copytree(SHOP / "orders-0", odd / "orders-0")
    assert parse_options({"path": str(odd)}).paths == (str(odd),)


def test_a_pattern_in_a_bucket_is_matched_by_listing_it() -> None:
    with s3_server() as server:
        server.put("bucket", {f"broker-1/events-{at}/{0:020}.log": b"" for at in range(3)})
        place, _, query = server.uri("bucket/broker-1").partition("?")
        server.requests.clear()
        found = parse_options({"path": f"{place}/events-[02]?{query}"}).paths
        assert found == (f"{place}/events-0?{query}", f"{place}/events-2?{query}")
        assert len(server.requests) <= 5
    with pytest.raises(LogDirectoryError, match="a bucket or server cannot be a pattern"):
        parse_options({"path": "s3://backup-*/logs"})


def test_internal_topics_are_read_only_when_they_are_named() -> None:
    everything = {each.topic for each in wb.open_log_directory(SHOP).values()}
    internal = everything & INTERNAL
    assert internal
    chosen = {each.topic for each in Plan(parse_options({"path": str(SHOP)})).partitions}
    assert chosen == everything - INTERNAL
    given = {"path": str(SHOP), "includeInternal": "true"}
    assert {each.topic for each in Plan(parse_options(given)).partitions} == everything
    (name, *_) = sorted(internal)
    assert {
        each.topic
        for each in Plan(parse_options({"path": str(SHOP), "subscribe": name})).partitions
    } == {name}
    folder = next(SHOP.glob(f"{name}-*"))
    assert {each.topic for each in Plan(parse_options({"path": str(folder)})).partitions} == {name}


def test_the_dialect_of_a_pattern_of_topics_is_named_where_one_is_refused() -> None:
    with pytest.raises(ValueError, match=r"bad escape \\p.*Python's re, which is not in all as"):
        parse_options({"path": "x", "subscribePattern": r"\p{L}+"})
    plan = Plan(parse_options({"path": str(SHOP), "subscribePattern": "^ord|_offsets"}))
    assert {each.topic for each in plan.partitions} == {"orders"}


def test_a_save_to_a_uri_is_refused_before_its_job_runs(spark: Any) -> None:
    failing = spark.sql("select cast(raise_error('the job has run') as string) as value")
    for path in ("s3://bucket/logs", "hdfs:/logs"):
        with pytest.raises(
            Exception, match=r"is a URI \(expected a path of this machine\)"
        ) as seen:
            failing.write.format("kafka-log").option("topic", "t").mode("append").save(path)
        assert "the job has run" not in str(seen.value)
        assert not os.path.lexists(path.partition("/")[0])
