"""A column of several topics whose values have a format each, as ``orders=json,clicks=utf8``."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from workbench.values.column import ColumnDecoder, Decoded, Others
from workbench.values.readable import AUTO, as_text

if TYPE_CHECKING:
    from workbench.values.registry import AnyDecoding, ColumnDecoding

OTHERS: Final = "*"
"""The name, among topics, of all topics that have no format of their own."""

_OF_TOPIC: Final = re.compile(r"([\w.-]+|\*)=(.+)", re.ASCII | re.DOTALL)
_BETWEEN: Final = re.compile(r",(?=(?:[\w.-]+|\*)=)", re.ASCII)


def topic_and_format(text: str) -> tuple[str, str]:
    """Return the topic of ``orders=json``, and the format; `OTHERS` where no topic is named."""
    found = _OF_TOPIC.fullmatch(text)
    return (found[1], found[2]) if found else (OTHERS, text)


def formats_of(how: "ColumnDecoding") -> "ColumnDecoding":
    """Return a format, or the format of each topic if a text such as ``orders=json`` names any.

    Commas are between topics: ``orders=json,clicks=utf8``, ``json,clicks=utf8``.
    """
    if not isinstance(how, str) or _OF_TOPIC.search(how) is None:
        return how
    named = dict(map(topic_and_format, _BETWEEN.split(how)))
    return named if named.keys() != {OTHERS} else named[OTHERS]


def of_topics(
    decode: "Mapping[str, ColumnDecoding]", topics: Collection[str]
) -> "dict[str, ColumnDecoding]":
    """Return the decodings of columns that are needed for some topics.

    Where the topics have one format, it is that; where none of them has one, the column is left
    out.
    """
    found: dict[str, ColumnDecoding] = {}
    for name, how in decode.items():
        asked = [format_of(formats_of(how), topic) for topic in sorted(topics)]
        if len(set(map(str, asked))) > 1:
            found[name] = formats_of(how)
        elif asked and asked[0] is not None:
            found[name] = asked[0]
    return found


@dataclass(frozen=True)
class TopicDecoder:
    """Decodes each topic's values by its own decoder.

    Where the types differ, the column is text: JSON where values have fields.

    Attributes:
        decoders: by topic; one for each topic that is read.
        kind: the type of the column.
    """

    decoders: Mapping[str, ColumnDecoder]
    kind: pa.DataType

    @property
    def needs(self) -> tuple[str, ...]:
        """The topic, and what the decoders of the topics look at."""
        needed = [name for each in self.decoders.values() for name in each.needs]
        return tuple(dict.fromkeys(("topic", *needed)))

    def decode(self, column: pa.Array, others: Others) -> Decoded:
        """Decode large_binary[n]."""
        topics = others["topic"]
        found = [self._decode(topic, column, others) for topic in pc.unique(topics).to_pylist()]
        if len(found) == 1:
            return found[0]
        arrays = pa.concat_arrays([pa.array([], self.kind), *(each.values for each in found)])
        rows = [
            np.flatnonzero(pc.equal(topics, topic).to_numpy(zero_copy_only=False))
            for topic in pc.unique(topics).to_pylist()
        ]
        places = np.argsort(np.concatenate([np.zeros(0, np.int64), *rows]), kind="stable")
        return Decoded(
            arrays.take(pa.array(places)),
            [
                replace(problem, row=int(mine[problem.row]))
                for each, mine in zip(found, rows, strict=True)
                for problem in each.problems
            ],
            {
                int(mine[row]): texts
                for each, mine in zip(found, rows, strict=True)
                for row, texts in each.unfit.items()
            },
        )

    def _decode(self, topic: str, column: pa.Array, others: Others) -> Decoded:
        """Decode the values of one topic."""
        mine = pc.equal(others["topic"], topic)
        if not pc.all(mine).as_py():
            column = column.filter(mine)
            others = {name: each.filter(mine) for name, each in others.items()}
        found = self.decoders[topic].decode(column, others)
        if found.values.type == self.kind:
            return found
        texts = [as_text(each) for each in found.values.to_pylist()]
        return replace(found, values=pa.array(texts, self.kind))


def format_of(formats: "ColumnDecoding", topic: str) -> "AnyDecoding | None":
    """Return the format of a topic's values; None: it has none."""
    if isinstance(formats, Mapping):
        return formats.get(topic, formats.get(OTHERS))
    return formats


def decoder_of(decoder: ColumnDecoder, topic: str) -> ColumnDecoder:
    """Return what decodes the values of one topic, with their own type."""
    return decoder.decoders[topic] if isinstance(decoder, TopicDecoder) else decoder


def decoder_by_topic(
    formats: "Mapping[str, AnyDecoding]",
    topics: Collection[str],
    make: "Callable[[AnyDecoding, str | None], ColumnDecoder]",
) -> ColumnDecoder | None:
    """Return what decodes the values of topics; None: all of them stay bytes.

    Beside a topic with a format, one without is text by the rule of `values.readable`.

    Args:
        formats: by topic; `OTHERS` is that of the topics without one.
        topics: those that are read.
        make: returns the decoder for a format of one topic, or of all.
    """
    asked = {topic: format_of(formats, topic) for topic in sorted(topics)}
    if len(set(map(str, asked.values()))) <= 1:
        (how,) = {str(each): each for each in asked.values()}.values() or (None,)
        return None if how is None else make(how, None)
    decoders = {topic: make(AUTO if how is None else how, topic) for topic, how in asked.items()}
    kinds = {each.kind for each in decoders.values()}
    return TopicDecoder(decoders, kinds.pop() if len(kinds) == 1 else pa.large_string())
