"""Keys and values in the formats of `values.registry`, as text: ``avro``, ``avro:orders.avsc``."""

from collections.abc import Callable
from functools import cache
from typing import Any

import click
import pyarrow as pa

from workbench.cli.command import Selection
from workbench.cli.output import safe
from workbench.cli.show.value_text import AUTO, BASE64, FORMATS, TopicText, base64_text
from workbench.decoders.registry import DECODERS
from workbench.loaders.exports import json_lines
from workbench.loaders.scan.scan import Scan
from workbench.values.column import ColumnDecoder, ColumnName
from workbench.values.printing import decoded_text
from workbench.values.registry import names


class FormatType(click.ParamType[str]):
    """``auto``, or a format with what it needs: ``avro``, ``avro:orders.avsc``."""

    name = "format"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 - click's
        """Return how the help shows it."""
        return "FORMAT[:SCHEMA]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the value if its format is known."""
        if value not in FORMATS and str(value).partition(":")[0] not in names():
            known = ", ".join(sorted({*FORMATS, *names()}))
            self.fail(f"{value!r} is not one of {known}", param, ctx)
        return str(value)


def key_format(help_text: str) -> Callable[[Any], Any]:
    """Return the option ``--key-format``."""
    return click.option("--key-format", type=FormatType(), default=AUTO, help=help_text)


def value_format(help_text: str) -> Callable[[Any], Any]:
    """Return the option ``--value-format``."""
    return click.option("--value-format", type=FormatType(), default=AUTO, help=help_text)


def shown_as_json(
    selection: Selection, key_format: str, value_format: str
) -> Callable[[str], json_lines.Shown]:
    """Return what gives, for a topic, how JSON lines show its keys and values.

    Args:
        selection: what is read.
        key_format, value_format: `AUTO`: as hex.

    Raises:
        MissingDependencyError: a format needs a package.
        SchemaError: a format cannot be used.
    """

    @cache
    def shown(topic: str) -> json_lines.Shown:
        decoded = {
            name: how
            for name, how in (("key", key_format), ("value", value_format))
            if how not in FORMATS
        }
        given = json_lines.shown_by(_scan(selection, topic, decoded).values.decoders)
        key, value = DECODERS.get(key_format), DECODERS.get(value_format)
        return json_lines.Shown(
            base64_text if key_format == BASE64 else given.key if key is None else key.key,
            _base64_value
            if value_format == BASE64
            else given.value
            if value is None
            else value.value,
        )

    return shown


def decoders_of(
    selection: Selection, key_format: str, value_format: str
) -> dict[str, ColumnDecoder]:
    """Return the decoders of the columns that have a format other than `AUTO`."""
    given = {"key": key_format, "value": value_format}
    decode = {name: how for name, how in given.items() if how not in {AUTO, BASE64}}
    scan = Scan(selection.listing, columns=("key", "value", "headers"), decode=decode)
    scan.partitions = selection.partitions
    return dict(scan.values.decoders)


def _base64_value(_key: bytes | None, value: bytes | None) -> str | None:
    return base64_text(value)


def _scan(selection: Selection, topic: str, decode: dict[str, str]) -> Scan:
    """Return a scan of a topic's chosen partitions, for its decoders."""
    scan = Scan(selection.listing, columns=("key", "value", "headers"), decode=decode)
    scan.partitions = [each for each in selection.partitions if each.topic == topic]
    return scan


def decoders(selection: Selection) -> TopicText:
    """Return what shows the keys and values of a selection's topics."""

    def text(topic: str, column: ColumnName, how: str) -> Callable[[bytes], str]:
        decoder = _scan(selection, topic, {column: how}).values.decoders[column]
        return lambda data: safe(_shown(decoder, data))

    return text


def _shown(decoder: ColumnDecoder, data: bytes) -> str:
    nothing = pa.array([None], pa.large_binary())
    return decoded_text(decoder, data, {"key": nothing})
