"""Some fields of JSON are what they are in whole objects: values, types, and what is bad."""

import random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.values.json_texts import some_values
from workbench.values.column import ColumnProblem, SpanDecoder, WholeValues
from workbench.values.formats.json import inferred_kind, json_decoder
from workbench.values.formats.json_fields import JsonFields, NotPlainError

Read = tuple[pa.DataType | None, list[object], list[tuple[int, int]]]


def where(problems: list[ColumnProblem]) -> list[tuple[int, int]]:
    return [(each.row, each.count) for each in problems]


def read(decoder: SpanDecoder, values: list[pa.Array], name: str) -> Read:
    """Return a field's type, its values, and the rows of what is bad."""
    found = [WholeValues(decoder).decode(array, {}) for array in values]
    column = pa.concat_arrays([each.values for each in found])
    rows = [place for each in found for place in where(each.problems)]
    if column.type.get_field_index(name) < 0:
        return None, [], rows
    return column.type.field(name).type, pc.struct_field(column, [name]).to_pylist(), rows


def text_of(read: Read) -> str:
    return repr(read)  # NaN is like NaN, and -0.0 is not 0.0


@pytest.mark.parametrize("name", ["a", "b", "ä", ""])
def test_a_field_alone_is_what_it_is_in_whole_objects(name: str) -> None:
    randomly = random.Random(name)
    plain = 0
    for _ in range(40):
        values = [
            pa.array([None, *some_values(randomly, randomly.randrange(1, 12))], pa.large_binary())
            for _ in range(2)
        ]
        try:
            decoder = JsonFields.of([name]).decoder(values)
        except NotPlainError:
            continue
        plain += 1
        whole = json_decoder(inferred_kind(values), pa.string())
        assert text_of(read(decoder, values, name)) == text_of(read(whole, values, name)), values
    assert plain > 4


def test_what_comes_after_the_type_was_inferred() -> None:
    """A log may be written meanwhile: what is not plain then is read by Python."""
    before = [pa.array([b'{"a": 1, "b": 2}', b'{"a": 3, "c": {"d": 1}}'], pa.large_binary())]
    late = pa.array(
        [rb'{"\u0061": 7, "b": 2}', b'{"a": "x"}', b'{"a": 1, "a": 1}', b'{"b": NaN, "a": 5}'],
        pa.large_binary(),
    )
    decoder = WholeValues(JsonFields.of(["A"]).decoder(before))
    assert decoder.kind == pa.struct([("a", pa.int64())])
    found = decoder.decode(late, {})
    assert found.values.to_pylist() == [{"a": 7}, {"a": None}, None, {"a": 5}]
    assert found.unfit == {1: {"a": "x"}}
    assert where(found.problems) == [(2, 1), (1, 1)]
