"""A regular expression for ids and topics whose matching takes time in proportion to the name.

A client sends it, so Python's own matching, whose time some expressions let grow without end, would
let one client stop the server. The syntax is what Python and RE2 share: characters, `.`, classes
and escapes, groups, `|`, `*`, `+`, `?` and `{m,n}`, `^` and `$`.

Kafka: com.google.re2j.Pattern, as TransactionStateManager.listTransactionStates uses it (4.2)
"""

import re
from typing import Final, NamedTuple

_MOST_STEPS: Final = 1000  # of a compiled expression; RE2 also limits repetitions to 1000
_COUNTS: Final = re.compile(r"\{(\d{1,4})(,(\d{0,4}))?\}")
_GROUP: Final = re.compile(r"\((\?:|\?P?<\w+>)?(?!\?)")
_CLASS: Final = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_REPEATS: Final = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_PLACES: Final = frozenset({"\\b", "\\B", "\\A", "\\Z"})
_BEGIN, _END = "begin", "end"


class _Step(NamedTuple):
    """A step of a compiled expression: at most one of the first two is set.

    Attributes:
        character: matches the next character; None: nothing is read.
        place: where the id must begin or end.
        follow: the steps that may come next, counted from this one.
    """

    character: re.Pattern[str] | None
    place: str | None
    follow: tuple[int, ...]


class IdPattern:
    """A compiled expression.

    Args:
        text: the expression.

    Raises:
        ValueError: it is not one, or larger than 1000 steps.
    """

    def __init__(self, text: str) -> None:
        parser = _Parser(text)
        self._steps = parser.alternatives()
        if parser.at < len(text):
            raise ValueError(f"{text[parser.at]!r} at {parser.at} closes nothing")

    @property
    def size(self) -> int:
        """How many steps it has; matching a name takes at most that many for each character."""
        return len(self._steps)

    def matches(self, name: str) -> bool:
        """Return whether the whole of a name matches."""
        current = self._reach([0], is_begin=True, is_end=not name)
        for at, character in enumerate(name, 1):
            found = [
                step + 1
                for step in current
                if step < len(self._steps)
                and (one := self._steps[step].character) is not None
                and one.fullmatch(character)
            ]
            current = self._reach(found, is_begin=False, is_end=at == len(name))
            if not current:
                return False
        return len(self._steps) in current

    def _reach(self, steps: list[int], *, is_begin: bool, is_end: bool) -> set[int]:
        """Return the steps that are reached from some without reading a character."""
        found: set[int] = set()
        while steps:
            at = steps.pop()
            if at in found:
                continue
            found.add(at)
            if at == len(self._steps):
                continue
            step = self._steps[at]
            holds = is_begin if step.place == _BEGIN else is_end
            if step.character is None and (step.place is None or holds):
                steps += [at + each for each in step.follow]
        return found


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0

    def alternatives(self) -> list[_Step]:
        steps = self._sequence()
        while self._take("|"):
            other = self._sequence()
            fork = _Step(None, None, (1, len(steps) + 2))
            steps = [fork, *steps, _Step(None, None, (len(other) + 1,)), *other]
        return _checked(steps)

    def _sequence(self) -> list[_Step]:
        steps: list[_Step] = []
        while self.at < len(self._text) and self._text[self.at] not in "|)":
            atom = self._atom()
            counts = self._counts()
            if counts is not None:
                self._take("?")  # the shortest match is as good as the longest
                if self._counts() is not None:
                    raise ValueError(f"a repetition is repeated at {self.at}")
                atom = _repeated(atom, *counts)
            steps = _checked(steps + atom)
        return steps

    def _atom(self) -> list[_Step]:
        text, start = self._text, self.at
        if text[start] == "(":
            return self._group()
        if text[start] in "^$":
            self.at += 1
            return [_Step(None, _BEGIN if text[start] == "^" else _END, (1,))]
        if text[start] in _REPEATS:
            raise ValueError(f"{text[start]!r} at {start} repeats nothing")
        one = text[start : start + 1 + (text[start] == "\\")]
        if one == "[":
            one = self._class()
        elif one in _PLACES:
            raise ValueError(f"{one} at {start} is not supported")
        self.at += len(one)
        try:
            is_plain = len(one) == 1 and one not in ".\\"
            character = re.compile(re.escape(one) if is_plain else one, re.ASCII)
        except re.error as error:
            raise ValueError(str(error)) from None
        return [_Step(character, None, ())]

    def _group(self) -> list[_Step]:
        start = self.at
        group = _GROUP.match(self._text, start)
        if group is None:
            raise ValueError(f"the group at {start} is of an unknown kind")
        self.at = group.end()
        inner = self.alternatives()
        if not self._take(")"):
            raise ValueError(f"the group at {start} is not closed")
        return inner

    def _class(self) -> str:
        found = _CLASS.match(self._text, self.at)
        if found is None:
            raise ValueError(f"the class at {self.at} is not closed")
        if "[" in found[0][1:]:
            raise ValueError(f"the class at {self.at} has a class in it")
        return found[0]

    def _counts(self) -> tuple[int, int | None] | None:
        """Take how often what comes before is repeated: least and most; None: no repetition."""
        found = _COUNTS.match(self._text, self.at)
        if found is not None:
            self.at = found.end()
            least = int(found[1])
            most = least if found[2] is None else int(found[3]) if found[3] else None
            if most is not None and most < least:
                raise ValueError(f"{found[0]} ends below its beginning")
            return least, most
        for sign, counts in _REPEATS.items():
            if self._take(sign):
                return counts
        return None

    def _take(self, sign: str) -> bool:
        is_there = self._text.startswith(sign, self.at)
        self.at += is_there
        return is_there


def _repeated(atom: list[_Step], least: int, most: int | None) -> list[_Step]:
    size = len(atom)
    if size * max(least, most or 0) > _MOST_STEPS:
        raise ValueError("the expression is too large")
    required = atom * least
    if most is None:
        again = _Step(None, None, (1, size + 2))
        return [*required, again, *atom, _Step(None, None, (-size - 1,))]
    optional = [_Step(None, None, (1, size + 1)), *atom]
    return required + optional * (most - least)


def _checked(steps: list[_Step]) -> list[_Step]:
    if len(steps) > _MOST_STEPS:
        raise ValueError("the expression is too large")
    return steps
