"""Random operations for a transaction coordinator, chosen by the state that ours is in.

A script is written while it is done, so that most requests name a producer id and an epoch that
exist, and some do not.
"""

from pathlib import Path
from random import Random

from tests.coordinator_jvm.transactions_ours import STATE, Ours, parse
from workbench.coordinator.transactions.states import TransactionState, TransactionVersion
from workbench.coordinator.transactions.transaction_log import (
    key_to_bytes,
    value_to_bytes,
)
from workbench.coordinator.transactions.transaction_metadata import TxnTransitMetadata
from workbench.record.memory_records import MemoryRecords

IDS = "abcdefgh"
DATA = ["orders-0", "orders-1", "payments-0", "orders-13"]
HOUR = 3_600_000
EPOCHS = [0, 5, 32764, 32765, 32766, 32766, 32766, 32767]


class Script:
    """A script with what ours said to it.

    Args:
        seed: of the choices.
        length: in operations.
        folder: for our logs.
    """

    def __init__(self, seed: int, length: int, folder: Path) -> None:
        self.random = Random(seed)
        self.lines: list[str] = []
        self.ours: list[str] = []
        self.house = Ours(folder)
        self.version = seed % 3
        self.partitions = 1 + seed % 2
        self.epochs = [0] * self.partitions
        self.is_loading = False
        self.sequences: dict[tuple[str, int, int], int] = {}
        self._begin()
        while len(self.lines) < length:
            self._next()
        for where in sorted(self.house.manager.away):
            self.do(f"back {where}")
        for _ in range(3):
            self.do("run")
        self.house.manager.shutdown()

    def do(self, line: str) -> None:
        """Do one line."""
        self.is_loading = self.is_loading and line != "run"
        self.lines.append(line)
        self.ours += self.house.do(line)

    def _begin(self) -> None:
        self.do(f"start {self.partitions} {self.version} {HOUR}")
        for where in DATA[:3]:
            self.do(f"make {where}")
        for number in range(self.partitions):
            self.do(f"elect {number} 0")
        for name in IDS[:4] if self.random.random() < 0.8 else "":
            self._seed(name)
        self.do("run")

    def _seed(self, name: str) -> None:
        """Write a state into the log, as an earlier coordinator may have left it."""
        assert self.house.coordinator is not None
        where = f"{STATE}-{self.house.coordinator.partition_for(name)}"
        state = TransactionState.of(self.random.choice([0, 0, 1, 1, 2, 3, 4, 5]))
        client = TransactionVersion(self.random.choice([0, 2] if self.version else [0]))
        # Markers are answered by producer id, so that no two ids may have the same.
        producer = 400 * IDS.index(name) + self.random.randrange(400)
        now = self.house.clock.now() - self.random.randrange(50_000)
        transit = TxnTransitMetadata(
            producer, -1, -1, self.random.choice(EPOCHS), -1, 60_000, state,
            frozenset() if state.is_at_rest else frozenset(map(parse, self._some_partitions())),
            -1 if state is TransactionState.EMPTY else now, now, client,
        )  # fmt: skip
        value = value_to_bytes(transit, TransactionVersion(self.version))
        record = (self.house.clock.now(), key_to_bytes(name), value)
        self.do(f"produce {where} {bytes(MemoryRecords.of(record)).hex()}")

    def _some_partitions(self) -> list[str]:
        if self.random.random() < 0.05:
            topics = self.random.sample([f"t{n}" for n in range(40)], 20)
            return [f"{t}-{n}" for t in topics for n in self.random.sample(range(70), 15)]
        return self.random.sample(DATA, self.random.randint(1, 3))

    def _next(self) -> None:
        choices = {
            self._init: 12, self._add: 18, self._end: 16, self._run: 14, self._produce: 12,
            self._verify: 3, self._clock: 6, self._abort: 3, self._expire: 2, self._failing: 2,
            self._away: 3, self._elect: 2, self._resign: 1, self._list: 2, self._ids: 1,
            self._delete: 1,
        }  # fmt: skip
        self.random.choices(list(choices), list(choices.values()))[0]()

    def _producer(self, name: str) -> tuple[int, int]:
        """Return a producer id and an epoch: mostly the current ones."""
        known = self.house.states.get(name)
        if known is None:
            return self.random.randrange(5000), 0
        producer, epoch = known.producer_id, known.producer_epoch
        chance = self.random.random()
        if chance < 0.06:
            epoch += self.random.choice([-2, 1, 2])
        elif chance < 0.16:
            epoch -= 1
        elif chance < 0.19:
            producer += 1
        elif chance < 0.26:
            producer, epoch = known.previous_producer_id, 32766
        return producer, max(min(epoch, 32767), 0)

    def _name(self) -> str:
        return "-" if self.random.random() < 0.01 else self.random.choice(IDS)

    def _client(self) -> int:
        if self.random.random() < (0.1 if self.version else 0.01):
            return self.random.choice([0, 2])
        return 2 if self.version == 2 else 0

    def _init(self) -> None:
        name = self._name()
        timeout = self.random.choice([60_000] * 8 + [0, -1, 900_000, 900_001, 30_000])
        expected = ""
        if self.random.random() < 0.4:
            known = self.house.states.get(name)
            producer, epoch = self._producer(name)
            if known is not None and self.random.random() < 0.3:
                epoch = max(known.last_producer_epoch, 0)
            expected = f" {producer} {epoch}"
        self.do(f"init {name} {timeout}{expected}")

    def _add(self) -> None:
        name = self._name()
        producer, epoch = self._producer(name)
        partitions = ",".join(self._some_partitions())
        self.do(f"add {name} {producer} {epoch} {self._client()} {partitions}")

    def _end(self) -> None:
        name = self._name()
        producer, epoch = self._producer(name)
        end = self.random.choice(["commit", "commit", "abort"])
        self.do(f"end {name} {producer} {epoch} {end} {self._client()}")
        if self.random.random() < 0.2:  # a retry, or the next one
            self.do(f"end {name} {producer} {epoch} {end} {self._client()}")

    def _run(self) -> None:
        self.do("run")

    def _produce(self) -> None:
        name = self.random.choice(IDS)
        known = self.house.states.get(name)
        if known is None:
            return
        there = sorted(str(each) for each in known.partitions)
        where = self.random.choice(there or DATA)
        producer, epoch = self._producer(name)
        sequence = self.sequences.get((where, producer, epoch), 0)
        if producer < 0 or parse(where) not in self.house.manager.logs:
            return
        count = self.random.randint(1, 3)
        records = MemoryRecords.of(
            *((self.house.clock.now(), b"k", b"%d" % n) for n in range(count)),
            producer_id=producer,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        self.do(f"produce {where} {bytes(records).hex()}")
        if "= NONE" in self.ours[-10:]:
            self.sequences[where, producer, epoch] = sequence + count

    def _verify(self) -> None:
        name = self._name()
        producer, epoch = self._producer(name)
        self.do(f"verify {name} {producer} {epoch} {','.join(self._some_partitions()[:4])}")

    def _clock(self) -> None:
        self.do(f"clock {self.random.choice([1, 7, 100, 10_000, 61_000, HOUR + 1])}")

    def _abort(self) -> None:
        assert self.house.coordinator is not None
        if len(self.house.coordinator.states.timed_out()) <= 1:  # Kafka's order is that of hashes
            self.do("abort")

    def _expire(self) -> None:
        self.do("expire")

    def _failing(self) -> None:
        """Let the append of one operation fail."""
        self.do("limit 20")
        ongoing = [n for n, m in self.house.states.items() if m.state is TransactionState.ONGOING]
        if ongoing and self.random.random() < 0.5:
            self.do(f"init {self.random.choice(ongoing)} 60000")
        else:
            self.random.choice([self._init, self._add, self._end, self._abort, self._expire])()
        self.do("limit 1048588")

    def _away(self) -> None:
        """Let a partition come and go: one at a time, so that retries stay in order."""
        if self.house.manager.away:
            (where,) = self.house.manager.away
            self.do(f"back {where}")
        else:
            state = f"{STATE}-{self.random.randrange(self.partitions)}"
            self.do(f"away {self.random.choice([state, *DATA[:3]])}")

    def _elect(self) -> None:
        number = self.random.randrange(self.partitions)
        if parse(f"{STATE}-{number}") in self.house.manager.away or self.is_loading:
            return
        if self.random.random() < 0.2:
            self.do(f"produce {STATE}-{number} {self._garbage()}")
        self.epochs[number] += 1
        self.do(f"elect {number} {self.epochs[number]}")
        self.is_loading = True
        if self.random.random() < 0.7:
            self.do("run")

    def _garbage(self) -> str:
        """Return a batch that no coordinator writes, as hex."""
        key, value = self.random.choice(
            [
                (b"\x00\x07what", b"x"),
                (key_to_bytes("zz"), None),
                (key_to_bytes("zz"), b"\x00\x09"),
                (key_to_bytes("a"), b"\x00\x00short"),
            ]
        )
        return bytes(MemoryRecords.of((self.house.clock.now(), key, value))).hex()

    def _resign(self) -> None:
        number = self.random.randrange(self.partitions)
        self.do(f"resign {number} {self.random.choice(['none', self.epochs[number] + 1])}")

    def _list(self) -> None:
        states = self.random.choice(["any", "Ongoing", "Empty,CompleteCommit", "Nonsense,Empty"])
        pattern = self.random.choice(["", "", " [a-c]", " a.*"])
        self.do(f"list {states} {self.random.choice([-1, 0, 10_000])}{pattern}")

    def _ids(self) -> None:
        self.do("ids off" if self.house.gives else "ids on")
        self.do("clock 100")

    def _delete(self) -> None:
        if parse(DATA[2]) in self.house.manager.logs:
            if not self.house.manager.away:
                self.do(f"delete {DATA[2]}")
                self.sequences.clear()
        else:
            self.do(f"make {DATA[2]}")
