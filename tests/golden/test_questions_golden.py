"""The questions of `docs/questions-about-groups.md`, each answered by its call as a broker does."""

import re
from collections import Counter
from collections.abc import Callable
from functools import reduce
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest

import workbench
from tests.golden.cases import Case
from workbench import tables
from workbench.log_directory import LogDirectory
from workbench.tables.columns import columns_of, is_row_class

PAGE = (Path(__file__).parents[2] / "docs" / "questions-about-groups.md").read_text()
WITH_GROUPS = ["2.8.2-groups", "3.9.1-groups", "4.2.0-groups"]

Golden = Callable[[str], Case]


@pytest.fixture(params=WITH_GROUPS)
def logs(request: pytest.FixtureRequest, golden: Golden) -> LogDirectory:
    return workbench.open_log_directory(golden(request.param).directory("before"))


def test_every_call_exists(logs: LogDirectory) -> None:
    """And every word in code in the last column is a column, a rule, or a kind of finding."""
    calls = set(re.findall(r"`logs\.([\w.]+)\(", PAGE))
    assert len(calls) >= 10
    for call in calls:
        assert callable(reduce(getattr, call.split("."), logs)), call
    modules = [
        import_module(each.name) for each in iter_modules(tables.__path__, "workbench.tables.")
    ]
    rows = [each for module in modules for each in vars(module).values()
            if is_row_class(each, module.__name__)]  # fmt: skip
    columns = {column.name for row in rows for column in columns_of(row)}
    stories = [
        *(logs.explain_group(group) for group in ("g-classic", "g-txn", "g-expires", "g-simple")),
        *(logs.explain_transaction(row["producer_id"])
          for row in logs.inspect.open_producers().to_pylist()),
    ]  # fmt: skip
    rules = {row.rule for story in stories for row in story}
    rules |= {"order", "epoch", "reconciliation"}  # only where they apply
    named = {
        word
        for line in PAGE.splitlines()
        if line.startswith("| ") and "---" not in line
        for word in re.findall(r"`([a-z][a-z_ -]*)`", line.split(" | ")[-1])
    }
    others = {"blocks", "prepared", "conclusion", "group-partition", "group-record",
              "transaction-record", "marker-without-data"}  # fmt: skip
    assert named - columns - rules - others == set()


def _of(table: Any, **wanted: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.to_pylist()
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def test_when_a_group_was_last_active(logs: LogDirectory, request: Any, golden: Golden) -> None:
    """Last commit and last generation are within what the client did and when."""
    case = golden(request.node.callspec.params["logs"])
    steps = {step["do"]: step["at"] for step in case.info["steps"]}
    (row,) = _of(logs.inspect.groups(), group="g-static")
    assert 0 <= steps["commit s2"] - row["last_commit_time"].timestamp() * 1000 < 2000
    assert row["state_time"] < row["last_commit_time"]


def test_when_offsets_expire(logs: LogDirectory) -> None:
    simple = _of(logs.inspect.group_offsets("g-simple", retention_ms=60_000))
    for row in simple:
        assert (row["expires_at"] - row["commit_time"]).total_seconds() == 60
    subscribed = _of(logs.inspect.group_offsets("g-static"))
    assert {row["expires_at"] for row in subscribed} == {None}


def test_why_a_consumer_starts_over(logs: LogDirectory) -> None:
    stories = {group: logs.explain_group(group, retention_ms=60_000).conclusion
               for group in ("g-expires", "g-deleted", "g-part-deleted", "g-classic")}  # fmt: skip
    assert stories["g-expires"].startswith("starts over everywhere")
    assert stories["g-deleted"].startswith("starts over everywhere")
    assert stories["g-part-deleted"].startswith("starts over in 2 of 3")
    fates = Counter(row["fate"] for row in _of(logs.inspect.commits("g-txn", lag=False)))
    assert fates["aborted"] >= 1
    assert fates["pending"] == 2


def test_which_commits_wait_and_for_whom(logs: LogDirectory) -> None:
    pending = [
        row for row in _of(logs.inspect.group_offsets("g-txn")) if row["producer_id"] is not None
    ]
    (producer,) = {row["producer_id"] for row in pending}
    story = logs.explain_transaction(producer)
    (opened,) = [each for each in _of(logs.inspect.transactions()) if each["phase"] == "open"]
    assert opened["producer_id"] == producer
    assert opened["blocks"]
    rows = [row for row in story if row.rule == "pending commits"]
    assert sum(int(row.value or 0) for row in rows) == len(pending)
    assert all("g-txn" in row.reason for row in rows)


def test_when_transactions_and_ids_end(golden: Golden) -> None:
    """From what an admin client got about start, timeout and state."""
    case = golden("4.2.0-txn")
    logs = workbench.open_log_directory(case.directory("data"))
    told = case.info["headline"]["describeTransactions_end"]
    for row in _of(logs.inspect.transactions()):
        text = told.get(row["transactional_id"], "")
        start = re.search(r"StartTimeMs=OptionalLong\[(\d+)\]", text)
        timeout = re.search(r"transactionTimeoutMs=(\d+)", text)
        if "state=Ongoing" in text and start is not None and timeout is not None:
            at = row["times_out_at"].timestamp() * 1000
            assert at == int(start[1]) + int(timeout[1])
            assert row["expires_at"] is None
        elif text and not text.startswith("error"):
            assert row["times_out_at"] is None
            assert (row["expires_at"] - row["last_update_time"]).days == 7


def test_why_the_topic_of_groups_grows(logs: LogDirectory) -> None:
    """An open transaction bounds the cleaner; the groups that commit most."""
    opened = [row for row in _of(logs.inspect.open_producers())
              if row["topic"] == "__consumer_offsets"]  # fmt: skip
    (one,) = opened
    name = f"__consumer_offsets-{one['partition']}"
    cleaning = {row["partition"]: row for row in _of(logs.inspect.cleaning("__consumer_offsets"))}
    assert one["partition"] in cleaning
    reasons = " ".join(row.reason for row in logs[name].explain_cleaning())
    assert str(one["last_stable_offset"]) in reasons
    counts = Counter(row["group"] for row in _of(logs.inspect.commits(lag=False)))
    assert sum(counts.values()) == logs.inspect.commits(lag=False).num_rows


def test_nothing_is_wrong_with_what_brokers_left(logs: LogDirectory) -> None:
    kinds = {"group-record", "group-partition", "transaction-record", "transaction-partition",
             "hanging-transaction"}  # fmt: skip
    assert [finding for finding in logs.verify() if finding.kind in kinds] == []
