"""A text where several are taken is one name, at every public call."""

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pyarrow as pa
import pytest

import widgets
import workbench as wb
from workbench.coordinator.transaction_coordinator.listing import TransactionFilter
from workbench.files.names import TopicPartition
from workbench.loaders.scan.scan_options import ScanOptions
from workbench.loaders.tables.inspect import Inspect
from workbench.log_manager.manager import LogManager
from workbench.pipelines.replica_diff import diff_tasks
from workbench.pipelines.source_options import source_options
from workbench.runtime.clock import ManualClock
from workbench.runtime.several import several
from workbench.spark_source.packing import distributions

SHOP: Final = Path(__file__).parent.parent / "sample_data" / "shop-4.3.1"
BROKERS: Final = SHOP.parent / "two-brokers"
TAKES_SEVERAL: Final = re.compile(r"\b(Iterable|Collection|Sequence|Container|[Ff]rozenset)\[")
OF_NAMES: Final = re.compile(r"\bstr\b|PathLike|UUID|TopicPartition|MemberIdentity|\bStrPath\b")

Door = Callable[[Path, Any], object]


def _logs() -> wb.LogDirectory:
    return wb.open_log_directory(SHOP)


def _first_broker() -> wb.LogDirectory:
    return wb.open_log_directory(BROKERS / "broker1")


def _managed(work: Path, use: Callable[[LogManager], object]) -> object:
    manager = LogManager([work / "logs"], clock=ManualClock(1_800_000_000_000))
    manager.startup(with_tasks=False)
    try:
        return use(manager)
    finally:
        manager.shutdown()


def _copied(make: Callable[..., object], work: Path, **chosen: Any) -> object:
    make(SHOP, work / "copy", now=1 << 41, **chosen)
    return sorted(wb.open_log_directory(work / "copy"))


def _served(_: Path, topics: Any) -> object:
    return sorted(wb.serve(SHOP, topics=topics).catalog.topics)


def _made(work: Path, directories: Any) -> object:
    manager = LogManager(directories)
    manager.startup(with_tasks=False)
    manager.shutdown()
    return sorted(each.name for each in work.iterdir())


def _offline(work: Path, offline: Any) -> object:
    both = [work / "one", work / "two"]
    return LogManager(both, initial_offline_directories=offline).offline_directories


def _deleted(work: Path, partitions: Any) -> object:
    def use(manager: LogManager) -> object:
        for name in ("t-0", "t-1"):
            manager.get_or_create_log(name)
        manager.async_delete_all(partitions, lambda *_: None)
        return sorted(manager.logs)

    return _managed(work, use)


def _coordinating(use: Callable[[Any], object]) -> Callable[[Path], object]:
    def run(work: Path) -> object:
        def inside(manager: LogManager) -> object:
            service = wb.GroupCoordinatorService(manager)
            service.startup()
            service.commit("billing", {"orders-0": 5, "orders-1": 6})
            return use(service)

        return _managed(work, inside)

    return run


def _groups(use: Callable[[Any, Any], object]) -> Door:
    return lambda work, given: _coordinating(lambda service: use(service, given))(work)


def _left(service: Any, call: Callable[[Any], object]) -> object:
    return call(service), dict(service.fetch("billing"))


def _transactions(use: Callable[[Any, Any], object]) -> Door:
    def door(work: Path, given: Any) -> object:
        def inside(manager: LogManager) -> object:
            coordinator = wb.TransactionCoordinator(manager)
            coordinator.startup()
            return use(coordinator, given)

        return _managed(work, inside)

    return door


def _loaded(work: Path, paths: Any, **options: Any) -> object:
    found = wb.to_table(paths, work / "t", dry_run=True, tell=lambda _: None, **options)
    return found.select(["topic", "partition", "records"])


def _inspected(method: str, parameter: str) -> Door:
    def door(_: Path, given: Any) -> object:
        found = getattr(_logs().inspect, method)(**{parameter: given})
        assert isinstance(found, pa.Table)
        return found

    return door


