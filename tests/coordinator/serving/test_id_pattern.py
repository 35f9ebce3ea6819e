"""Expressions for transactional ids match what Python's match, and always in little time."""

import re
import time
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.coordinator.runtime.id_pattern import IdPattern

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
    assert bool(IdPattern(pattern).matching([name])) == (re.fullmatch(pattern, name) is not None)


@pytest.mark.parametrize(
    "pattern", ["(", ")", "*a", "a**", "[a", "a{3,1}", r"\b", "(?=a)", "(?i)a", "[[:alpha:]]", "\\"]
)
def test_what_is_no_expression_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        IdPattern(pattern)


def test_no_expression_takes_long() -> None:
    start = time.process_time()
    assert not IdPattern("(a+)+b").matching(["a" * 2000])
    assert IdPattern("(a|aa)*").matching(["a" * 2000])
    assert time.process_time() - start < 2
    with pytest.raises(ValueError, match="too large"):
        IdPattern("((a{100}){100}){100}")
    names = ["a" * 30 + f"{number:010}" for number in range(400)]
    start = time.process_time()
    pattern = IdPattern("(a?){480}a*.*")  # 480 steps can follow each character
    assert all(pattern.matching(names) == names for _ in range(60))
    assert time.process_time() - start < 2


def test_groups_nest_to_a_depth_that_is_told() -> None:
    assert IdPattern("(" * 100 + "a" + ")" * 100).matching(["a"])
    with pytest.raises(ValueError, match="nest deeper than 100"):
        IdPattern("(" * 300 + "a" + ")" * 300)


def test_what_is_kept_of_names_is_bounded() -> None:
    pattern = IdPattern("(.?){400}")
    names = [chr(0x4E00 + number) * 30 for number in range(60)]
    assert all(pattern.matching([name]) for name in names)
    assert pattern._kept < 1 << 19  # noqa: SLF001 - it would be five times that


def test_a_question_that_takes_too_many_steps_is_refused() -> None:
    """Random names meet ever new sets of steps, which nothing remembers: that took 20 s."""
    rng = Random(1)
    names = ["".join(rng.choices("abcdefghijklm0123456789", k=40)) for _ in range(400)]
    start = time.process_time()
    with pytest.raises(ValueError, match="steps to match"):
        IdPattern("(.?){490}[^b]*c").matching(names)
    assert time.process_time() - start < 5
    assert IdPattern("[a-m0-9]+").matching(names) == names
