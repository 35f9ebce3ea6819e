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


class LogScope(GuessedNames):
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

    @takes_scan_options("topics", "partitions")
    def scan(self, **options: "Unpack[LogOptions]") -> "Scan":
        """Return a lazy scan over the records; `Scan` describes the options.

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
            )
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
