"""Random schedules by the million: what breaks is printed as events that can be played again.

python -m tests.replication.campaign --minutes 10 --seed 7
"""

import argparse
import json
import sys
import time
from collections import Counter
from typing import Final

from tests.replication.walks import Walk, play
from workbench.replication.rules import Rules
from workbench.replication.simulation.events import Event, as_dict, do
from workbench.replication.simulation.invariants import violations

RULES: Final = ("4.2", "kraft", "2.7", "3.6", "2.8", "3.5", "3.9", "2.1", "2.0.0", "1.1", "0.10")
STEPS: Final = 400
_OLD: Final = frozenset(
    {"divergence", "in-sync replicas differ", "committed record lost", "epochs fall"}
)


def known_kinds(rules: str) -> frozenset[str]:
    """Return the promises that the rules of a version are known to break.

    Up to 1.1 followers cut at the wrong offset (KIP-101, KIP-279), so leaders lose records, and
    what a follower has copied from two leaders has falling epochs. In 2.0.0 a new leader does not
    know its own epoch, and nobody one before the own first (KAFKA-7415).
    """
    return frozenset() if Rules.of(rules).answers_below_first else _OLD


def smallest(walk: Walk, events: list[Event], kind: str) -> list[Event]:
    """Return the events without those that the same broken promise does not need."""
    kept = list(events)
    place = len(kept) - 1
    while place >= 0:
        fewer = kept[:place] + kept[place + 1 :]
        cluster = walk.cluster(storage="light")
        try:
            for event in fewer:
                do(cluster, event)
        except ValueError:  # an event that cannot happen now
            place -= 1
            continue
        if any(found.kind == kind for found in violations(cluster)):
            kept = fewer
        place -= 1
    return kept


def main() -> int:
    """Walk until the time is over; return 1 if a promise broke that should hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    until = time.monotonic() + 60 * asked.minutes
    seed, steps, bad = asked.seed, 0, 0
    broken: Counter[tuple[str, str]] = Counter()
    while time.monotonic() < until:
        rules = RULES[seed % len(RULES)]
        walk = Walk(seed, rules, brokers=2 + seed % 3, min_isr=1 + seed // 3 % 2, steps=STEPS)
        played, _, events, found = play(walk)
        steps += played
        for violation in found:
            broken[rules, violation.kind] += 1
            if violation.kind not in known_kinds(rules):
                bad += 1
                print(f"{walk}\n{violation.kind}: {violation.text}")  # noqa: T201
                for event in smallest(walk, events, violation.kind):
                    print(json.dumps(as_dict(event)))  # noqa: T201
        seed += 1
    print(f"{steps:,} steps, next seed {seed}")  # noqa: T201
    for (rules, kind), count in sorted(broken.items()):
        print(f"  {rules}: {kind}: {count} of known kinds")  # noqa: T201
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
