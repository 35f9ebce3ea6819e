"""A round beside a running broker: whoever opens its directory is given what it acknowledged.

The broker rolls, compacts, retains and deletes. Beside it a scan and verify, the app's screen, a
read-only server and a stream go on; none raises, hangs, reads a record twice, loses an acknowledged
one or shows one that never was. At the end, each gives exactly what a client of the broker reads.
"""

import sys
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any, Final

import workbench as wb
from tests.campaign.broker_load import BROKER, TOPICS, Load, Place, Read, read_with_client
from tests.campaign.engine_rounds import hold_findings
from tests.kafka_broker import Broker
from widgets import Workbench
from workbench.spark_source.options import parse_options
from workbench.spark_source.plan.planning import DataLossWarning
from workbench.spark_source.streaming import KafkaLogStreamReader

BESIDE_S: Final = 40.0
HANGS_AFTER_S: Final = 180.0  # without an action that ended, on a machine that does other work
SETTLES_S: Final = 180.0
VERSION: Final = "4.2.0"
WHOLE: Final = ("kept", "debits")  # topics of which nothing is ever deleted
_COLUMNS: Final = ("topic", "partition", "offset", "key", "value")


class BesideBrokerError(AssertionError):
    """Somebody who reads a running broker's directory was given something wrong, or hangs."""


class Watcher:
    """Someone who reads the directory, in a thread of its own, until the round ends.

    Args:
        name: who it is.
        act: is called again and again.
    """

    def __init__(self, name: str, act: Callable[[], None]) -> None:
        self.name = name
        self.acts = 0
        self.error: Exception | None = None
        self._act = act
        self._since = time.monotonic()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._end.is_set():
                self._since = time.monotonic()
                self._act()
                self.acts += 1
        except Exception as error:  # noqa: BLE001 - `check` raises it
            self.error = error

    def check(self) -> None:
        """Raise what the watcher met.

        Raises:
            BesideBrokerError: it hangs.
        """
        if self.error is not None:
            self.error.add_note(f"{self.name}, after {self.acts} times")
            raise self.error
        if self._thread.is_alive() and time.monotonic() - self._since > HANGS_AFTER_S:
            frame = sys._current_frames()[self._thread.ident or 0]  # noqa: SLF001
            stack = "".join(traceback.format_stack(frame)[-6:])
            raise BesideBrokerError(f"{self.name} hangs after {self.acts} times:\n{stack}")

    def end(self) -> None:
        """Begin nothing more."""
        self._end.set()

    def stop(self) -> None:
        """End, once what is being done has been done."""
        self.end()
        while self._thread.is_alive():
            self._thread.join(1)
            self.check()
        self.check()
        if not self.acts:
            raise BesideBrokerError(f"{self.name} did nothing")


def rows_of(batches: Iterable[Any]) -> list[Read]:
    """Return records of Arrow tables or batches."""
    return [
        Read(topic, partition, offset, key and key.decode(), value and value.decode())
        for batch in batches
        for topic, partition, offset, key, value in zip(
            *(batch[name].to_pylist() for name in _COLUMNS), strict=True
        )
    ]


def scanned(data: Path, isolation: Any = "read_uncommitted") -> list[Read]:
    """Return what a scan gives of the topics under load."""
    logs = wb.open_log_directory(data)
    there = sorted(
        {each.topic for each in logs.values() if each.topic in TOPICS and each.kind == "log"}
    )
    scan = logs.scan(topics=there, columns=list(_COLUMNS), isolation_level=isolation)
    return rows_of([scan.to_arrow()])


