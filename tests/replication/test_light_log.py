"""The light logs of a search and real logs show the same after each event."""

from random import Random

import pytest

from tests.replication.walks import Walk, next_event, seen
from workbench.replication.simulation.events import do

RULES = ("0.10", "0.11", "1.1", "2.0.0", "2.0", "2.3", "2.8", "3.5", "3.9", "4.2")


@pytest.mark.parametrize("rules", RULES)
def test_light_and_real_logs_show_the_same(rules: str) -> None:
    for seed in range(3):
        walk = Walk(seed, rules, brokers=2 + seed % 2, min_isr=1 + seed // 2, steps=120)
        rng = Random(f"{walk}")
        with walk.cluster(storage="light") as light, walk.cluster() as real:
            events = []
            for _ in range(walk.steps):
                event = next_event(light, rng)
                events.append(str(event))
                do(light, event)
                do(real, event)
                assert seen(light) == seen(real), "\n".join(events)