DOORS: Final[dict[str, tuple[str, Door]]] = {
    "spark.pack_executors(packages)": (
        "pytest",
        lambda _, p: sorted(each.name for each in distributions(p)),
    ),
    "open_log_directory(paths)": (str(SHOP), lambda _, p: sorted(wb.open_log_directory(p))),
    "verify(paths)": (str(SHOP), lambda _, p: ("found", wb.verify(p))),
    "serve(logs)": (str(SHOP), lambda _, p: sorted(wb.serve(p).catalog.topics)),
    "what_if(logs)": (str(SHOP), lambda _, p: str(wb.what_if(p, {}, now=1_800_000_000_000))),
    "serve(topics)": ("orders", _served),
    "to_table(paths)": (str(SHOP), lambda work, p: _loaded(work, p, topics="customers")),
    "to_table(partition_by)": (
        "partition",
        lambda work, c: _loaded(work, SHOP, topics="customers", partition_by=c),
    ),
    "to_table(topics)": ("customers", lambda work, t: _loaded(work, SHOP, topics=t)),
    "to_table(partitions)": ("customers-0", lambda work, p: _loaded(work, SHOP, partitions=p)),
    "to_table(columns)": (
        "key",
        lambda work, c: _loaded(work, SHOP, partitions="customers-0", columns=c),
    ),
    "what_if(topics)": (
        "orders",
        lambda _, t: str(wb.what_if(SHOP, {"retention.ms": 1}, now=1 << 41, topics=t)),
    ),
    "what_if(partitions)": (
        "orders-0",
        lambda _, p: str(wb.what_if(SHOP, {"retention.ms": 1}, now=1 << 41, partitions=p)),
    ),
    "recover(topics)": ("orders", lambda work, t: _copied(wb.recover, work, topics=t)),
    "recover(partitions)": ("orders-0", lambda work, p: _copied(wb.recover, work, partitions=p)),
    "retain(topics)": ("orders", lambda work, t: _copied(wb.retain, work, topics=t)),
    "retain(partitions)": ("orders-0", lambda work, p: _copied(wb.retain, work, partitions=p)),
    "compare_replicas(brokers)": (
        str(SHOP),
        lambda _, p: len(wb.compare_replicas({1: p}, topics="orders")),
    ),
    "compare_replicas(topics)": (
        "orders",
        lambda _, t: len(wb.compare_replicas({1: SHOP}, topics=t)),
    ),
    "compare_replicas(partitions)": (
        "orders-0",
        lambda _, p: [each.name for each in wb.compare_replicas({1: SHOP}, partitions=p)],
    ),
    "LogDirectory.explain_cleaning(partitions)": (
        "orders-0",
        lambda _, p: sorted(_logs().explain_cleaning(now=1 << 41, partitions=p)),
    ),
    "LogDirectory.explain_retention(partitions)": (
        "orders-0",
        lambda _, p: sorted(_logs().explain_retention(now=1 << 41, partitions=p)),
    ),
    "LogDirectory.plan_cleaning(partitions)": (
        "customers-0",
        lambda _, p: str(_logs().plan_cleaning(now=1 << 41, partitions=p)),
    ),
    "LogDirectory.plan_cleaning(now)": (
        "2039-01-01",
        lambda _, now: str(_logs().plan_cleaning(now=now, partitions="customers-0")),
    ),
    "LogDirectory.compare(others)": (
        str(BROKERS / "broker2"),
        lambda _, p: [each.name for each in _first_broker().compare(p, topics="ledger")],
    ),
    "LogDirectory.compare(topics)": (
        "ledger",
        lambda _, t: [e.name for e in _first_broker().compare(BROKERS / "broker2", topics=t)],
    ),
    "LogDirectory.compare(partitions)": (
        "ledger-0",
        lambda _, p: [e.name for e in _first_broker().compare(BROKERS / "broker2", partitions=p)],
    ),
    "compact(topics)": (
        "customers",
        lambda work, t: sorted(
            e.partition for e in wb.compact(SHOP, work / "c", topics=t, now=1 << 41)
        ),
    ),
    "compact(partitions)": (
        "customers-0",
        lambda work, p: sorted(
            e.partition for e in wb.compact(SHOP, work / "c", partitions=p, now=1 << 41)
        ),
    ),
    "compact(now)": (
        "2039-01-01",
        lambda work, now: sorted(
            e.partition for e in wb.compact(SHOP, work / "c", topics="customers", now=now)
        ),
    ),
    "Partition.plan_cleaning(now)": (
        "2039-01-01",
        lambda _, now: str(_logs()["customers-0"].plan_cleaning(now=now)),
    ),
    "Scan.select(columns)": (
        "value",
        lambda _, c: _logs().scan(limit=9).select(c).to_arrow(),
    ),
    "LogDirectory.listed_again(paths)": (str(SHOP), lambda _, p: sorted(_logs().listed_again(p))),
    "LogDirectory.predict_startup(topic_ids)": (
        UUID(int=7),  # type: ignore[dict-item]
        lambda _, ids: str(_logs().predict_startup(topic_ids=ids, now=1 << 41)),
    ),
    "LogDirectory.preflight(topic_ids)": (
        UUID(int=7),  # type: ignore[dict-item]
        lambda _, ids: str(_logs().preflight(topic_ids=ids, now=1 << 41)),
    ),
    "LogDirectory.verify(topics)": (
        "orders",
        lambda _, t: ("found", _logs().verify(topics=t, info=True)),
    ),
    "LogDirectory.verify(partitions)": (
        "orders-0",
        lambda _, p: ("found", _logs().verify(partitions=p, info=True)),
    ),
    "ScanOptions(topics)": ("orders", lambda _, t: _logs().scan(topics=t).to_arrow()),
    "ScanOptions(partitions)": ("orders-0", lambda _, p: _logs().scan(partitions=p).to_arrow()),
    "ScanOptions(columns)": ("value", lambda _, c: _logs().scan(columns=c, limit=9).to_arrow()),
    "LogManager(directories)": ("logs", _made),
    "LogManager(initial_offline_directories)": ("two", _offline),
    "LogManager.async_delete_all(partitions)": ("t-0", _deleted),
    "GroupCoordinatorService.delete_groups(group_ids)": (
        "billing",
        _groups(lambda service, g: _left(service, lambda s: s.delete_groups(g))),
    ),
    "GroupCoordinatorService.delete_offsets(partitions)": (
        "orders-0",
        _groups(lambda service, p: _left(service, lambda s: s.delete_offsets("billing", p))),
    ),
    "GroupCoordinatorService.describe_groups(group_ids)": (
        "billing",
        _groups(lambda service, g: service.describe_groups(g)),
    ),
    "GroupCoordinatorService.fetch(partitions)": (
        "orders-0",
        _groups(lambda service, p: service.fetch("billing", p)),
    ),
    "GroupCoordinatorService.leave_group(members)": (
        "member-1",
        _groups(lambda service, m: service.leave_group("billing", m)),
    ),
    "GroupCoordinatorService.list_groups(states)": (
        "Empty",
        _groups(lambda service, s: service.list_groups(s)),
    ),
    "GroupCoordinatorService.on_partitions_deleted(partitions)": (
        "orders-0",
        _groups(lambda service, p: _left(service, lambda s: s.on_partitions_deleted(p))),
    ),
    "TransactionCoordinator.add_partitions_to_transaction(partitions)": (
        "orders-0",
        _transactions(lambda c, p: c.add_partitions_to_transaction("pay", 1, 0, p)),
    ),
    "TransactionCoordinator.verify_partitions_in_transaction(partitions)": (
        "orders-0",
        _transactions(lambda c, p: c.verify_partitions_in_transaction("pay", 1, 0, p)),
    ),
    "TransactionFilter(states)": (
        "Ongoing",
        lambda _, s: TransactionFilter(states=s).choose([], 0),
    ),
    "widgets.DiskUsage(at)": ("orders", lambda _, at: widgets.DiskUsage(SHOP, at=at).at),
    "source_options(paths)": (str(SHOP), lambda _, p: source_options(p, ["orders"])),
    "source_options(topics)": ("orders", lambda _, t: source_options(SHOP, t)),
    "diff_tasks(left)": (str(SHOP), lambda _, p: len(diff_tasks(p, SHOP, ["orders"]))),
    "diff_tasks(right)": (str(SHOP), lambda _, p: len(diff_tasks(SHOP, p, ["orders"]))),
    "diff_tasks(topics)": ("orders", lambda _, t: len(diff_tasks(SHOP, SHOP, t))),
}
"""Each call with a parameter that takes several names: the one name, and what is to be equal."""

