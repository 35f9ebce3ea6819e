"""How many modules one call passes: `python -m tests.house.hops` prints the measure of each route.

A *hop* is a call that leads from one module of the product to another. Routes are measured warm, so
that nothing is imported, compiled or opened for the first time.
"""

import asyncio
import contextlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

import workbench
import workbench as wb
from workbench.coordinator.group_coordinator.offset_manager import OffsetManager
from workbench.inspection.listing import list_log_directories
from workbench.log.log import Log
from workbench.log_manager.manager import LogManager
from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import ManualScheduler
from workbench.server.budget import Room
from workbench.server.fetch_sessions import FetchSessions, FetchWaiters
from workbench.server.kafka_apis import KafkaApis
from workbench.server.limits import ServerLimits
from workbench.server.logs.assigned_topics import AssignedTopics
from workbench.server.logs.catalog import Catalog
from workbench.server.protocol.api_keys import FETCH
from workbench.server.protocol.frames import Request, read_request
from workbench.server.request_trace import RequestTrace
from workbench.server.served_transactions import ServedTransactions
from workbench.server.serving import Serving
from workbench.server.session_groups import SessionGroups

PRODUCT: Final = str(Path(workbench.__file__).parent) + "/"
SHOP: Final = Path(workbench.__file__).parents[1] / "sample_data" / "shop-4.3.1"
NOW: Final = "2027-01-01"  # what a start or retention takes depends on the age of the sample


class Route(NamedTuple):
    """What one warm call takes.

    Attributes:
        calls: calls of the product's functions.
        modules: modules of the product that ran.
        hops: calls from one of them into another.
        depth: most calls of the product that were open at once.
    """

    calls: int
    modules: int
    hops: int
    depth: int


def measure(call: Callable[[], object]) -> Route:
    """Return what a call takes in this thread; it is made twice before it is measured."""
    call()
    call()
    seen: set[str] = set()
    stack: list[str] = []
    calls = hops = depth = 0

    def profile(frame: FrameType, event: str, _: Any) -> None:
        nonlocal calls, hops, depth
        name = frame.f_code.co_filename
        if not name.startswith(PRODUCT):
            return
        if event == "call":
            calls += 1
            hops += bool(stack) and stack[-1] != name
            seen.add(name)
            stack.append(name)
            depth = max(depth, len(stack))
        elif event == "return" and stack:
            stack.pop()

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return Route(calls, len(seen), hops, depth)


async def _now(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run what a server runs in another thread, which would not be measured."""
    return function(*arguments)


def _fetch_request(topic: str) -> Request:
    """Return the request of a consumer that starts at offset 0 of a topic's first partition."""
    partition = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1 << 20}
    values = {
        "replicaId": -1,
        "maxBytes": 1 << 20,
        "sessionEpoch": -1,
        "topics": [{"topic": topic, "partitions": [partition]}],
    }
    version = 12  # the last with names
    header = b"".join((FETCH.key.to_bytes(2), version.to_bytes(2), bytes(4), b"\0\4test\0"))
    return read_request(header + FETCH.request.encode(values, version))


def _fetch_by_server(stack: contextlib.ExitStack) -> Callable[[], object]:
    """Return a fetch of a client, from the request's fields to the bytes of its response."""
    catalog = Catalog(list_log_directories(SHOP), lambda _: None)
    groups = SessionGroups(lambda: catalog.listing, catalog.has, AssignedTopics(catalog))
    stack.callback(groups.close)
    loop, limits, request = asyncio.new_event_loop(), ServerLimits(), _fetch_request("orders")
    stack.callback(loop.close)
    changes = FetchWaiters()
    changes.use(loop)
    room = Room(limits.max_memory_bytes, limits.file_threads, limits.max_queued_bytes)
    serving = Serving(
        catalog, groups, ServedTransactions(lambda: catalog.listing), limits, room, changes,
        FetchSessions(limits.max_fetch_sessions, limits.max_session_bytes),
    )  # fmt: skip
    apis, here = KafkaApis(serving, _now, _now), ("127.0.0.1", 9092)
    return lambda: loop.run_until_complete(
        apis.handle(request, here[0], here, RequestTrace(), room.taken())
    )


@contextlib.contextmanager
def routes() -> Iterator[dict[str, Callable[[], object]]]:
    """Yield the routes by name; each can be called any number of times."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        Path(folder, "orders-0").mkdir()
        Path(folder, "broker").mkdir()
        clock = ManualClock(1000)
        later = ManualScheduler(clock)
        log = Log.open(f"{folder}/orders-0", clock=clock, scheduler=later)
        stack.callback(log.close)
        manager = stack.enter_context(
            LogManager([f"{folder}/broker"], clock=clock, scheduler=later)
        )
        offsets = stack.enter_context(OffsetManager(manager))
        yield {
            "append of one record": lambda: log.append([(b"k", b"v")]),
            "read": lambda: log.read(0),
            "commit of an offset": lambda: offsets.commit("g", {"orders-0": 1}),
            "fetch of an offset": lambda: offsets.fetch("g", ["orders-0"]),
            "fetch of a client": _fetch_by_server(stack),
            "verify": lambda: wb.verify(SHOP),
            "predict": lambda: wb.open_log_directory(SHOP).predict_startup(now=NOW),
            "what_if": lambda: wb.what_if(SHOP, {"retention.ms": "1"}, now=NOW),
        }


def run() -> None:
    """Write the measure of each route to the standard output."""
    lines = [f"{'route':24} {'calls':>8} {'modules':>8} {'hops':>8} {'depth':>6}"]
    with routes() as found:
        for name, call in found.items():
            route = measure(call)
            counts = f"{route.calls:8,} {route.modules:8} {route.hops:8,} {route.depth:6}"
            lines.append(f"{name:24} {counts}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    run()