class Beside:
    """Everybody who reads beside the broker, and what each is held against.

    Args:
        data: the broker's log directory.
        load: knows the records.
        seed: of choices.
    """

    def __init__(self, data: Path, load: Load, seed: int) -> None:
        self._data = data
        self._load = load
        self._rng = Random(seed)
        self.streamed: Counter[Read] = Counter()
        options = {
            "path": str(data),
            "subscribePattern": "|".join(TOPICS),  # a topic that is named must be there
            "startingOffsets": "earliest",
            "failOnDataLoss": "false",  # what is deleted is not lost
        }
        parsed = parse_options(options, streaming=True)
        self._stream = KafkaLogStreamReader(parsed, parsed.columns)
        self._at: dict[str, Any] = {}

    def scan(self) -> None:
        """Scan and verify."""
        known = self._load.acknowledged()
        isolation = self._rng.choice(("read_committed", "read_uncommitted"))
        found = scanned(self._data, isolation)
        self._hold("a scan", found)
        if isolation == "read_committed":
            shown = [each for each in found if self._load.is_aborted(each.value)]
            if shown:
                raise BesideBrokerError(f"a scan shows an aborted record: {shown[0]}")
        else:
            self._hold_complete("a scan", found, known)
        hold_findings(self._data)

    def serve(self) -> None:
        """Serve the directory, and let a client read everything of it, at once and later."""
        known = self._load.acknowledged()
        with wb.serve(self._data) as server:
            for pause in (0.0, 1.0):  # what was listed may be gone then
                time.sleep(pause)
                found = read_with_client(server.bootstrap_servers)
                self._hold("a server", found)
                self._hold_complete("a server", found, known)

    def stream(self) -> None:
        """Read a micro-batch."""
        if not self._at:
            self._at = self._stream.initialOffset()
        end = self._stream.latestOffset(self._at)
        tasks = self._stream.partitions(self._at, end)
        found: list[Read] = []
        for task in tasks:  # which have no order
            given = rows_of(self._stream.read(task))
            self._hold("a stream", given)
            found += given
        self.streamed.update(found)
        twice = next((each for each in found if self.streamed[each] > 1), None)
        if twice is not None:
            raise BesideBrokerError(f"a stream gives {twice} twice")
        self._at = end
        time.sleep(0.1)

    def look(self, screen: Workbench) -> None:
        """Look at what changed, as the app's screen does once a second; walk about in it."""
        explorer = screen.explorer
        explorer.look()
        self._raise_shown(screen)
        names = sorted(explorer.logs)
        if names and self._rng.random() < 0.3:
            explorer.selected = {"partition": self._rng.choice(names)}
        if self._rng.random() < 0.2:
            screen.tab = self._rng.choice(screen.titles)
        self._raise_shown(screen)
        time.sleep(0.1)

    def _raise_shown(self, screen: Workbench) -> None:
        for view in (screen.explorer, *screen.views.values()):
            error = getattr(view, "last_error", None)
            # Retention and compaction do not apply to the log of KRaft, and their views say so.
            is_answer = isinstance(error, wb.LogDirectoryError) and "KRaft manages it" in str(error)
            if error is not None and not is_answer and not isinstance(error, FileNotFoundError):
                raise error

    def _hold(self, who: str, found: list[Read]) -> None:
        """Hold that records were sent, and that their offsets ascend."""
        wrong = self._load.wrong(found)
        if wrong is not None:
            raise BesideBrokerError(f"{who}: {wrong}")
        last: dict[Place, int] = {}
        for each in sorted(found, key=lambda read: read.place):  # a stable order
            # A client that still reads when the topic is made again begins at its start.
            is_another = who == "a server" and each.topic == "again" and each.offset == 0
            if each.offset <= last.get(each.place, -1) and not is_another:
                raise BesideBrokerError(f"{who}: {each} comes after {last[each.place]}")
            last[each.place] = each.offset

    def _hold_complete(
        self, who: str, found: list[Read], known: dict[Place, dict[int, tuple[str, str]]]
    ) -> None:
        """Hold that what nobody deletes is there: all of some topics, the newest of each key."""
        there = {(each.place, each.offset) for each in found}
        for place, records in known.items():
            if place[0] not in WHOLE:
                continue
            lost = sorted(offset for offset in records if (place, offset) not in there)
            if lost:
                raise BesideBrokerError(f"{who}: {place} has no offsets {lost[:5]}, {len(lost)}")
        newest: dict[str | None, int] = {}
        for each in found:
            if each.topic == "keys":
                newest[each.key] = max(each.offset, newest.get(each.key, -1))
        later = self._load.newest("keys", self._load.acknowledged())
        for key, offset in self._load.newest("keys", known).items():
            if newest.get(key, -1) < offset == later[key]:  # no later record has replaced it
                raise BesideBrokerError(
                    f"{who}: the newest of key {key} is {newest.get(key)}, was {offset} before"
                )