_ELSEWHERE: Final = {
    "OffsetManager": "GroupCoordinatorService",  # whose methods these are
    "FindingList": "what `verify` returns, made with partitions",
    "widgets.ReplicaLanes(comparison)": "refuses the directories of one broker",
    "spark.map_batches(paths)": "source_options, which needs no Java",
    "widgets.ReplicationPlayer(what)": "a text is a scenario's name",
    "widgets.Overview(lead)": "a function",
    "StepPlayer": "segments of one partition; a text is its path",
    "LookupPlayer": "see StepPlayer",
    "RecoveryPlayer": "see StepPlayer",
}
"""Calls that are walked and tested by another name, or where a text is something else."""


def _parameters(function: Any) -> Iterator[tuple[str, str]]:
    for parameter in inspect.signature(function).parameters.values():
        annotation = str(parameter.annotation)
        is_rules = parameter.name == "mask"  # a text is a rule, not a name
        if not is_rules and TAKES_SEVERAL.search(annotation) and OF_NAMES.search(annotation):
            yield parameter.name, annotation


def _walk(name: str, thing: Any) -> Iterator[str]:
    """Yield the calls of a public thing that take several names: ``serve(topics)``."""
    if inspect.isfunction(thing):
        yield from (f"{name}({parameter})" for parameter, _ in _parameters(thing))
        return
    if not inspect.isclass(thing) or issubclass(thing, Exception):
        return
    yield from (f"{name}({parameter})" for parameter, _ in _parameters(thing.__init__))
    for method, found in inspect.getmembers_static(thing, inspect.isfunction):
        if not method.startswith("_") and found.__module__.split(".")[0] in {
            "workbench",
            "widgets",
        }:
            yield from (f"{name}.{method}({parameter})" for parameter, _ in _parameters(found))


