"""How many modules one call passes: `python -m tests.house.hops` prints the measure of each route.

A *hop* is a call that leads from one module of the product to another. Routes are measured warm, so
that nothing is imported, compiled or opened for the first time.
"""

import contextlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

import workbench
import workbench as wb
from workbench.coordinator.offsets.offset_manager import OffsetManager
from workbench.log.log import Log
from workbench.log_manager.manager import LogManager
from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import ManualScheduler

PRODUCT: Final = str(Path(workbench.__file__).parent) + "/"
SHOP: Final = Path(workbench.__file__).parents[1] / "sample_data" / "shop-4.3.1"


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
            "verify": lambda: wb.verify(SHOP),
            "predict": lambda: wb.open_log_directory(SHOP).predict_startup(),
            "what_if": lambda: wb.what_if(SHOP, {"retention.ms": "1"}),
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
