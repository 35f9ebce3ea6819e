"""The tables of `logs.inspect` about a KRaft cluster, at any offset or time."""

import pyarrow as pa

from workbench.errors import CorruptDataWarning
from workbench.inspection.cluster import rows
from workbench.inspection.cluster.history import ClusterHistory
from workbench.inspection.cluster.image import StoredCluster
from workbench.inspection.cluster.loading import At, cluster_at
from workbench.inspection.cluster.provenance import (
    quorum_state,
    require_metadata_log,
    with_leader,
)
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Listing
from workbench.loaders.guessed_names import GuessedNames
from workbench.loaders.read_warnings import warn_caller
from workbench.loaders.tables.rows import table_of
from workbench.tables import cluster as tables


def _warn(findings: list[Finding] | tuple[Finding, ...]) -> None:
    for finding in findings:
        warn_caller(str(finding), CorruptDataWarning)


class ClusterTables(GuessedNames):
    """Arrow tables of the cluster's metadata, which a KRaft node keeps in `__cluster_metadata-0`.

    Every method takes ``at``: the state after the record at an offset (a number below 10^11), or
    before the first record after a time (ms, a datetime, ISO 8601, ``-1h``); None: as late as the
    log goes. Each raises:

        OSError: a file cannot be read.
        StateUnknownError: there is no metadata log, as in a cluster with ZooKeeper; or the files
            begin after ``at``.
        ValueError: ``at`` is neither an offset nor a time.

    What is damaged or missing, so that the state may be wrong, is a `CorruptDataWarning`.
    """

    _listing: Listing

    def _cluster(self, at: At | None) -> StoredCluster:
        partition = require_metadata_log(self._listing)
        state = cluster_at(partition, at)
        _warn(state.findings)
        return (with_leader(state, partition) if at is None else state).cluster

    def topics(self, at: At | None = None) -> pa.Table:
        """Return one row per topic of the cluster (`TopicRow`)."""
        return table_of(tables.TopicRow, rows.topic_rows(self._cluster(at)))

    def topic_partitions(self, at: At | None = None) -> pa.Table:
        """Return one row per partition with its leader and ISR (`TopicPartitionRow`)."""
        return table_of(tables.TopicPartitionRow, rows.partition_rows(self._cluster(at)))

    def configs(self, at: At | None = None) -> pa.Table:
        """Return one row per dynamic configuration (`ConfigRow`); secrets are ``[hidden]``."""
        return table_of(tables.ConfigRow, rows.config_rows(self._cluster(at)))

    def acls(self, at: At | None = None) -> pa.Table:
        """Return one row per ACL (`AclRow`)."""
        return table_of(tables.AclRow, rows.acl_rows(self._cluster(at)))

    def quotas(self, at: At | None = None) -> pa.Table:
        """Return one row per client quota (`QuotaRow`)."""
        return table_of(tables.QuotaRow, rows.quota_rows(self._cluster(at)))

    def scram_users(self, at: At | None = None) -> pa.Table:
        """Return one row per user and mechanism of SCRAM (`ScramUserRow`), without secrets."""
        return table_of(tables.ScramUserRow, rows.scram_rows(self._cluster(at)))

    def features(self, at: At | None = None) -> pa.Table:
        """Return one row per finalized feature (`FeatureRow`)."""
        return table_of(tables.FeatureRow, rows.feature_rows(self._cluster(at)))

    def brokers(self, at: At | None = None) -> pa.Table:
        """Return one row per registered broker (`BrokerRow`)."""
        return table_of(tables.BrokerRow, rows.broker_rows(self._cluster(at)))

    def quorum(self, at: At | None = None) -> pa.Table:
        """Return one row per voter and registered controller (`QuorumRow`).

        The voters of a static quorum are those that `quorum-state` names now.
        """
        found = quorum_state(require_metadata_log(self._listing))
        voters = None if found is None else found.current_voters
        return table_of(tables.QuorumRow, rows.quorum_rows(self._cluster(at), voters))

    def delegation_tokens(self, at: At | None = None) -> pa.Table:
        """Return one row per delegation token (`DelegationTokenRow`), without its secret."""
        return table_of(tables.DelegationTokenRow, rows.token_rows(self._cluster(at)))

    def cluster_changes(self, at: At | None = None) -> pa.Table:
        """Return one row per change up to ``at``, with the value before (`ClusterChangeRow`).

        It begins with the oldest state that is there: at offset 0, or at the oldest snapshot.
        """
        history = ClusterHistory(require_metadata_log(self._listing), at)
        found = table_of(tables.ClusterChangeRow, rows.changes_of(history))
        _warn(history.findings)
        return found