def _calls() -> Iterator[str]:
    for name in wb.__all__:
        yield from _walk(name, getattr(wb, name))
    for name, function in inspect.getmembers(wb.spark, inspect.isfunction):
        if not name.startswith("_"):
            yield from _walk(f"spark.{name}", function)
    for name in widgets.__all__:
        yield from _walk(f"widgets.{name}", getattr(widgets, name))
    yield from _walk("Inspect", Inspect)
    yield from _walk("source_options", source_options)
    yield from _walk("diff_tasks", diff_tasks)
    for option, annotation in ScanOptions.__annotations__.items():
        text = getattr(annotation, "__forward_arg__", str(annotation))
        if option != "mask" and TAKES_SEVERAL.search(text) and OF_NAMES.search(text):
            yield f"ScanOptions({option})"


INSPECTED: Final = re.compile(r"Inspect\.(\w+)\((topics|partitions)\)")
PASSED_ON: Final = re.compile(
    r"(?:LogDirectory\.(?:scan|to_duckdb|replay)|(?:Partition|Topic)\.(?:scan|to_arrow|to_pandas)|Scan)"
    r"\((topics|partitions|columns)\)"
)
OF_LOGS: Final = re.compile(
    r"LogDirectory\.(serve|what_if)\((logs|topics|partitions)\)"
)  # the functions
_NAMED: Final = {"topics": "orders", "partitions": "orders-0"}


def _door(call: str) -> tuple[Any, Door]:
    if (found := INSPECTED.fullmatch(call)) is not None:
        return _NAMED[found[2]], _inspected(found[1], found[2])
    if (found := PASSED_ON.fullmatch(call)) is not None:
        return DOORS[f"ScanOptions({found[1]})"]
    if (found := OF_LOGS.fullmatch(call)) is not None:
        return DOORS[f"{found[1]}({found[2]})"]
    return DOORS[call]


def _is_elsewhere(call: str) -> bool:
    return any(
        call.removeprefix("widgets.").startswith(each.removeprefix("widgets."))
        for each in _ELSEWHERE
    )


CALLS: Final = sorted({*_calls(), *DOORS})


@pytest.mark.parametrize("call", [each for each in CALLS if not _is_elsewhere(each)])
def test_a_text_is_one_name(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, door = _door(call)
    found = []
    for word, given in (("one", one), ("several", [one])):
        (tmp_path / word).mkdir()
        monkeypatch.chdir(tmp_path / word)
        found.append(door(tmp_path / word, given))
    assert str(found[0]).replace("/one/", "/several/") == str(found[1])
    assert found[0] != []


def test_the_walk_finds_what_it_is_for() -> None:
    walked = set(_calls())
    assert {"serve(topics)", "ScanOptions(columns)", "Inspect.keys(partitions)"} <= walked
    assert "LogManager(directories)" in walked
    assert len(walked) > 60


def test_a_topic_is_not_served_because_another_contains_its_name() -> None:
    topics = [each.topic for each in _logs().values()]
    assert "orders" in topics
    for name in ("order", "orders-archive"):
        with pytest.raises(LookupError, match=f"unknown topic {name}"):
            wb.serve(SHOP, topics=name)


@pytest.mark.parametrize("given", ["orders-0", TopicPartition("orders", 0), Path("a"), 5, b"x"])
def test_one_thing_is_not_its_parts(given: Any) -> None:
    assert several(given) == (given,)
    assert several([given, given]) == (given, given)
    assert several(None) is None