def read_beside_broker(folder: Path, seed: int, seconds: float = BESIDE_S) -> None:
    """Read a broker's directory in every way while it works, and once more when it has stopped.

    Args:
        folder: empty.
        seed: of the load, and of what is looked at.
        seconds: of load.

    Raises:
        BesideBrokerError: see there.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataLossWarning)
        warnings.simplefilter("ignore", wb.CorruptDataWarning)  # a batch that is being written
        with Broker(VERSION, folder / "broker", BROKER) as broker:
            load = Load(broker, seed)
            beside = Beside(broker.data, load, seed)
            with load.running():
                _wait_for(broker.data)
                screen = Workbench(broker.data, show_values=True)
                screen.explorer.follow = True
                assert screen.explorer.follower is not None
                screen.explorer.follower.stop()  # the watcher looks
                acts: dict[str, Callable[[], None]] = {
                    "a scan": beside.scan,
                    "a server": beside.serve,
                    "a stream": beside.stream,
                    "the screen": lambda: beside.look(screen),
                }
                watchers = [Watcher(name, act) for name, act in acts.items()]
                end = time.monotonic() + seconds
                try:
                    while time.monotonic() < end:
                        time.sleep(0.2)
                        for each in watchers:
                            each.check()
                finally:
                    for each in watchers:
                        each.end()
                for each in watchers:
                    each.stop()
                screen.close()
            assert load.made > 1
            beside.stream()
            _hold_streamed(beside, load)
            for isolation in ("read_uncommitted", "read_committed"):
                _hold_equal(broker, isolation)
        hold_findings(broker.data)


def _wait_for(data: Path) -> None:
    deadline = time.monotonic() + SETTLES_S
    while not all((data / f"{topic}-0").is_dir() for topic in TOPICS):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _hold_streamed(beside: Beside, load: Load) -> None:
    """Hold that the stream gave each record of the topics of which nothing is deleted."""
    given = {(each.place, each.offset) for each in beside.streamed}
    for place, records in load.acknowledged().items():
        lost = [offset for offset in records if (place, offset) not in given]
        if place[0] in WHOLE and lost:
            raise BesideBrokerError(f"a stream: {place} had no offsets {sorted(lost)[:5]}")


def _hold_equal(broker: Broker, isolation: str) -> None:
    """Hold that a scan and a server give what a client of the broker reads before and after.

    A broker that still cleans and retains no longer gives what it deletes, before the files go. So
    where it deletes, a moment must come in which they are the same.
    """
    deadline = time.monotonic() + SETTLES_S
    after = read_with_client(broker.bootstrap, isolation)
    while True:
        before = after
        scan = scanned(broker.data, isolation)
        with wb.serve(broker.data) as server:
            served = read_with_client(server.bootstrap_servers, isolation)
        after = read_with_client(broker.bootstrap, isolation)
        is_same, is_late = sorted(before) == sorted(after), time.monotonic() > deadline
        for who, given in (("a scan", scan), ("a server", served)):
            less = (Counter(before) & Counter(after)) - Counter(given)
            more = Counter(given) - (Counter(before) | Counter(after))
            if less or any(each.topic in WHOLE or is_late for each in more):
                raise BesideBrokerError(
                    f"{who}, {isolation}: more {[*more][:3]}, less {[*less][:3]}"
                )
            is_same &= not more
        if is_same or is_late:
            return
        time.sleep(0.5)


BROKER_ROUNDS: Final[dict[str, Callable[[Path, int], None]]] = {
    "read beside broker": read_beside_broker
}
"""By name."""
