"""Seconds of the campaign, and every case that it found once."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests import naive
from tests.campaign.bases import Base, choose_base
from tests.campaign.campaign import Campaign, Case, attack, campaign, fingerprint, kept_cases
from tests.campaign.engine_rounds import ENGINE_ROUNDS
from tests.campaign.mutations import KINDS, Mutation, choose
from tests.campaign.oracle import find_batches, must_be_given
from tests.campaign.worker_process import WorkerProcess
from tests.memory import MOST, Meter
from tests.naive import Record

SEED = 1
MUTATED = 40  # rounds of which the mutations are looked at


@pytest.fixture(scope="module")
def made() -> Iterator[Campaign]:
    """A campaign whose workers serve all tests."""
    with campaign() as running:
        yield running


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("rounds", [6, pytest.param(40, marks=pytest.mark.long)])
def test_the_campaign_finds_nothing(made: Campaign, rounds: int) -> None:
    failures = [
        (one.fault, one.about) for one in attack(made, 0, SEED, ENGINE_ROUNDS, least=rounds)
    ]
    assert not failures
    assert made.rounds.total() >= rounds
    assert made.calls["oracle"]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in kept_cases()])
def test_what_was_found_once_is_mended(case: Case, made: Campaign) -> None:
    assert made.run(case) == []


def test_mutations_are_done_again_the_same_way(tmp_path: Path, made: Campaign) -> None:
    kinds: set[str] = set()
    for seed in range(MUTATED):
        rng = Random(seed)
        base = choose_base(made.cases, rng)
        once, again = tmp_path / f"{seed}-once", tmp_path / f"{seed}-again"
        base.copy(made.cases, once)
        base.copy(made.cases, again)
        mutations = choose(once, rng)
        for mutation in mutations:
            mutation.apply(again)
        kinds.update(mutation.kind for mutation in mutations)
        assert contents(once) == contents(again)
    assert len(kinds) > len(KINDS) // 2


def contents(directory: Path) -> dict[str, tuple[int, bytes]]:
    """Return kind and bytes of each path below a directory."""
    return {
        name.removeprefix(str(directory)): (mode, content)
        for name, (mode, *_, content) in fingerprint(directory).items()
        if name != str(directory)
    }


def test_a_worker_that_dies_is_a_fault_and_another_takes_its_place(tmp_path: Path) -> None:
    directory, scratch = tmp_path / "logs", tmp_path / "scratch"
    directory.mkdir()
    scratch.mkdir()
    worker = WorkerProcess("compiled", tmp_path / "log")
    faults = worker.make_calls(directory, scratch, ["ls", "no such call", "verify"])
    worker.stop()
    assert [(fault.call, fault.type) for fault in faults] == [("no such call", "Died")]


def test_the_oracle_finds_what_is_there_and_nothing_else() -> None:
    first = [Record(0, 5, b"a", b"b"), Record(1, 6, None, b"c", ((b"h", None),))]
    last = [Record(3, 7, b"d", None)]
    data = naive.batch(first) + naive.batch(last, codec=1)
    found = find_batches(data)
    assert found.possible == {*first, *last}
    assert list(must_be_given([(0, found)])) == [*first, *last]


def test_the_oracle_takes_no_batch_whose_checksum_is_wrong() -> None:
    batch = naive.batch([Record(0, 5, b"a", b"b")])
    damaged = batch[:-1] + bytes([batch[-1] ^ 1])
    other = [Record(1, 5, b"c", b"d")]
    found = find_batches(damaged + naive.batch(other))
    assert found.possible == set(other)
    assert list(must_be_given([(0, found)])) == other


def test_the_oracle_asks_for_nothing_where_batches_are_out_of_order() -> None:
    batches = [naive.batch([Record(offset, 5, b"a", b"b")]) for offset in (1, 0)]
    found = find_batches(b"".join(batches))
    assert len(found.possible) == 2
    assert list(must_be_given([(0, found)])) == []


def test_many_batches_that_expand_without_end_take_what_one_takes(tmp_path: Path) -> None:
    """The allocator of C kept what was given back while each of them grew: 342 MiB in all."""
    small, directory, cases = tmp_path / "small", tmp_path / "data", tmp_path / "cases"
    folder = "crash-plain-0"
    Base("golden:2.8.2-crash-produce-1/after", ()).copy(cases, small)
    Base("golden:2.8.2-crash-produce-1/after", (folder,)).copy(cases, directory)
    log = f"{folder}/{0:020d}.log"
    Mutation("bomb", log, 1810984653).apply(directory)
    Mutation("order of batches", log, 2638466699).apply(directory)
    with Meter(small) as meter:
        cost = meter.cost("scan", directory)
    assert cost.result.count("batch-too-large") > 40
    assert cost.grown < MOST
