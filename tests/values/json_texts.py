"""JSON that parsers disagree about, and objects made of it at random."""

import random
from typing import Final

VALUES: Final = (
    "1", "-0", "0", "-12", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
    "1" * 39, "1" * 250, "1.50", "-0.0", "1e5", "1E+05", "1e400", "1e-400", "9007199254740993",
    "NaN", "Infinity", "-Infinity", "01", "+1", "1.", ".5", "1e", "- 1", "0x10",
    "true", "false", "null", "True", "nul", "tru", "'a'",
    '""', '"x"', '"é€😀"', r'"\u00e9"', r'"\ud83d\ude00"', r'"\ud800"',
    r'"\udc00x"', r'"\uD800\uD800"',
    r'"a\"b\\c\/\b\f\n\r\t"', r'"\x"', r'"\u12"', '"\x01"', '"\x7f"', '"open', '"NaN"', '"1"',
    "[]", "[1, 2]", '["a", 1]', "[1,]", "[,]", "[[[]]]", "[1 2]", "[null]",
    "[1}", "[" * 40 + "]" * 40,
    "[" * 1200 + "]" * 1200,
    "{}", '{"b": 1}', '{"b": "x", "c": [{"d": 1.5}]}', '{"b": 1, "b": 2}', '{"b": {"b": {}}}',
    '{"b" 1}', "{b: 1}", '{"b": 1,}', '{"b": NaN}', r'{"\u0062": 1}', '{"": 0}', "",
)  # fmt: skip
"""What may be the value of a field, good and bad."""

NAMES: Final = ("a", "A", "b", "ä", "Ä", "long name", "", "x.y", r"\u0061", "a\tb", r"\ud800")

WHOLE: Final = (
    b"", b" ", b"{", b"}", b"{}", b" { } ", b"\t{\n}\r", b"{},", b"{}{}", b"[]", b'"a"',
    b"1", b"null",
    b"\xef\xbb\xbf{}", b'{"a":"\xff"}', b'{"a":"\xed\xa0\x80"}', b'{"a":"\xc0\x80"}', b'{"\xff":1}',
    b'{"a":"\xf4\x90\x80\x80"}', b'{"a":1}x', b'{"a":1}\0', b"\x0b{}", b'{"a":1 "b":2}',
    b'{"a":1,,"b":2}',
    b"not JSON", b'\0\0\0\0\1{"a":1}', b'{"a":{"a":1},"a":2}', '{"a":1}'.encode("utf-16"),
    b"{" + b",".join(b'"f%d":%d' % (at, at) for at in range(300)) + b',"a":1}',
)  # fmt: skip
"""Values as a whole."""


def object_text(randomly: random.Random, values: tuple[str, ...] = VALUES) -> bytes:
    """Return something like an object, of a few members."""
    space = randomly.choice(["", "", " ", "\n\t"])
    members = (
        f'"{randomly.choice(NAMES)}"{space}:{space}{randomly.choice(values)}'
        for _ in range(randomly.randrange(5))
    )
    return f"{{{space}{f'{space},'.join(members)}{space}}}".encode()


def some_values(randomly: random.Random, count: int) -> list[bytes]:
    """Return values of which most are objects; some topics have only what a type holds."""
    usual = randomly.sample(VALUES, 4) if randomly.random() < 0.7 else list(VALUES)
    return [
        randomly.choice(WHOLE) if randomly.random() < 0.1 else object_text(randomly, tuple(usual))
        for _ in range(count)
    ]
