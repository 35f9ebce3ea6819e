"""Mutates directories, makes every call on them, and keeps what goes wrong as small cases.

Between these rounds come others: see `tests.campaign.engine_rounds`, `command_rounds`,
`app_rounds`, `broker_rounds`, `kafka_rounds`, `server_rounds`, `spark_rounds` and `value_rounds`.

`make campaign MINUTES=10` runs it; `SEED=7` begins with another round.
"""

import argparse
import hashlib
import itertools
import json
import os
import shutil
import stat
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from tests.campaign.bases import Base, choose_base
from tests.campaign.calls import CALLS, COMMANDS
from tests.campaign.engine_rounds import ENGINE_ROUNDS
from tests.campaign.frames import deepest
from tests.campaign.mutations import Mutation, choose
from tests.campaign.pairs import PAIRS
from tests.campaign.worker_process import Fault, Kernels, WorkerProcess

FOUND: Final = Path(__file__).with_name("found")
ORACLE: Final = "oracle"
ALWAYS: Final = (
    ORACLE,
    "LogDirectory.verify",
    "LogDirectory.predict_startup",
    "scan to_arrow",
    "scan read_committed",
    "verify --json",
)
OTHERS: Final = tuple(call.name for call in (*CALLS, *COMMANDS) if call.name not in ALWAYS)
OTHERS_EVERY: Final = 6  # one round about something else per this many of mutated directories
PAIRS_A_ROUND: Final = 2
CALLS_A_ROUND: Final = 14  # beside those that are always made
PLAIN_SHARE: Final = 0.15  # of the rounds run the plain twins; what is large takes them minutes
CHECKED_SHARE: Final = 0.3  # of the others run kernels between pages that nobody can touch
PATIENCE: Final = 20.0  # seconds for making a case small
MEMORY: Final = Path("/dev/shm")  # noqa: S108 - many small files come and go

Round = Callable[[Path, int], None]
"""Takes an empty folder and a seed; raises when something is wrong."""


class Case(NamedTuple):
    """A mutated directory and what is called on it: enough to do it again.

    Attributes:
        base: where it begins.
        mutations: done in this order.
        calls: names, made in this order.
        kernels: that the process runs.
    """

    base: Base
    mutations: tuple[Mutation, ...]
    calls: tuple[str, ...]
    kernels: Kernels = "compiled"

    def as_line(self, fault: Fault) -> str:
        """Return it as a line of JSON, with what went wrong."""
        return json.dumps({**self._asdict(), "found": fault._asdict()})

    @classmethod
    def from_line(cls, line: str) -> "Case":
        """Return what `as_line` wrote."""
        row = json.loads(line)
        name, folders = row["base"]
        return cls(
            Base(name, tuple(folders)),
            tuple(Mutation(*each) for each in row["mutations"]),
            tuple(row["calls"]),
            row["kernels"],
        )


def fingerprint(directory: Path) -> dict[str, tuple[Any, ...]]:
    """Return what is known of each path without reading changing it: kind, size, times, bytes."""
    found: dict[str, tuple[Any, ...]] = {}
    for path in (directory, *directory.rglob("*")):
        status = path.lstat()
        content = b""
        if stat.S_ISREG(status.st_mode) and status.st_size < 1 << 20:
            content = hashlib.sha256(path.read_bytes()).digest()
        elif stat.S_ISLNK(status.st_mode):
            content = os.fsencode(os.readlink(path))
        times = status.st_mtime_ns, status.st_ctime_ns
        found[str(path)] = (status.st_mode, status.st_size, status.st_ino, times, content)
    return found


