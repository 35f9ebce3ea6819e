"""Keys and values in the formats of `values.registry`, as text: ``avro``, ``avro:orders.avsc``."""

import shutil
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Final

import click
import pyarrow as pa
from click.core import ParameterSource

from workbench.cli.colors import has_color
from workbench.cli.command import Selection
from workbench.cli.output import is_terminal
from workbench.cli.show.text_lines import Look
from workbench.cli.show.value_text import BASE64, FORMATS, Formats, TopicText, base64_text
from workbench.decoders.hex import HEX
from workbench.decoders.registry import DECODERS
from workbench.loaders.exports import json_lines
from workbench.loaders.scan.plan import choose_partitions
from workbench.loaders.scan.scan import Scan, stored_in
from workbench.runtime.words import safe
from workbench.values.by_topic import OTHERS, topic_and_format
from workbench.values.column import ColumnDecoder, ColumnName
from workbench.values.printing import decoded_text
from workbench.values.readable import AUTO
from workbench.values.registry import ColumnDecoding, names
from workbench.values.schemas.schemas import Schemas


class FormatType(click.ParamType[str]):
    """``auto``, or a format, with what it needs, ``avro:x.avsc``, or a topic, ``orders=json``."""

    name = "format"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 - click's
        """Return how the help shows it."""
        return "[TOPIC=]FORMAT[:SCHEMA]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the value if its format is known."""
        how = topic_and_format(str(value))[1]
        if how not in FORMATS and how.partition(":")[0] not in names():
            known = ", ".join(sorted({*FORMATS, *names()}))
            self.fail(f"{how!r} is not one of {known}", param, ctx)
        return str(value)


def _formats(_ctx: click.Context, _param: click.Parameter, given: tuple[str, ...]) -> Formats:
    """Return the formats that an option names, which may be there several times."""
    asked = dict(map(topic_and_format, given))
    others = asked.pop(OTHERS, AUTO)
    return Formats(others, asked)


def _format(name: str, help_text: str) -> Callable[[Any], Any]:
    return click.option(name, type=FormatType(), multiple=True, callback=_formats, help=help_text)


SHOWN_KEYS: Final = (
    "The format of keys: hex, base64, utf8, json, avro, avro:FILE, …; the default is auto."
)
DECODED_KEYS: Final = "Decode keys, as utf8, json, avro or avro:FILE. Default: bytes."


def key_format(help_text: str) -> Callable[[Any], Any]:
    """Return the option ``--key-format``, a `Formats`."""
    return _format("--key-format", help_text)


def value_format(help_text: str) -> Callable[[Any], Any]:
    """Return the option ``--value-format``, a `Formats`."""
    more = " TOPIC=FORMAT is that of a topic; repeatable. Keys, too."
    return _format("--value-format", help_text + more)


def asked_formats(formats: Mapping[str, Formats]) -> dict[str, dict[str, str]]:
    """Return the formats, by column and topic, that are asked for; `AUTO` unasked is bytes."""
    context = click.get_current_context()
    asked = {}
    for column, given in formats.items():
        own = dict(given.by_topic)
        source = context.get_parameter_source(f"{column}_format")
        if given.others != AUTO or (source is not ParameterSource.DEFAULT and not own):
            own[OTHERS] = given.others
        if own:
            asked[column] = own
    return asked


def shown_as_json(
    selection: Selection, key_format: Formats, value_format: Formats, *, show_values: bool = True
) -> Callable[[str], json_lines.Shown]:
    """Return what gives, for a topic, how JSON lines show its keys and values.

    Args:
        selection: what is read.
        key_format, value_format: the formats; headers are hex if values are, otherwise text or hex.
        show_values: False: only sizes are shown.

    Raises:
        MissingDependencyError: a format needs a package.
        SchemaError: a format cannot be used.
    """
    if not show_values:
        return lambda _: json_lines.HIDDEN
    require_topics(selection, key_format, value_format)
    schemas = stored_schemas(selection)

    @cache
    def shown(topic: str) -> json_lines.Shown:
        rule = json_lines.readable_of(topic, schemas)
        of_key, of_value = key_format.of(topic), value_format.of(topic)
        decoded = {
            name: how for name, how in (("key", of_key), ("value", of_value)) if how not in FORMATS
        }
        given = json_lines.shown_by(_scan(selection, topic, decoded).values.decoders, rule)
        key, value = DECODERS.get(of_key), DECODERS.get(of_value)
        given = given._replace(
            key=base64_text if of_key == BASE64 else given.key if key is None else key.key,
            value=_base64_value
            if of_value == BASE64
            else given.value
            if value is None
            else value.value,
        )
        if of_key == HEX.name:
            given = given._replace(key=None)
        return given._replace(value=None, header=None) if of_value == HEX.name else given

    return shown


def require_topics(selection: Selection, *formats: Formats) -> None:
    """Check that the topics which have a format are there.

    Raises:
        LookupError: one is not.
    """
    for topic in {topic for given in formats for topic in given.by_topic}:
        choose_partitions(selection.listing, topic, None, everything=True)


def stored_schemas(selection: Selection) -> Callable[[], Schemas]:
    """Return what reads, once, the schemas of the topic `_schemas` that was opened too."""
    return cache(partial(stored_in, selection.listing))


def decoders_of(
    selection: Selection, key_format: Formats, value_format: Formats
) -> dict[str, ColumnDecoder]:
    """Return the decoders of the columns that have a format other than `AUTO`."""
    decode: dict[str, ColumnDecoding] = {}
    for name, given in (("key", key_format), ("value", value_format)):
        asked = {OTHERS: given.others, **given.by_topic}
        own = {topic: how for topic, how in asked.items() if how not in {AUTO, BASE64}}
        if own:
            decode[name] = own
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


def look_at(
    selection: Selection,
    key_format: Formats,
    value_format: Formats,
    *,
    show_values: bool,
    full: bool,
) -> Look:
    """Return how the records of a selection are shown on the terminal or in a text."""
    require_topics(selection, key_format, value_format)
    width = shutil.get_terminal_size().columns if is_terminal() else None
    return Look(
        show_values,
        key_format,
        value_format,
        has_color(),
        full,
        _decoders(selection),
        stored_schemas(selection),
        width,
    )


def _decoders(selection: Selection) -> TopicText:
    """Return what shows the keys and values of a selection's topics."""

    def text(topic: str, column: ColumnName, how: str) -> Callable[[bytes], str]:
        decoder = _scan(selection, topic, {column: how}).values.decoders[column]
        return lambda data: safe(_shown(decoder, data))

    return text


def _shown(decoder: ColumnDecoder, data: bytes) -> str:
    nothing = pa.array([None], pa.large_binary())
    return decoded_text(decoder, data, {"key": nothing})
