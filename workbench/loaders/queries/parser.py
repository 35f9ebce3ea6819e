"""The grammar of queries, by recursive descent: words to conditions, or a refusal with a hint.

    query     = any
    any       = every { "or" every }
    every     = opposite { ["and"] opposite }
    opposite  = { "not" | "-" } ( "(" any ")" | condition )
    condition = field [ operator operand ] | path [ operator operand ] | "is:" flag | flag
              | operand
    operator  = ":" | "=" | "!=" | "<" | "<=" | ">" | ">=" | "in" list | "not in" list
    operand   = word | "quoted" | /expression/ | 0xhex

What is not understood is refused: a word with a sign of comparison in it is not a text to find.
"""

import re
from typing import Final

from workbench.errors import QueryError
from workbench.loaders.queries.conditions import (
    AllOf,
    AnyOf,
    Condition,
    Holds,
    HoldsHeader,
    HoldsJson,
    Invalid,
    IsNull,
    Not,
    OfTopic,
    WithinRanges,
)
from workbench.loaders.queries.json_path import Comparison, OneOf, comparison, take_path
from workbench.loaders.queries.language import FIELDS, FLAGS, OTHER_WORDS, WORDS, QueryField
from workbench.loaders.queries.patterns import Pattern, literal, one_of, regular_expression
from workbench.loaders.queries.ranges import Range, ranges_of
from workbench.loaders.queries.tokens import Token, Tokens, quoted, refusal
from workbench.runtime.words import did_you_mean

MOST_NESTED: Final = 50
"""Parentheses and negations inside each other."""

_REGEXY: Final = re.compile(r"\.[*+]|\\[dDwWsSbB.]|\A\^|.\$\Z|\||\[[^\]]+\][*+]")
_COMPARES: Final = re.compile(r"[=<>]")
_UNKNOWN_WORDS: Final = frozenset(OTHER_WORDS)
_FLAG_VALUES: Final = {"true": True, "false": False}


def condition_of(text: str, *, ignores_case: bool = False) -> AllOf:
    """Return the condition that a text writes.

    Args:
        text: the query.
        ignores_case: whether all its words find ASCII letters in both cases.

    Raises:
        QueryError: it has no meaning; the message names the place, and what would have one.
    """
    return _Parser(text, ignores_case=ignores_case).query()


