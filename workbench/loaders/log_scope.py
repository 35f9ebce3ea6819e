"""What a topic and a partition have in common: their records, their findings, their configuration.

All of it is also at the directory that holds them, with ``topics`` and ``partitions``.
"""

from typing import TYPE_CHECKING, Any, Unpack

from workbench.errors import StateUnknownError
from workbench.inspection.listing import Listing
from workbench.loaders.guessed_names import GuessedNames
from workbench.loaders.scan.scan_options import takes_scan_options

if TYPE_CHECKING:  # Arrow is imported when it is asked for
    import pyarrow as pa

    from workbench.loaders.scan.column_engines import DtypeBackend
    from workbench.loaders.scan.scan import Scan
    from workbench.loaders.scan.scan_options import LogOptions
    from workbench.loaders.tables.findings import FindingList
    from workbench.loaders.tables.inspect import Inspect


class LeadsToScans(GuessedNames):
    """What has a scan, and tables."""

    @classmethod
    def _leads_to(cls) -> dict[str, type]:
        from workbench.loaders.scan.scan import Scan
        from workbench.loaders.tables.inspect import Inspect

        return {"scan()": Scan, "inspect": Inspect}


class LogScope(LeadsToScans):
    """The verbs of one topic's logs, or of one log."""

    @property
    def topic_name(self) -> str:
        """The name of the topic."""
        raise NotImplementedError

    @property
    def _listed(self) -> Listing:
        """What was opened together with these logs."""
        raise NotImplementedError

    @property
    def _chosen(self) -> dict[str, Any]:
        """The options that choose these logs among the others."""
        raise NotImplementedError

    @property
    def inspect(self) -> "Inspect":
        """Everything but the records of these logs as Arrow tables; see `LogDirectory.inspect`."""
        from workbench.loaders.scan.plan import choose_partitions
        from workbench.loaders.tables.inspect import Inspect

        listed, asked = self._listed, self._chosen
        chosen = choose_partitions(listed, asked.get("topics"), asked.get("partitions"))
        mine = {id(each) for each in chosen}
        partitions = {name: p for name, p in listed.partitions.items() if id(p) in mine}
        return Inspect(Listing(listed.roots, partitions))

    @takes_scan_options("topics", "partitions")
    def scan(self, **options: "Unpack[LogOptions]") -> "Scan":
        """Return a scan: the records that its options choose, read when a verb asks for them.

        Verbs are `head`, `to_pandas`, `to_polars`, `to_arrow`, `to_duckdb`, `to_parquet` and more.
        The options, of which `Scan` says all:

            columns         ["offset", "value", "bytes", "$.total_cents"]: $ is a JSON value
            decode          "json", or by column {"key": "utf8", "value": "avro"}; default: bytes
            where           a query such as "key:id-7 $.amount>100"
            offsets         (100, 200), "-10:" or by partition; the end is excluded
            timestamps      ("2024-11-29", None), "-1h"; the end is excluded
            isolation_level "read_committed" leaves out aborted and open transactions
            latest          True: the newest record of each key
            limit           records at the most
            mask, rescue, on_corrupt, everything, include_control, include_internal, workers

        Raises:
            LookupError: a column does not exist.
            ValueError: an option has no meaning.
        """
        from workbench.loaders.scan.scan import Scan

        return Scan(self._listed, **self._chosen, **options)

    @takes_scan_options("topics", "partitions")
    def to_arrow(self, **options: "Unpack[LogOptions]") -> "pa.Table":
        """Return the records as a table; `Scan` describes the options. All are in memory at once.

        Raises:
            LookupError, ValueError: as `scan`.
        """
        return self.scan(**options).to_arrow()

    @takes_scan_options("topics", "partitions")
    def to_pandas(
        self, dtype_backend: "DtypeBackend | None" = None, **options: "Unpack[LogOptions]"
    ) -> Any:
        """Return the records as a `pandas.DataFrame`; see `Scan.to_pandas`.

        Raises:
            LookupError, ValueError: as `scan`.
        """
        return self.scan(**options).to_pandas(dtype_backend)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Stream the records to any library that speaks the Arrow C stream interface."""
        return self.scan().__arrow_c_stream__(requested_schema)

    def verify(
        self,
        *,
        deep: bool = True,
        info: bool = False,
        workers: int | None = None,
        kafka: str | None = None,
    ) -> "FindingList":
        """Check these logs, as `LogDirectory.verify` does, which describes the arguments.

        Raises:
            ConfigError: the version is unknown.
            ValueError: ``workers`` is below 1.
        """
        from workbench.loaders.scan.plan import chosen_names
        from workbench.loaders.tables.findings import FindingList
        from workbench.loaders.tables.inspect import chosen_findings

        chosen = self._chosen
        return FindingList(
            chosen_findings(
                self._listed,
                chosen.get("topics"),
                chosen.get("partitions"),
                deep=deep,
                info=info,
                workers=workers,
                kafka=kafka,
            ),
            self._listed,
            kafka,
            chosen_names(self._listed, chosen.get("topics"), chosen.get("partitions")),
        )

    @property
    def config(self) -> dict[str, str]:
        """The topic's own configuration, by Kafka's names; other names have the broker's values.

        Raises:
            OSError: the metadata log cannot be read.
            StateUnknownError: the cluster's metadata log is not in these directories.
        """
        from workbench.inspection.cluster.loading import stored_cluster

        if self._listed.metadata_log is None:
            where = self._listed.roots[0].path if self._listed.roots else self.topic_name
            raise StateUnknownError(
                where, f"the configuration of {self.topic_name} is in __cluster_metadata, not here"
            )
        return dict(stored_cluster(self._listed).configs.topics.get(self.topic_name, {}))
