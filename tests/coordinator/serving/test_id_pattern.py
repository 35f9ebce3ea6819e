"""Expressions for transactional ids match what Python's match, and always in little time."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.coordinator.transactions.serving.id_pattern import IdPattern

atoms = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\d", r"\.", "x-1", "^", "$"])
patterns = st.recursive(
    atoms,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map("".join)
        | st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})")
        | st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}", "*?"])).map(
            lambda two: f"({two[0]}){two[1]}"
        )
    ),
    max_leaves=8,
)


@given(patterns, st.text("abx-1.", max_size=8))
def test_it_matches_as_python_does(pattern: str, name: str) -> None:
    assert IdPattern(pattern).matches(name) == (re.fullmatch(pattern, name) is not None)


@pytest.mark.parametrize(
    "pattern", ["(", ")", "*a", "a**", "[a", "a{3,1}", r"\b", "(?=a)", "(?i)a", "[[:alpha:]]", "\\"]
)
def test_what_is_no_expression_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        IdPattern(pattern)


def test_no_expression_takes_long() -> None:
    start = time.process_time()
    assert not IdPattern("(a+)+b").matches("a" * 2000)
    assert IdPattern("(a|aa)*").matches("a" * 2000)
    assert time.process_time() - start < 2
    with pytest.raises(ValueError, match="too large"):
        IdPattern("((a{100}){100}){100}")
