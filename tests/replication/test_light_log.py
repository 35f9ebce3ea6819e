"""The light logs of a search and real logs show the same after each event."""

from random import Random

import pytest

from tests.replication.walks import Walk, next_event, seen
from workbench.replication.simulation.cluster import Cluster
from workbench.replication.simulation.events import Event, do

RULES = ("0.10", "0.11", "1.1", "2.0.0", "2.0", "2.3", "2.8", "3.5", "3.9", "4.2", "kraft")


def test_deleted_records_are_gone_from_both() -> None:
    """Until a crash: a real log then has the log start offset of its last checkpoint again."""
    with Cluster(2, storage="light") as light, Cluster(2) as real:
        for event in [
            *(Event("produce", value=f"m{number}") for number in range(3)),
            Event("rest"), Event("elect", 1), Event("produce", value="m3"), Event("rest"),
            Event("delete records", offset=2), Event("rest"),
            Event("delete records", offset=4), Event("rest"), Event("produce", value="m4"),
        ]:  # fmt: skip
            do(light, event)
            do(real, event)
            assert seen(light) == seen(real), event
        assert light.log(0).log_start_offset == 4


@pytest.mark.parametrize("rules", RULES)
def test_light_and_real_logs_show_the_same(rules: str) -> None:
    for seed in range(3):
        walk = Walk(seed, rules, brokers=2 + seed % 2, min_isr=1 + seed // 2, steps=120)
        rng = Random(f"{walk}")
        with walk.cluster(storage="light") as light, walk.cluster() as real:
            events = []
            for _ in range(walk.steps):
                event = next_event(light, rng, deletes=False)
                events.append(str(event))
                do(light, event)
                do(real, event)
                assert seen(light) == seen(real), "\n".join(events)
