"""Keys and values in the formats of `values.registry`, as text: ``avro``, ``avro:orders.avsc``."""

from collections.abc import Callable
from typing import Any

import click
import pyarrow as pa

from workbench.cli.command import Selection
from workbench.cli.show.value_text import AUTO, FORMATS, TopicText
from workbench.loaders.scan.scan import Scan
from workbench.runtime.words import safe
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


def decoders(selection: Selection) -> TopicText:
    """Return what shows the keys and values of a selection's topics."""

    def text(topic: str, column: ColumnName, how: str) -> Callable[[bytes], str]:
        mine = [partition for partition in selection.partitions if partition.topic == topic]
        scan = Scan(selection.listing, columns=("key", "value", "headers"), decode={column: how})
        scan.partitions = mine
        decoder = scan.values.decoders[column]
        return lambda data: safe(_shown(decoder, data))

    return text


def _shown(decoder: ColumnDecoder, data: bytes) -> str:
    nothing = pa.array([None], pa.large_binary())
    return decoded_text(decoder, data, {"key": nothing})
