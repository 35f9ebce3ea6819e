"""CPU time of replication: fetch rounds of a cluster, states of a search.

python -m tests.benchmarks.bench_replication
"""

import time
from collections.abc import Callable

from workbench.replication.simulation.cluster import Cluster
from workbench.replication.simulation.events import Bounds
from workbench.replication.simulation.search import find_schedule

ROUNDS = 5
FETCHES = 1_000


def best(run: Callable[[], int]) -> float:
    """Return how much is done per CPU second: the best of several rounds."""
    rates = []
    for _ in range(ROUNDS):
        started = time.process_time()
        count = run()
        rates.append(count / (time.process_time() - started))
    return max(rates)


def with_records(cluster: Cluster) -> int:
    """Copy records to two followers, one at a time; return the number of rounds."""
    for _ in range(FETCHES // 2):
        cluster.produce("value")
        for follower in (1, 2):
            cluster.fetch(follower)
            cluster.answer(follower)
    return FETCHES


def without_records(cluster: Cluster) -> int:
    """Let a follower wait for records that do not come; return the number of rounds."""
    for _ in range(FETCHES):
        cluster.fetch(1)
        cluster.expire(1)
        cluster.answer(1)
    return FETCHES


def states(rules: str, bounds: Bounds) -> int:
    """Search for a divergence; return the number of different states."""
    return find_schedule("divergence", rules=rules, bounds=bounds).states


def main() -> None:
    """Print the rates."""
    for storage in ("engine", "light"):
        with Cluster(3, storage=storage) as cluster:
            rate = best(lambda cluster=cluster: with_records(cluster))  # type: ignore[misc]
            print(f"{storage}: {rate:,.0f} fetch rounds/s that bring a record")
            rate = best(lambda cluster=cluster: without_records(cluster))  # type: ignore[misc]
            print(f"{storage}: {rate:,.0f} fetch rounds/s without records")
    for rules, bounds in [("1.1", Bounds()), ("4.2", Bounds(records=2, crashes=2, elections=1))]:
        rate = best(lambda rules=rules, bounds=bounds: states(rules, bounds))  # type: ignore[misc]
        print(f"search by the rules of {rules}: {rate:,.0f} states/s")


if __name__ == "__main__":
    main()
