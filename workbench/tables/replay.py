"""What a replay wrote into a running cluster."""

from typing import Annotated, NamedTuple

from workbench.tables.columns import PartitionNumber, Topic


class ReplayRow(NamedTuple):
    """What a replay wrote of a partition: one row per partition."""

    topic: Topic
    partition: PartitionNumber
    first_offset: Annotated[int, "where this run began: after what earlier runs wrote"]
    next_offset: Annotated[int, "where the next run of this name begins"]
    records: Annotated[int, "records that this run wrote"]
    size: Annotated[int, "bytes of their keys and values"]
    new_times: Annotated[int, "records without a time, or of 1970, whose time is that of writing"]
    damaged: Annotated[int, "damaged places that were left out, or rescued"]
    undecoded: Annotated[int, "records that were not written: a key or value cannot be decoded"]
    incomplete: Annotated[int, "keys and values of which a field does not fit its type: it is null"]
