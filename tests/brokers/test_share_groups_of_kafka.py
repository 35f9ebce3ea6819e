"""What a share group did with records is read from `__share_group_state` as its consumer did it."""

import shutil
from pathlib import Path

from tests.cli.program import run
from tests.kafka_broker import Broker, compile_java, run_java
from workbench.log_directory import open_log_directory

VERSION = "4.3.1"
LIMIT = 3


def test_deliveries_are_those_that_a_consumer_made(tmp_path: Path) -> None:
    """Offsets 0 and 1 are accepted, 2 and 3 rejected, 4 to 7 released, 4 and 5 until the limit."""
    source = (Path(__file__).parent / "Deliver.java").read_text()
    classes = compile_java(VERSION, source, "Deliver")
    with Broker(VERSION, tmp_path / "broker") as broker:
        done = run_java(VERSION, "Deliver", broker.bootstrap, classes=classes)
        assert done.returncode == 0, done.stderr
    told = {
        (int(offset), int(count), how)
        for offset, count, how in (line.split() for line in done.stdout.splitlines())
    }
    assert {(4, 3, "release"), (7, 2, "release"), (2, 1, "reject")} <= told
    found = set()
    for row in open_log_directory(broker.data).inspect.deliveries("jobs").to_pylist():
        if row["first_offset"] is None or row["last_offset"] is None:
            continue
        assert (row["topic"], row["partition"], row["group"]) == ("work", 0, "jobs")
        left = LIMIT - row["delivery_count"] if row["event"] == "released" else None
        assert row["deliveries_left"] == left
        for offset in range(row["first_offset"], row["last_offset"] + 1):
            found.add((offset, row["delivery_count"], row["event"]))
    assert found == {
        (offset, count, {"accept": "acknowledged", "reject": "rejected"}.get(how, "released"))
        if (how, count) != ("release", LIMIT)
        else (offset, count, "archived")
        for offset, count, how in told
    }
    (state,) = run("group", "jobs", broker.data, "--json").json["share_offsets"]
    assert (state["available"], state["last_delivery"]) == (2, 2)
    text = run("group", "jobs", broker.data).out
    assert "2 of these with one delivery left" in text
    assert "archived" in text
    for path in broker.data.glob("__share_group_state-*"):
        shutil.rmtree(path)
    concerns = {each.kind: each for each in open_log_directory(broker.data).preflight().concerns}
    # A real 4.4.0 then gave the group's consumers nothing until its offsets were altered.
    assert "get no record" in concerns["share-state-lost"].what
