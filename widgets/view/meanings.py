"""What keys and values mean: of Kafka's own topics, by a schema they name, by a given decoding."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from workbench.decoders.registry import decoder_for
from workbench.errors import SchemaError
from workbench.inspection.listing import Listing
from workbench.loaders.scan.scan import Scan, stored_in
from workbench.loaders.schemas import SCAN_FIELDS
from workbench.values.column import ColumnDecoder
from workbench.values.printing import plain_value
from workbench.values.readable import Readable
from workbench.values.schemas.schemas import Schemas

if TYPE_CHECKING:
    from workbench.values.registry import AnyDecoding

Meaning = dict[str, Any]
"""By "key" and "value", as JSON has it; what means nothing, or cannot be decoded, is not there."""


class Meanings:
    """Decodes records that are on the screen.

    Attributes:
        problems: topic → why its keys and values are not decoded.

    Args:
        listing: the log directories.
        decode: how to decode "key" and "value", as in `LogDirectory.scan`; None: those that begin
            with the id of a schema of `_schemas`, by that schema.

    Raises:
        SchemaError: another column is to be decoded.
    """

    def __init__(self, listing: Listing, decode: "Mapping[str, AnyDecoding] | None" = None) -> None:
        self._listing = listing
        self._decode = dict(decode or {})
        unknown = self._decode.keys() - {"key", "value"}
        if unknown:
            raise SchemaError(f"no column {min(unknown)!r} to decode (expected key or value)")
        self._decoders: dict[str, Mapping[str, ColumnDecoder]] = {}
        self.problems: dict[str, str] = {}

    def relist(self, listing: Listing) -> None:
        """Take the directories as they are now; what decodes a topic remains."""
        self._listing = listing
        vars(self).pop("_schemas", None)
        for topic in self.problems:
            self._decoders.pop(topic, None)
        self.problems = {}

    def apart(self) -> "Meanings":
        """Return the same for another thread."""
        return Meanings(self._listing, self._decode)

    def of(
        self,
        topic: str,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        headers: Sequence[Sequence[tuple[bytes, bytes | None]]],
    ) -> list[Meaning]:
        """Return what each record's key and value mean."""
        own = decoder_for(topic)
        if own is not None:
            return [
                {"key": own.key(key), "value": own.value(key, value)}
                for key, value in zip(keys, values, strict=True)
            ]
        found: list[Meaning] = [{} for _ in keys]
        if not self._decode:
            rule = Readable(topic, lambda: self._schemas)
            for meaning, key, value in zip(found, keys, values, strict=True):
                for name, data in (("key", key), ("value", value)):
                    if (meant := rule.by_schema(data)) is not data:
                        meaning[name] = meant
        elif keys:
            self._decode_given(topic, keys, values, headers, found)
        return found

    def _decode_given(
        self,
        topic: str,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        headers: Sequence[Sequence[tuple[bytes, bytes | None]]],
        found: list[Meaning],
    ) -> None:
        others = {"headers": _headers(headers)}
        for name, decoder in self._of_topic(topic).items():
            stored = keys if name == "key" else values
            column = pa.array(stored, pa.large_binary())
            for at, value in enumerate(decoder.decode(column, others).values):
                if value.is_valid:
                    found[at][name] = plain_value(value)

    @cached_property
    def _schemas(self) -> Schemas:
        return stored_in(self._listing)

    def _of_topic(self, topic: str) -> Mapping[str, ColumnDecoder]:
        """Return the decoders of a topic; none if the decoding cannot be used for it."""
        if topic not in self._decoders:
            columns = ("offset", *self._decode)
            scan = Scan(self._listing, topics=topic, columns=columns, decode=self._decode)
            try:
                self._decoders[topic] = scan.values.decoders
            except SchemaError as error:
                self.problems[topic] = str(error)
                self._decoders[topic] = {}
        return self._decoders[topic]


def _headers(headers: Sequence[Sequence[tuple[bytes, bytes | None]]]) -> pa.Array:
    """Return the headers of records as a scan has them."""
    pairs = [
        [{"key": key.decode("utf-8", "replace"), "value": value} for key, value in each]
        for each in headers
    ]
    return pa.array(pairs, SCAN_FIELDS["headers"].type)
