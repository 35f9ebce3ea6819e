"""Jobs over log directories, each a function: Spark's of a session and a path, and `to_table`."""

from workbench.pipelines.lake.to_table import to_table

__all__ = ["to_table"]