class Campaign:
    """Runs cases.

    Args:
        folder: for cases, copies and what workers print; empty.

    Attributes:
        tried: how often each kind of mutation was done, and each call made.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.cases = folder / "cases"
        self.cases.mkdir()
        self.mutations: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self.rounds: Counter[str] = Counter()
        kinds: tuple[Kernels, ...] = ("compiled", "checked", "plain")
        self._workers = {kind: WorkerProcess(kind, folder / f"{kind}.log") for kind in kinds}

    def round(self, seed: int) -> tuple[Case, list[Fault]]:
        """Make a case by chance and run it."""
        rng = Random(seed)
        base = choose_base(self.cases, rng)
        with self._copy(base) as directory:
            mutations = tuple(choose(directory, rng))
        pairs = [pair.name for pair in rng.sample(PAIRS, PAIRS_A_ROUND)]
        calls = (*ALWAYS, *pairs, *rng.sample(OTHERS, CALLS_A_ROUND))
        is_small = all(mutation.kind != "bomb" for mutation in mutations)
        kernels: Kernels = "checked" if rng.random() < CHECKED_SHARE else "compiled"
        if is_small and rng.random() < PLAIN_SHARE:
            kernels = "plain"
        case = Case(base, mutations, calls, kernels)
        return case, self.run(case)

    def run(self, case: Case) -> list[Fault]:
        """Run a case; return its faults."""
        self.rounds[case.kernels] += 1
        self.mutations.update(mutation.kind for mutation in case.mutations)
        self.calls.update(case.calls)
        with self._copy(case.base) as directory:
            for mutation in case.mutations:
                mutation.apply(directory)
            before = fingerprint(directory)
            scratch = directory.parent / "scratch"
            scratch.mkdir()
            worker = self._workers[case.kernels]
            faults = worker.make_calls(directory, scratch, list(case.calls))
            if changed := before.items() ^ fingerprint(directory).items():
                names = sorted({Path(name).name for name, _ in changed})
                faults.append(Fault("round", "Changed", "unseen", ", ".join(names)))
        return faults

    def other_round(self, name: str, run: Round, seed: int) -> Fault | None:
        """Run a round that is not about mutated directories; return what went wrong."""
        self.rounds[name] += 1
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            try:
                run(Path(folder), seed)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
                where = deepest(traceback.extract_tb(error.__traceback__))
                text = str(error).replace(folder, "")[:300]
                return Fault(name, type(error).__name__, where, text)
        return None

    def smaller(self, case: Case, fault: Fault) -> Case:
        """Return a case with the same fault and fewer calls, mutations and folders.

        What could be left out still is tried for `PATIENCE` seconds.
        """
        end = time.monotonic() + PATIENCE
        small = case
        if fault.call != "round":
            small = self._if_it_has(fault, case._replace(calls=(fault.call,)), case)
        for mutation in case.mutations:
            fewer = tuple(each for each in small.mutations if each is not mutation)
            if time.monotonic() < end:
                small = self._if_it_has(fault, small._replace(mutations=fewer), small)
        for folder in case.base.folders:
            left = tuple(each for each in small.base.folders if each != folder)
            if left and time.monotonic() < end:
                base = small.base._replace(folders=left)
                small = self._if_it_has(fault, small._replace(base=base), small)
        return small

    def _if_it_has(self, fault: Fault, smaller: Case, larger: Case) -> Case:
        """Return the smaller case if it has the fault, too."""
        return smaller if fault.key in {each.key for each in self.run(smaller)} else larger

    @contextmanager
    def _copy(self, base: Base) -> Iterator[Path]:
        place = Path(tempfile.mkdtemp(dir=self._folder))
        try:
            base.copy(self.cases, place / "logs")
            yield place / "logs"
        finally:
            shutil.rmtree(place)

    def stop(self) -> None:
        """End the workers."""
        for worker in self._workers.values():
            worker.stop()


@contextmanager
def campaign() -> Iterator[Campaign]:
    """Make a campaign in a folder of its own, in memory if it can be."""
    parent = MEMORY if MEMORY.is_dir() else None
    folder = Path(tempfile.mkdtemp(dir=parent, prefix="campaign-"))
    made = Campaign(folder)
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder)


def kept_cases() -> list[tuple[str, Case]]:
    """Return the cases that were kept, by name."""
    return [
        (f"{path.stem}-{number}", Case.from_line(line))
        for path in sorted(FOUND.glob("*.jsonl"))
        for number, line in enumerate(path.read_text().splitlines())
    ]


class Failure(NamedTuple):
    """A cause that was not met before.

    Attributes:
        fault: how it showed.
        case: small, to be kept; None where a round about the engine failed.
        about: how to repeat it.
    """

    fault: Fault
    case: Case | None
    about: list[str]


def attack(
    made: Campaign, seconds: float, seed: int, others: Mapping[str, Round], least: int = 0
) -> Iterator[Failure]:
    """Run rounds for a time; yield what fails, each cause once.

    Args:
        made: runs them.
        seconds: that pass before the last round begins.
        seed: the first round's.
        others: rounds that are not about mutated directories; one in `OTHERS_EVERY` rounds.
        least: rounds that are run however long they take.
    """
    known: set[tuple[str, str]] = set()
    end = time.monotonic() + seconds
    for number in itertools.count(seed):
        if time.monotonic() > end and number - seed >= least:
            return
        if number % OTHERS_EVERY == 0:
            name = tuple(others)[number // OTHERS_EVERY % len(others)]
            fault = made.other_round(name, others[name], number)
            if fault is not None and fault.key not in known:
                known.add(fault.key)
                yield Failure(fault, None, [f"round {name!r}, seed {number}"])
        case, faults = made.round(number)
        for fault in faults:
            if fault.key not in known:
                known.add(fault.key)
                small = made.smaller(case, fault)
                about = [f"{small.base.name} {' '.join(small.base.folders)}"]
                about += [f"{one.kind}: {one.path!r}" for one in small.mutations]
                yield Failure(fault, small, about)


def replay(path: Path) -> int:
    """Run the cases of a file; print which of them still fail."""
    failed = 0
    with campaign() as made:
        for number, line in enumerate(path.read_text().splitlines()):
            faults = made.run(Case.from_line(line))
            failed += bool(faults)
            for fault in faults:
                print(f"{number}: {fault.type} {fault.where} in {fault.call}: {fault.text}")
    print(f"{failed} failed")
    return 1 if failed else 0


def main() -> int:
    """Run a campaign; print what it tried and found, and keep what it found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--keep", type=Path, default=FOUND / "new.jsonl")
    parser.add_argument("--replay", type=Path, help="run the cases of a file instead")
    options = parser.parse_args()
    if options.replay is not None:
        return replay(options.replay)
    print(f"seed {options.seed}, {options.minutes:g} minutes", flush=True)
    from tests.campaign.app_rounds import APP_ROUNDS
    from tests.campaign.broker_rounds import BROKER_ROUNDS
    from tests.campaign.command_rounds import COMMAND_ROUNDS
    from tests.campaign.kafka_rounds import KAFKA_ROUNDS  # the tests do without its clients
    from tests.campaign.server_rounds import SERVER_ROUNDS
    from tests.campaign.spark_rounds import SPARK_ROUNDS  # and without its session
    from tests.campaign.value_rounds import VALUE_ROUNDS

    found = 0
    others = {
        **COMMAND_ROUNDS, **APP_ROUNDS, **ENGINE_ROUNDS, **BROKER_ROUNDS, **KAFKA_ROUNDS,
        **SERVER_ROUNDS, **SPARK_ROUNDS, **VALUE_ROUNDS,
    }  # fmt: skip
    with campaign() as made:
        for failure in attack(made, options.minutes * 60, options.seed, others):
            found += 1
            fault = failure.fault
            print(f"\n{fault.type} {fault.where} in {fault.call}: {fault.text}")
            print("\n".join(f"  {line}" for line in failure.about), flush=True)
            if failure.case is not None:
                options.keep.parent.mkdir(exist_ok=True)
                with options.keep.open("a") as file:
                    file.write(failure.case.as_line(fault) + "\n")
    print(f"\nrounds: {made.rounds.total()}: {dict(made.rounds)}")
    print(f"mutations: {made.mutations.total()}: {dict(made.mutations.most_common())}")
    print(f"calls: {made.calls.total()}, {len(made.calls)} different ones")
    print(f"found: {found}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
