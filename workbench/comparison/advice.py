"""Which replica to keep: the one that loses the least if its broker becomes the leader."""

from workbench.comparison.replica import Replica
from workbench.comparison.results import PartitionComparison
from workbench.runtime.words import plural


def replica_to_keep(compared: PartitionComparison) -> Replica:
    """Return the replica that loses the least as the leader's.

    Committed offsets that it lacks or cannot read count first, then offsets that perhaps were not
    committed, then how far its log goes: last epoch, then log end offset.
    """

    def cost(replica: Replica) -> tuple[int, ...]:
        leadership = compared.leaderships[replica.broker]
        epoch, end = replica.rank
        return _lost(compared, replica), leadership.uncommitted, -epoch, -end

    return min(compared.replicas, key=cost)


def advice(compared: PartitionComparison) -> str:
    """Return one to three sentences: which replica to keep, and what that costs."""
    kept = replica_to_keep(compared)
    ahead = compared.replica(compared.ahead)
    if len(compared.replicas) == 1:
        return f"Only broker {kept.broker} has a log of {compared.name} here."
    if any(each.kind == "topic-id" for each in compared.findings):
        return "These are logs of two topics of one name. Keep those with the cluster's topic id."
    if compared.verdict == "alike":
        return "The replicas hold the same records: each can be kept."
    sentences = [f"Keep the replica of broker {kept.broker}: {_reason(compared, kept)}."]
    lost = compared.leaderships[ahead.broker].lost
    if kept is not ahead and lost is not None:
        sentences.append(
            f"Broker {ahead.broker} is ahead by its leader epoch, but as the leader it would lose "
            f"{plural(lost[1] - lost[0], 'committed offset')}."
        )
    removed = any(each.removes for each in compared.leaderships[ahead.broker].truncations.values())
    if compared.verdict in {"loss", "divergence"} and removed:
        sentences.append("Copy the partition directories before a broker starts.")
    return " ".join(sentences)


def _lost(compared: PartitionComparison, replica: Replica) -> int:
    """Return how many committed offsets a replica lacks or cannot read."""
    lost = compared.leaderships[replica.broker].lost
    missing = 0 if lost is None else lost[1] - lost[0]
    end = compared.committed_at_least
    return missing + sum(max(0, min(high, end) - low) for low, high in replica.lost)


def _reason(compared: PartitionComparison, kept: Replica) -> str:
    leadership = compared.leaderships[kept.broker]
    lost = _lost(compared, kept)
    if lost:
        verb = "is" if lost == 1 else "are"
        return f"with it, {plural(lost, 'committed offset')} {verb} lost, the fewest possible"
    text = "it has everything that is known to be committed"
    if leadership.uncommitted:
        others = plural(leadership.uncommitted, "offset")
        return f"{text}; {others} of broker {compared.ahead}, perhaps not committed, would be lost"
    return text