class _Parser:
    """Takes conditions from a text."""

    def __init__(self, text: str, *, ignores_case: bool) -> None:
        self._tokens = Tokens(text)
        self._text = text
        self._ignores_case = ignores_case
        self._depth = 0

    def query(self) -> AllOf:
        """Return the whole query; an empty one holds of every record."""
        if self._tokens.peek().kind == "end":
            return AllOf(())
        found = self._any()
        left = self._tokens.term()
        if left.kind != "end":
            raise refusal(left.start, f'{left.text} closes nothing; the text is "{left.text}"')
        return found if isinstance(found, AllOf) else AllOf((found,))

    def _any(self) -> Condition:
        found = [self._every()]
        while self._takes_word("or"):
            found.append(self._every())
        return found[0] if len(found) == 1 else AnyOf(tuple(found))

    def _every(self) -> Condition:
        found = [self._opposite()]
        while True:
            following = self._tokens.peek()
            if following.kind in {"end", "close"} or _is_word(following, "or"):
                break
            self._takes_word("and")
            found.append(self._opposite())
        return found[0] if len(found) == 1 else AllOf(tuple(found))

    def _takes_word(self, word: str) -> bool:
        if not _is_word(self._tokens.peek(), word):
            return False
        self._tokens.term()
        return True

    def _opposite(self) -> Condition:
        token = self._tokens.term()
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise refusal(token.start, f"nested more than {MOST_NESTED} deep")
        try:
            if token.kind == "minus" or _is_word(token, "not"):
                return Not(self._opposite())
            if token.kind == "open":
                return self._group(token)
            return self._condition(token)
        finally:
            self._depth -= 1

    def _group(self, opened: Token) -> Condition:
        found = self._any()
        closed = self._tokens.term()
        if closed.kind != "close":
            raise refusal(opened.start, '( is never closed (expected ); the text is "(")')
        return found

    def _condition(self, token: Token) -> Condition:
        if token.kind in {"end", "close", "comma", "keyword"}:
            found = token.text or "the end"
            wanted = f"a condition is expected, not {found}"
            hint = f'; the text is "{token.text}"' if token.text else ""
            raise refusal(token.start, wanted + hint)
        if token.kind == "path":
            return self._path(token)
        if token.kind == "name":
            return self._named(token)
        return self._free(token)

    # A name, and what it is compared with.

    def _named(self, token: Token) -> Condition:
        name, dot, part = token.text.partition(".")
        operator = self._tokens.operator()
        if name == "is" and operator is not None and operator.text == ":":
            return self._flag(self._tokens.operand())
        if token.text in FLAGS:
            return self._flagged(token, operator)
        if name == "header" and dot:
            return self._header(part, token, operator)
        field = FIELDS.get(token.text)
        if operator is None:
            self._refuse_other_words(token, field)
            return self._free(token)
        if field is None:
            return self._unknown(token, operator)
        return self._compared(field, token, operator)

    def _flag(self, token: Token) -> Condition:
        if token.text not in FLAGS:
            hint = did_you_mean(token.text, FLAGS)
            known = ", is:".join(FLAGS)
            raise refusal(token.start, f"is:{token.text} is unknown (expected is:{known}){hint}")
        return _flag_condition(token.text)

    def _flagged(self, token: Token, operator: Token | None) -> Condition:
        found = _flag_condition(token.text)
        if operator is None:
            return found
        operand = self._tokens.operand()
        wanted = _FLAG_VALUES.get(operand.text.lower())
        if wanted is None or operator.text not in {":", "=", "=="}:
            raise refusal(
                operator.start, f"{token.text} takes = true or = false; or write {token.text} alone"
            )
        return found if wanted else Not(found)

    def _compared(self, field: QueryField, token: Token, operator: Token) -> Condition:
        sign = self._sign(operator, token)
        if sign not in field.operators:
            said = " ".join(sorted(field.operators))
            hint = f"; {token.text}.size {sign} N compares its bytes" * (
                field.name in {"key", "value"}
            )
            raise refusal(operator.start, f"{field.name} takes {said}, not {sign}{hint}")
        if field.may_be_null and sign in {"=", "!="} and self._takes_null():
            return IsNull(field.column) if sign == "=" else Not(IsNull(field.column))
        if field.kind in {"number", "time"}:
            return self._ranged(field, sign, token)
        start = self._tokens.at
        if sign.endswith("in"):
            listed = self._list(token)
            pattern = one_of(self._pattern(each, is_whole=True) for each in listed)
        else:
            pattern = self._operand_pattern(token, is_whole=sign != ":", field=field)
            self._tokens.at = start
            listed = [self._tokens.operand()]
        names = () if sign == ":" else tuple(each.text for each in listed if _is_text(each))
        found = _condition_on(field, pattern, names)
        return self._there(field, found) if sign in {"!=", "not in"} else found

    @staticmethod
    def _there(field: QueryField, found: Condition) -> Condition:
        """Return that the field is there, and the condition is not met."""
        there = (Not(IsNull(field.column)),) if field.may_be_null else ()
        return AllOf((*there, Not(found)))

    def _ranged(self, field: QueryField, sign: str, token: Token) -> Condition:
        operands = self._list(token) if sign.endswith("in") else [self._required(token)]
        equals = "=" if sign in {"!=", "in", "not in"} else sign
        found: list[Range] = []
        for each in operands:
            try:
                found += ranges_of(field, equals, each.text)
            except QueryError as error:
                raise refusal(each.start, str(error)) from None
        return WithinRanges(field.column, tuple(found), is_not=sign in {"!=", "not in"})

    def _header(self, part: str, token: Token, operator: Token | None) -> Condition:
        name = _header_name(part)
        if operator is None:
            self._refuse_other_words(token, None)
            return HoldsHeader(name, None)
        sign = self._sign(operator, token)
        if sign not in FIELDS["header"].operators:
            raise refusal(operator.start, f"{token.text} takes : = != in, not {sign}")
        is_not = sign in {"!=", "not in"}
        if sign in {"=", "!="} and self._takes_null():
            return HoldsHeader(name, None, is_null=True, is_not=is_not)
        if sign.endswith("in"):
            pattern = one_of([self._pattern(each, is_whole=True) for each in self._list(token)])
        else:
            pattern = self._operand_pattern(token, is_whole=sign != ":", field=None)
        return HoldsHeader(name, pattern, is_not=is_not)

    # A path into JSON.

    def _path(self, token: Token) -> Condition:
        try:
            steps, self._tokens.at = take_path(self._text, self._tokens.at)
        except QueryError as error:
            raise refusal(token.start, str(error)) from None
        shown = self._text[token.start : self._tokens.at]
        whole = Token("path", token.start, self._tokens.at, shown)
        operator = self._tokens.operator()
        if operator is None:
            rest = self._text[self._tokens.at :]
            if rest and not rest[0].isspace() and rest[0] != ")":
                raise refusal(
                    self._tokens.at,
                    f"{shown}: the path cannot be read at {rest.split()[0]!r} (expected .name, "
                    '[0], [*] or ["a name"])',
                )
            self._refuse_other_words(whole, None)
            return HoldsJson(token.text, steps, None)
        sign = self._sign(operator, whole)
        if sign.endswith("in"):
            every = OneOf(tuple(self._comparison("=", each) for each in self._list(whole)))
            there = HoldsJson(token.text, steps, None)
            found = HoldsJson(token.text, steps, every)
            return AllOf((there, Not(found))) if sign == "not in" else found
        if sign == ":":
            pattern = self._operand_pattern(whole, is_whole=False, field=None)
            return HoldsJson(token.text, steps, pattern)
        operand = self._tokens.operand()
        if operand.kind in {"end", "close"}:
            raise refusal(operand.start, f"{shown}{sign} lacks what to compare with")
        return HoldsJson(token.text, steps, self._comparison(sign, operand))

    def _comparison(self, sign: str, operand: Token) -> Comparison:
        if operand.kind == "expression":
            raise refusal(operand.start, "a regular expression follows a colon: $.name:/…/")
        return comparison(sign, operand.text, is_quoted=operand.kind == "text")

    # Words of any place.

    def _free(self, token: Token) -> Condition:
        self._refuse_text(token)
        pattern = self._pattern(token, is_whole=False)
        return AnyOf((Holds("key", pattern), Holds("value", pattern), HoldsHeader(None, pattern)))

    def _refuse_text(self, token: Token) -> None:
        """Refuse a bare word that looks like a condition, or like an expression."""
        if token.kind not in {"word", "name"}:
            return
        text = token.text
        if text.lower() in _UNKNOWN_WORDS and not text.isalpha():
            said = OTHER_WORDS[text.lower()]
            raise refusal(
                token.start,
                f"{text} is not a word of queries; write {said}, or {quoted(text)} to find it",
            )
        if text == "-":
            following = self._text[token.end :].strip().partition(" ")[0]
            raise refusal(
                token.start,
                f"- comes directly before what it negates: -{following}, or not {following}; the "
                'text is "-"',
            )
        if text[0] == "!":
            raise refusal(
                token.start,
                f"{text}: the opposite is written not {text[1:]}; the text is {quoted(text)}",
            )
        found = _COMPARES.search(text)
        if found is not None and text[0] not in '{["':
            raise refusal(
                token.start + found.start(),
                f"{found[0]} compares nothing here; the text is {quoted(text)}, and a field of "
                "JSON is written $.name",
            )
        self._refuse_expression(token, "")

    def _refuse_expression(self, token: Token, before: str) -> None:
        if token.kind in {"word", "name"} and _REGEXY.search(token.text):
            raise refusal(
                token.start,
                f"{token.text} is a text here; the regular expression is {before}/{token.text}/, "
                f"the text {before}{quoted(token.text)}",
            )

    def _refuse_other_words(self, token: Token, field: QueryField | None) -> None:
        """Refuse `value is null`, `$.a contains b` and the like after a field or a path."""
        if token.kind == "name" and field is None and not token.text.startswith("header."):
            return
        following = self._tokens.peek()
        word = following.text.lower()
        if following.kind not in {"name", "word"} or word not in _UNKNOWN_WORDS:
            return
        said = OTHER_WORDS[word]
        raise refusal(
            following.start,
            f"{following.text!r} is not an operator; after {token.text} write {said}; the text is "
            f"{quoted(following.text)}",
        )

    def _unknown(self, token: Token, operator: Token) -> Condition:
        """Refuse a name that is not a field, or take an address such as http://… as a text."""
        tokens, name = self._tokens, token.text
        if self._text.startswith("://", token.end):
            tokens.at = token.start
            return self._free(tokens.operand())
        operand = tokens.operand()
        end = len(self._text) if operator.text.endswith("in") else operand.end
        rest, text = self._text[token.end : end].rstrip(), self._text[token.start : end].strip()
        head, _, tail = name.partition(".")
        if head.lower() in {"headers", "header"} and tail:
            raise refusal(
                token.start, f"{name} is unknown; a header is written header.{tail}{rest}"
            )
        if head in {"value", "key"} and tail:
            path = f"{'key' * (head == 'key')}$.{tail.removeprefix('$.')}"
            raise refusal(
                token.start, f"{name} is unknown; JSON in the {head} is written {path}{rest}"
            )
        hint = did_you_mean(name.lower(), FIELDS)
        raise refusal(
            token.start,
            f"{name} is not a field of a record{hint}; a field of JSON in the value is "
            f"$.{name}{rest}, a header is header.{name}{rest}, the text is {quoted(text)}",
        )

    # Operators and operands.

    @staticmethod
    def _sign(operator: Token, subject: Token) -> str:
        sign = operator.text
        if sign in {"==", "==="}:
            return "="
        if sign in OTHER_WORDS:
            raise refusal(
                operator.start,
                f"{sign} is not an operator; after {subject.text} write {OTHER_WORDS[sign]}",
            )
        return sign

    def _takes_null(self) -> bool:
        """Take the word null, if it comes next."""
        before = self._tokens.at
        token = self._tokens.operand()
        if token.kind == "word" and token.text == "null":
            return True
        self._tokens.at = before
        return False

    def _required(self, subject: Token) -> Token:
        operand = self._tokens.operand()
        if operand.kind in {"end", "close", "comma"}:
            shown = self._text[subject.start : operand.start].strip()
            raise refusal(operand.start, f"{shown} lacks a value")
        return operand

    def _operand_pattern(
        self, subject: Token, *, is_whole: bool, field: QueryField | None
    ) -> Pattern:
        operand = self._tokens.operand()
        if operand.kind in {"end", "close", "comma"}:
            shown = self._text[subject.start : operand.start].strip()
            raise refusal(operand.start, f"{shown} lacks what to find")
        before = self._text[subject.start : operand.start].strip()
        if not is_whole:
            self._refuse_expression(operand, before)
            if operand.kind == "word" and operand.text == "null":
                raise refusal(
                    operand.start,
                    f'{subject.text}=null finds what is null, {before}"null" the text',
                )
        if field is not None and field.kind == "header" and operand.kind == "word":
            found = re.search(r"[=<>:]", operand.text)
            if found is not None:
                name, rest = operand.text[: found.start()], operand.text[found.start() :]
                raise refusal(
                    operand.start,
                    f"a header of a name is written header.{name}{rest}; the text in any header is "
                    f"{before}{quoted(operand.text)}",
                )
        return self._pattern(operand, is_whole=is_whole)

    def _list(self, subject: Token) -> list[Token]:
        """Take ``(A, B, C)``."""
        opened = self._tokens.term()
        found: list[Token] = []
        while True:
            token = self._tokens.operand(in_list=True)
            if token.kind in {"end", "close", "comma"}:
                raise refusal(token.start, f"{subject.text} in (…) lacks a value")
            found.append(token)
            following = self._tokens.operand(in_list=True)
            if following.kind == "close":
                return found
            if following.kind != "comma":
                raise refusal(
                    opened.start if following.kind == "end" else following.start,
                    "a list is written (A, B, C)",
                )

    def _pattern(self, token: Token, *, is_whole: bool) -> Pattern:
        text = token.text
        if token.kind == "expression":
            expression = text.replace(r"\/", "/")
            if is_whole:
                expression = rf"\A(?:{expression})\z"
            try:
                return regular_expression(
                    expression, ignores_case=token.ignores_case or self._ignores_case
                )
            except QueryError as error:
                raise refusal(token.start, str(error)) from None
        if token.kind == "hex":
            return literal(bytes.fromhex(text), is_whole=is_whole)
        is_small = not is_whole and text == text.lower()
        return literal(
            text.encode("utf-8", "surrogatepass"),
            ignores_case=is_small or self._ignores_case,
            is_whole=is_whole,
        )


def _is_word(token: Token, word: str) -> bool:
    assert word in WORDS
    return token.kind == "keyword" and token.text.lower() == word


def _flag_condition(name: str) -> Condition:
    if name == "invalid":
        return Invalid()
    return IsNull("value" if name == "tombstone" else "key")


def _is_text(token: Token) -> bool:
    return token.kind in {"word", "text"}


def _condition_on(field: QueryField, pattern: Pattern, names: tuple[str, ...]) -> Condition:
    """Return that a field holds a pattern, which finds these names."""
    if field.kind == "header":
        return HoldsHeader(None, pattern)
    return OfTopic(pattern, names) if field.kind == "name" else Holds(field.column, pattern)


def _header_name(text: str) -> bytes:
    name = text[1:-1] if text.startswith('"') else text
    return re.sub(r"\\(.)", r"\1", name).encode("utf-8", "surrogatepass")
