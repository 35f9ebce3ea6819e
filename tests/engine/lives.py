"""What the logs of the tests live through: scripts, and lives by chance."""

from collections.abc import Callable
from random import Random

from tests.engine.life import Life

Script = Callable[[Life], None]


def appends(life: Life) -> None:
    """Append and flush, checkpoints now before and now after."""
    for _ in range(4):
        life.append()
    life.checkpoint()
    life.flush()
    life.append()
    life.checkpoint()
    life.append(3)
    life.flush()
    life.append(1)


def rolls(life: Life) -> None:
    """Roll several times before the first segment is flushed."""
    for _ in range(4):
        life.append()
    life.hold_tasks()
    for _ in range(10):
        life.append(3)
    life.run_tasks()
    life.checkpoint()
    life.append()


def truncations(life: Life) -> None:
    """Truncate within a segment, at one's end, and fully, and continue under other leaders."""
    for number in range(18):
        life.append(epoch=number // 6)
    life.flush()
    life.checkpoint()
    life.truncate_to(15)
    for _ in range(3):
        life.append(1, epoch=4)
    life.flush()
    life.checkpoint()
    for _ in range(6):
        life.append(3, epoch=5)
    life.truncate_to(17)
    life.append(epoch=6)
    life.wait(2000)
    life.truncate_fully(100)
    life.append(epoch=7)
    life.flush()
    life.checkpoint()
    life.truncate_fully(101)
    life.append(epoch=8)
    life.wait(2000)


def truncation_before_a_flush(life: Life) -> None:
    """Truncate what a roll wanted to flush, before it comes to it."""
    for _ in range(4):
        life.append()
    life.hold_tasks()
    for _ in range(6):
        life.append(3)
    life.truncate_to(7)
    life.run_tasks()
    for _ in range(8):
        life.append(3, epoch=1)
    life.checkpoint()


def retention(life: Life) -> None:
    """Let the log start later, by a client's wish and by time."""
    for _ in range(14):
        life.append(3)
    life.commit()
    life.delete_records(13)
    life.checkpoint()
    life.append()
    life.retain()
    life.flush()
    life.wait(95_000)
    for _ in range(6):
        life.append()
    life.commit()
    life.wait(10_000)
    life.retain()
    life.checkpoint()
    life.append()
    life.flush()
    life.wait(2000)


def deleted_unflushed(life: Life) -> None:
    """Let the log start after segments that were never flushed, and flush what follows."""
    life.hold_tasks()
    for _ in range(12):
        life.append(3)
    life.commit()
    life.delete_records(25)
    life.flush()
    life.append()
    life.commit()
    life.roll()
    life.delete_records(life.log.log_end_offset)
    life.append(4)
    life.retain()
    life.checkpoint()
    life.run_tasks()


def producers(life: Life) -> None:
    """Idempotent and transactional producers, with a checkpoint and a log start between."""
    for number in range(5):
        life.produce(1)
        life.produce(2, 3, transactional=True)
        life.produce(3, 1, transactional=True)
        if number % 2:
            life.end_transaction(2, commit=number == 3)
        if number == 2:
            life.flush()
            life.checkpoint()
        if number == 3:
            life.commit()
            life.delete_records(8)
            life.retain()
    life.end_transaction(3, commit=False)
    life.checkpoint()
    life.produce(1)
    life.wait(2000)


def producers_truncated(life: Life) -> None:
    """Truncate what producers wrote, and let others write in its place."""
    for number in range(5):
        life.produce(1)
        life.produce(2, 3, transactional=True)
        life.produce(3, 1, transactional=True)
        if number % 2:
            life.end_transaction(2, commit=number == 3)
    life.flush()
    life.checkpoint()
    life.truncate_to(14)
    life.produce(1, epoch=1)
    life.produce(4, epoch=1)
    life.flush()
    life.checkpoint()
    for _ in range(5):
        life.produce(4, 4, epoch=1)
    life.wait(2000)


def replacement(life: Life) -> None:
    """Put a cleaned segment in the place of two."""
    for _ in range(16):
        life.append()
    life.flush()
    life.checkpoint()
    life.clean(Random(3))
    life.append()
    life.flush()
    life.wait(2000)


def stops(life: Life) -> None:
    """Shut down cleanly, continue, roll at once or later, and shut down again."""
    for _ in range(6):
        life.produce(1)
    life.close()
    life.reopen()
    life.roll()
    life.append()
    life.append()
    life.roll()
    life.produce(1)
    life.close()
    life.reopen()
    life.produce(1)
    life.flush()


def recoveries(life: Life) -> None:
    """Be killed and recover, after each of appends, a roll, producers and a flush."""
    for _ in range(6):
        life.append()
    life.recover()
    life.produce(1)
    life.produce(2, 3, transactional=True)
    life.roll()
    life.recover()
    life.produce(1)
    life.end_transaction(2, commit=False)
    life.flush()
    life.checkpoint()
    life.append(4)
    life.recover()
    life.append()


def compactions(life: Life) -> None:
    """Let the cleaner clean a log whose records have few keys, be killed, and clean again."""
    for number in range(12):
        life.append(3, keys=4)
        if number % 4 == 3:
            life.produce(1, 1)  # its key is its own: what is kept of a batch has other times
    life.flush()
    life.checkpoint()
    life.compact()
    life.append(3, keys=4)
    life.wait(2000)
    life.roll()
    life.recover()
    life.append(3, keys=4)
    life.compact()
    life.wait(2000)


SCRIPTS: tuple[Script, ...] = (
    appends,
    rolls,
    truncations,
    truncation_before_a_flush,
    retention,
    deleted_unflushed,
    producers,
    producers_truncated,
    replacement,
    stops,
)


def by_chance(life: Life, rng: Random, steps: int) -> None:
    """Take steps by chance."""
    chance = _Chance(life, rng)
    choices = tuple(_Chance.WEIGHTS)
    weights = tuple(_Chance.WEIGHTS.values())
    for _ in range(steps):
        getattr(chance, rng.choices(choices, weights)[0])()


class _Chance:
    """The steps that a life may take, each with numbers by chance."""

    WEIGHTS = {  # noqa: RUF012  # read only
        "append": 30,
        "produce": 12,
        "produce_in_transaction": 8,
        "end_transaction": 5,
        "roll": 5,
        "flush": 6,
        "checkpoint": 6,
        "truncate": 5,
        "truncate_fully": 1,
        "delete_records": 4,
        "retain": 4,
        "wait": 2,
        "hold_tasks": 2,
        "run_tasks": 3,
        "stop": 2,
        "clean": 2,
    }

    def __init__(self, life: Life, rng: Random) -> None:
        self._life = life
        self._rng = rng
        self._epoch = (life.log.leader_epochs.latest_epoch or 0) + 1

    def append(self) -> None:
        self._life.append(self._rng.randrange(1, 6), epoch=self._epoch)

    def produce(self) -> None:
        rng = self._rng
        self._life.produce(rng.randrange(1, 4), rng.randrange(1, 4), epoch=self._epoch)

    def produce_in_transaction(self) -> None:
        rng = self._rng
        producer, count = rng.randrange(5, 8), rng.randrange(1, 4)
        self._life.produce(producer, count, transactional=True, epoch=self._epoch)

    def end_transaction(self) -> None:
        open_ones = [
            entry.producer_id
            for entry in self._life.log.producer_state.producers.values()
            if entry.current_transaction_first_offset is not None
        ]
        if open_ones:
            commit = self._rng.random() < 0.5
            self._life.end_transaction(
                self._rng.choice(open_ones), commit=commit, epoch=self._epoch
            )

    def roll(self) -> None:
        self._life.roll()

    def flush(self) -> None:
        self._life.flush()

    def checkpoint(self) -> None:
        self._life.checkpoint()

    def truncate(self) -> None:
        self._epoch += 1
        end = self._life.log.log_end_offset
        self._life.truncate_to(self._rng.randrange(max(0, end - 25), end + 1))

    def truncate_fully(self) -> None:
        self._epoch += 1
        self._life.truncate_fully(
            max(self._life.log.log_end_offset + self._rng.randrange(-5, 9), 0)
        )

    def delete_records(self) -> None:
        self._life.commit()
        log = self._life.log
        start, end = log.log_start_offset, log.log_end_offset
        self._life.delete_records(self._rng.randrange(start, end + 1))

    def retain(self) -> None:
        self._life.commit()
        self._life.wait(self._rng.choice([0, 50_000, 200_000]))
        self._life.retain()

    def wait(self) -> None:
        self._life.wait(2000)

    def hold_tasks(self) -> None:
        self._life.hold_tasks()

    def run_tasks(self) -> None:
        self._life.run_tasks()

    def stop(self) -> None:
        self._life.run_tasks()
        self._life.close()
        self._life.reopen()

    def clean(self) -> None:
        if len(self._life.log.segments) > 2:
            self._life.run_tasks()
            self._life.clean(self._rng)
