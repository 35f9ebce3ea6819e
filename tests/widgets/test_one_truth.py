"""Two places that show one number show the same: over samples, brokers, and many logs."""

import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.structs import OffsetAndMetadata as ClientOffset
from kafka.structs import TopicPartition as ClientPartition

import workbench as wb
from tests.cli.program import run
from tests.kafka_broker import Broker
from tests.waiting import HANGS_AFTER_S
from widgets import Workbench
from widgets.frame.tab_names import FINDINGS, GROUPS, TRANSACTIONS, WHAT_IF

SAMPLES = Path(__file__).parents[2] / "sample_data"
TWO_BROKERS = [SAMPLES / "two-brokers" / f"broker{node}" for node in (1, 2)]


def many_logs(folder: Path, count: int) -> list[Path]:
    """Make a directory of sparse logs: each has a batch, and an index of 10 MiB that is a hole."""
    shutil.copytree(SAMPLES / "era-2.8.2", folder / "data")
    log = next((folder / "data").glob("orders-0/*.log")).read_bytes()[:200]
    for number in range(count):
        partition = folder / "data" / f"sensors.of-a-plant.{number // 10:04d}-{number % 10}"
        partition.mkdir()
        (partition / f"{0:020d}.log").write_bytes(log)
        index = partition / f"{0:020d}.index"
        index.touch()
        os.truncate(index, 10 << 20)
    return [folder / "data"]


def fill(bootstrap: str) -> None:
    """Write records, commit some offsets of a group, and leave a transaction open."""
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for number in range(500):
            producer.send("orders", b"%d" % number, partition=number % 2)
    hanging = KafkaProducer(bootstrap_servers=bootstrap, transactional_id="hangs")
    hanging.init_transactions()
    hanging.begin_transaction()
    hanging.send("payments", b"1").get(HANGS_AFTER_S)
    where = [ClientPartition("orders", partition) for partition in (0, 1)]
    with closing(KafkaConsumer(bootstrap_servers=bootstrap, group_id="billing")) as consumer:
        consumer.assign(where)
        consumer.commit({each: ClientOffset(100, "", -1) for each in where})
    hanging.close(timeout=0)


@contextmanager
def live_broker(folder: Path) -> Iterator[list[Path]]:
    """Give the directory of a broker that runs."""
    settings = {"num.partitions": "2", "segment.bytes": "1048576"}
    with Broker("4.3.1", folder, settings) as broker:
        fill(broker.bootstrap)
        yield [broker.data]


@pytest.fixture(
    name="paths",
    scope="module",
    params=[
        "shop-4.3.1",
        "damaged",
        "two brokers",
        60,
        pytest.param(10_000, marks=pytest.mark.long),
        pytest.param(live_broker, id="live broker", marks=pytest.mark.long),
    ],
)
def paths_(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Path]]:
    if isinstance(request.param, int):
        yield many_logs(tmp_path_factory.mktemp("many"), request.param)
    elif callable(request.param):
        with request.param(tmp_path_factory.mktemp("live")) as paths:
            yield paths
    else:
        yield TWO_BROKERS if request.param == "two brokers" else [SAMPLES / request.param]


@pytest.fixture(name="screen", scope="module")
def screen_(paths: list[Path]) -> Iterator[Workbench]:
    made = Workbench(paths)
    view = made.views["Overview"]
    view.answer_make()  # which waits for a button where there is much to read
    view.wait()
    yield made
    made.close()


def numbers(view: Any) -> dict[str, str]:
    """Return label → number of the tiles of an overview or of What if."""
    return {
        each["label"]: each["value"]
        for some in view.get_state("_tiles")["_tiles"].values()
        for each in some
    }


def rows(view: Any, section: str) -> list[list[Any]]:
    found: list[list[Any]] = view.get_state("_sections")["_sections"][section]["rows"]
    return found


def test_the_report_has_the_numbers_of_the_overview(screen: Workbench, paths: list[Path]) -> None:
    page = wb.open_log_directory(paths).report(deep=True)
    shown = numbers(screen.views["Overview"])
    assert {"errors in files", "warnings in files", "on the disk"} <= shown.keys()
    for label, value in shown.items():
        assert f"<b>{value}</b><span>{label}</span>" in page


def test_findings_are_counted_alike(screen: Workbench, paths: list[Path]) -> None:
    told = numbers(screen.views["Overview"])
    screen.tab = FINDINGS
    view = screen.views[FINDINGS]
    by_command = [row for path in paths for row in run("verify", path, "--json").json]
    counts = view.get_state("_counts")["_counts"].values()
    is_whole = not view.verifier.book.left_out  # else the page says how many are not listed
    for severity in ("error", "warning"):
        view.severity = severity
        counted = sum(each.get(severity, 0) for each in counts)
        assert told[f"{severity}s in files"] == f"{counted:,}"
        assert counted == sum(each["severity"] == severity for each in by_command)
        assert len(view.listed()) == counted or not is_whole


def test_groups_stand_where_their_tab_says(screen: Workbench) -> None:
    shown = {
        (row[0], row[1]): (row[2]["text"], row[3])
        for row in rows(screen.views["Overview"], "groups")
    }
    screen.tab = GROUPS
    view: Any = screen.views.get(GROUPS)
    committed = 0
    for group in view.groups if view else ():
        view.group = group
        for row in view.offsets.to_pylist():
            verdict, lag = shown[group, f"{row['topic']}-{row['partition']}"]
            assert lag == row["lag"]
            if row["unserved"]:
                assert verdict == "starts over"
            committed += 1
    assert committed == sum(lag is not None for _, lag in shown.values())


def test_open_transactions_and_what_is_stuck_are_those_of_the_commands(
    screen: Workbench, paths: list[Path]
) -> None:
    view = screen.views["Overview"]
    opened = run("transactions", *paths, "--open", "--json").json
    assert len(rows(view, "transactions")) == len(opened)
    screen.tab = TRANSACTIONS
    if opened:
        assert f"{len(opened)} open" in screen.views[TRANSACTIONS].describe()
    if len(paths) == 1:  # a start is of one broker
        stuck = run("stuck", *paths, "--json").json["stuck"]
        assert numbers(view)["stuck"] == f"{len(stuck):,}"


def test_a_start_takes_what_what_if_says(screen: Workbench, paths: list[Path]) -> None:
    screen.broker = "" if len(paths) == 1 else "1"
    screen.tab = WHAT_IF
    other = screen.views[WHAT_IF]
    if other.get_state("_sections")["_sections"]["start"]["state"] == "asks":
        other.answer_make()
    other.wait()
    screen.tab = "Overview"
    view = screen.views["Overview"]
    view.wait()
    told = numbers(view)
    for label in ("broker starts", "topics served whole", "deleted after a start"):
        assert told.get(label) == numbers(other).get(label)
