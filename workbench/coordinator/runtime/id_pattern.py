"""A regular expression for ids and topics whose matching takes time in proportion to the name.

A client sends it, so Python's own matching, whose time some expressions let grow without end, would
let one client stop the server. The syntax is what Python and RE2 share: characters, `.`, classes
and escapes, groups, `|`, `*`, `+`, `?` and `{m,n}`, `^` and `$`.

Kafka: com.google.re2j.Pattern, as TransactionStateManager.listTransactionStates uses it (4.2)
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

_MOST_STEPS: Final = 1000  # of a compiled expression; RE2 also limits repetitions to 1000
_DEEPEST: Final = 100  # groups in groups; each takes a few frames of Python's stack
_MOST_WORK: Final = 1 << 19  # steps that are walked for the names of one question: about 1 s
_MOST_KEPT: Final = 1 << 18  # steps in the states that are kept: about 20 MB
_COUNTS: Final = re.compile(r"\{(\d{1,4})(,(\d{0,4}))?\}")
_GROUP: Final = re.compile(r"\((\?:|\?P?<\w+>)?(?!\?)")
_CLASS: Final = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_REPEATS: Final = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_PLACES: Final = frozenset({"\\b", "\\B", "\\A", "\\Z"})
_BEGIN, _END = "begin", "end"


_State = frozenset[int]
"""Steps that can be reached; the number of steps stands for the end."""


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
    """A compiled expression; threads may share it.

    The sets of steps that can be reached are kept, with what follows each character, so the next
    name takes one lookup per character.

    Args:
        text: the expression.

    Raises:
        ValueError: it is not one, is larger than 1000 steps, or nests deeper than 100 groups.
    """

    def __init__(self, text: str) -> None:
        parser = _Parser(text)
        self._steps = parser.alternatives()
        if parser.at < len(text):
            raise ValueError(f"{text[parser.at]!r} at {parser.at} closes nothing")
        self._looks_at_ends = any(step.place == _END for step in self._steps)
        self._start = self._reach((0,), is_begin=True, is_end=False)
        self._known: dict[tuple[_State, str], _State] = {}
        self._kept = 0  # steps of the states that are known

    def matching(self, names: Iterable[str]) -> list[str]:
        """Return the names that match as a whole.

        Raises:
            ValueError: that takes more steps than a client may ask for.
        """
        left = _MOST_WORK
        found = []
        for name in names:
            is_match, work = self._match(name)
            left -= work
            if left < 0:
                raise ValueError(f"the expression takes more than {_MOST_WORK} steps to match")
            if is_match:
                found.append(name)
        return found

    def _match(self, name: str) -> tuple[bool, int]:
        """Return whether the whole of a name matches, and how many steps were walked for that."""
        state, work = self._start, 0
        for character in name:
            after = self._known.get((state, character))
            if after is None:
                after = self._after(state, character)
                work += len(state) + len(after)
            state = after
            if not state:
                return False, work
        if self._looks_at_ends:
            state = self._reach(state, is_begin=not name, is_end=True)
            work += len(state)
        return len(self._steps) in state, work

    def _after(self, state: _State, character: str) -> _State:
        """Return the steps that are reached when a character was read, and keep them."""
        read = (step for step in state if step < len(self._steps))
        found = [
            step + 1
            for step in read
            if (one := self._steps[step].character) is not None and one.fullmatch(character)
        ]
        after = self._reach(found, is_begin=False, is_end=False)
        if self._kept > _MOST_KEPT:
            self._known, self._kept = {}, 0
        self._known[state, character] = after
        self._kept += 1 + len(state) + len(after)
        return after

    def _reach(self, first: Iterable[int], *, is_begin: bool, is_end: bool) -> _State:
        """Return the steps that are reached from some without reading a character."""
        found: set[int] = set()
        steps = list(first)
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
        return frozenset(found)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._depth = 0
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
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError(f"the groups nest deeper than {_DEEPEST}")
        inner = self.alternatives()
        self._depth -= 1
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
