"""`kafka-workbench spark` on the session of the tests; the jobs have tests of their own."""

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from tests.cli.program import run

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

SAMPLES = Path(__file__).parents[2] / "sample_data"
DAMAGED = SAMPLES / "damaged"
SHOP = SAMPLES / "shop-4.3.1"


def test_a_job_prints_a_table_or_json_and_its_code_tells(tmp_path: Path) -> None:
    chosen = (DAMAGED, "-t", "flipped-byte")
    outcome = run("spark", "cluster-verify", *chosen)
    assert outcome.code == run("verify", *chosen).code == 2
    assert outcome.out.splitlines()[0].startswith("severity  kind")
    found = run("spark", "cluster-verify", *chosen, "--json").json
    told = run("verify", *chosen, "--json").json
    assert {each.pop("kafka") for each in told} == {"4.3"}  # the job means 4.2: the same rules
    assert [each.pop("lost")["records"] for each in told] == [3]  # which the job does not count
    assert {each.pop("removed_at_start") for each in told} == {None}  # no broker starts there
    assert found == told

    out = tmp_path / "out"
    rescued = run("spark", "rescue-to-parquet", *chosen, "--to", out, "--json")
    assert rescued.code == 1
    (row,) = rescued.json
    assert (row["topic"], row["records"], row["missing"], row["was_done"]) == (
        "flipped-byte", 69, 3, False,
    )  # fmt: skip
    assert row["damage"][0]["kind"] == "crc"

    failed = run("spark", "compaction-savings", *chosen)
    assert failed.code == 3
    assert failed.err.endswith(
        "at byte 768: the CRC does not match: CRC ebc1fd13 stored (expected 2ab1da8b computed); "
        "the job needs every record, and `rescue-to-parquet` saves the others\n"
    )


def test_a_table_that_tasks_load_is_that_of_one_process(tmp_path: Path) -> None:
    chosen = (SHOP, "-t", "orders", "--value-format", "json", "--table-format", "delta")
    told = run("to-table", *chosen, "--to", tmp_path / "one")
    found = run("spark", "to-table", *chosen, "--to", tmp_path / "many")
    assert (found.code, found.out) == (0, told.out)
    assert found.err == f"kafka-workbench: 5,200 records loaded into {tmp_path / 'many'}\n"
    one, many = (DeltaTable(str(tmp_path / name)).to_pyarrow_table() for name in ("one", "many"))
    order = [("partition", "ascending"), ("offset", "ascending")]
    assert many.sort_by(order).select(one.column_names).equals(one.sort_by(order))
    again = (*chosen, "--to", tmp_path / "one", "--json")
    assert run("spark", "to-table", *again).json == run("to-table", *again).json


def test_doctor_asks_the_executors_of_a_master() -> None:
    """That of the tests' session, which runs on this Python; a cluster is in test_cluster."""
    asked = run("doctor", "--spark", "local[2]", "--dir", DAMAGED)
    assert asked.code == 0, asked.out
    assert f"partitions in {DAMAGED}" in asked.out
    nothing = run("doctor", "--spark", "local[2]", "--dir", DAMAGED / "absent", "--json")
    (directory,) = [each for each in nothing.json if each["name"] == "directory"]
    assert (nothing.code, directory["status"]) == (2, "error")
    assert "absent" in directory["found"]
    assert directory["advice"].startswith("give executors the directory by the path")


def test_times_are_texts() -> None:
    rows = run("spark", "topic-profile", DAMAGED / "healthy-0", "--json").json
    assert sum(row["records"] for row in rows) == 72
    assert rows[0]["hour"].endswith(":00:00.000Z")


def test_settings_reach_the_session(spark: Any) -> None:
    name = "spark.sql.shuffle.partitions"
    before = spark.conf.get(name)
    try:
        job = ("spark", "topic-profile", DAMAGED / "healthy-0", "--packages", "a:b:1")
        assert run(*job, "--conf", f"{name}=3", "--conf", "spark.test.text=a=b").code == 0
        assert spark.conf.get(name) == "3"
        assert spark.conf.get("spark.test.text") == "a=b"
        assert spark.conf.get("spark.jars.packages") == "a:b:1"
    finally:
        spark.conf.set(name, before)
    outcome = run("spark", "topic-profile", DAMAGED / "healthy-0", "--conf", "spark.a")
    assert outcome.code == 3
    assert "'spark.a' is not KEY=VALUE" in outcome.err


def test_replicas_that_differ_end_with_a_code_of_their_own() -> None:
    same = DAMAGED / "healthy-0"
    outcome = run("spark", "replica-diff", same, same)
    assert (outcome.code, outcome.out) == (0, "")
    other = run("spark", "replica-diff", same, DAMAGED / "torn-tail-0", "--json")
    assert other.code == 1
    assert {row["difference"] for row in other.json} == {"missing", "extra"}


def test_a_job_over_nothing_of_kafka_s_is_refused(tmp_path: Path) -> None:
    for job in ("cluster-verify", "topic-profile"):
        outcome = run("spark", job, tmp_path)
        assert (outcome.code, outcome.out) == (3, "")
        assert "nothing here looks like Kafka's: it is empty" in outcome.err
