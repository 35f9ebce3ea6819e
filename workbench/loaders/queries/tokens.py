"""The words of a query: terms, operators and operands, each with its place."""

import json
import re
from dataclasses import dataclass
from typing import Final, Literal

from workbench.errors import QueryError
from workbench.loaders.queries.language import WORDS

TokenKind = Literal[
    "end", "open", "close", "comma", "minus", "word", "keyword", "name", "path", "text",
    "expression", "hex", "operator",
]  # fmt: skip

_BLANKS: Final = re.compile(r"\s*")
_SIGNS: Final = r"\s()"
_OPERATOR: Final = re.compile(
    r"\s*(?P<sign><>|=~|!=|[<>]=?|===?|=|:)|\s+(?P<word>(?:not\s+)?in)(?=\s*\()", re.IGNORECASE
)
_NAME: Final = re.compile(
    rf'[A-Za-z_][\w-]*(?:\.(?:"(?:[^"\\]|\\.)*"|[^{_SIGNS},:=<>!"\\]+))?(?=[\s):=<>]|!=|$)'
)
_PATH: Final = re.compile(rf"(?P<of>key|value)?\$(?=[.\[]|[=<>!:]|\s*(?:!=|[<>=:])|[{_SIGNS}]|$)")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_SINGLE_QUOTED: Final = r"'([^']+)'"
_EXPRESSION: Final = re.compile(r"/((?:[^/\\]|\\.)+)/(i?)")
_HEX: Final = re.compile(r"0x((?:[0-9A-Fa-f]{2})+)")
_ESCAPE: Final = re.compile(r'\\(?:(["\\/])|([nrt])|u([0-9A-Fa-f]{4})|(.?))', re.DOTALL)
_CONTROLS: Final = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True)
class Token:
    """A piece of a query.

    Attributes:
        kind: what it is.
        start, end: its characters.
        text: as it is written; without quotes, slashes or 0x; escapes are resolved.
        ignores_case: of a regular expression.
    """

    kind: TokenKind
    start: int
    end: int
    text: str
    ignores_case: bool = False


def refusal(at: int, problem: str) -> QueryError:
    """Return the error about a place of a query; characters count from 1."""
    return QueryError(f"character {at + 1}: {problem}")


class Tokens:
    """Takes one token after the other from a text; what can come next depends on the grammar."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    def skip_blanks(self) -> int:
        """Go to the next character that is not blank, and return its place."""
        found = _BLANKS.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.at

    def term(self) -> Token:
        """Take the beginning of a condition: a sign, a keyword, a name, a path or an operand."""
        at = self.skip_blanks()
        if at == len(self.text):
            return Token("end", at, at, "")
        sign = self.text[at]
        if sign in "()":
            return self._token("open" if sign == "(" else "close", at + 1)
        if sign == "-" and at + 1 < len(self.text) and not self.text[at + 1].isspace():
            return self._token("minus", at + 1)
        if found := _PATH.match(self.text, at):
            return self._token("path", found.end(), found["of"] or "value")
        if found := _NAME.match(self.text, at):
            kind: TokenKind = "keyword" if found[0].lower() in WORDS else "name"
            return self._token(kind, found.end())
        return self.operand()

    def peek(self) -> Token:
        """Return the next `term` without moving past it."""
        before = self.at
        token = self.term()
        self.at = before
        return token

    def operator(self) -> Token | None:
        """Take an operator, with blanks before it or without; None: there is none."""
        found = _OPERATOR.match(self.text, self.at)
        if found is None:
            return None
        text = found["sign"] or " ".join(found["word"].lower().split())
        start = found.start("sign") if found["sign"] else found.start("word")
        self.at = found.end()
        return Token("operator", start, self.at, text)

    def operand(self, *, in_list: bool = False) -> Token:
        """Take what something is compared with; the end of the text is none.

        Args:
            in_list: whether a comma ends a word.

        Raises:
            QueryError: a quoted text has no end, an unknown escape, or single quotes.
        """
        at = self.skip_blanks()
        ends = rf"(?=[{_SIGNS}{',' if in_list else ''}]|$)"
        if at == len(self.text):
            return Token("end", at, at, "")
        if self.text[at] == '"':
            found = _QUOTED.match(self.text, at)
            if found is None:
                raise refusal(at, 'a quoted text has no end (expected another ")')
            if re.compile(ends).match(self.text, found.end()):
                return self._token("text", found.end(), unescaped(found[1], at + 1))
            if any(map(str.isspace, found[0])):
                raise refusal(found.end(), "a blank is missing after the quoted text")
        if found := re.compile(_SINGLE_QUOTED + ends).match(self.text, at):
            raise refusal(
                at,
                f'a text is quoted with ", as {quoted(found[1])}; the text with its single quotes '
                f"is {quoted(found[0])}",
            )
        for pattern, kind in ((_EXPRESSION, "expression"), (_HEX, "hex")):
            found = pattern.match(self.text, at)
            if found is not None and re.compile(ends).match(self.text, found.end()):
                self.at = found.end()
                is_flagged = kind == "expression" and bool(found[2])
                return Token(kind, at, self.at, found[1], is_flagged)  # type: ignore[arg-type]
        return self._word(at, in_list=in_list)

    def _word(self, at: int, *, in_list: bool) -> Token:
        """Take a word: up to a blank, or to a parenthesis that the word has not opened."""
        opened, end = 0, at
        while end < len(self.text):
            sign = self.text[end]
            if sign.isspace() or (sign == "," and in_list) or (sign == ")" and not opened):
                break
            opened += (sign == "(") - (sign == ")")
            end += 1
        if end == at:
            kind: TokenKind = "comma" if self.text[at] == "," else "close"
            return self._token(kind, at + 1)
        return self._token("word", end)

    def _token(self, kind: TokenKind, end: int, text: str | None = None) -> Token:
        start, self.at = self.at, end
        return Token(kind, start, end, self.text[start:end] if text is None else text)


def unescaped(text: str, at: int) -> str:
    r"""Return quoted text, unescaped: ``\"``, ``\\``, ``\n``, ``\r``, ``\t``, ``\u00e9``.

    Args:
        text: without the quotes.
        at: its place in the query.

    Raises:
        QueryError: a backslash is before something else.
    """

    def meaning(found: re.Match[str]) -> str:
        if found[1]:
            return found[1]
        if found[2]:
            return _CONTROLS[found[2]]
        if found[3]:
            return chr(int(found[3], 16))
        raise refusal(
            at + found.start(),
            f'the escape {found[0]} is unknown in a quoted text (expected \\" \\\\ \\n \\r \\t or '
            "\\u and four digits of hex); a regular expression is written between slashes",
        )

    return _ESCAPE.sub(meaning, text)


def quoted(text: str) -> str:
    """Return a text in quotes, as a query takes it."""
    return json.dumps(text, ensure_ascii=False)
