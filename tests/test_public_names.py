"""The public names: listed, sorted, importable, described; errors have one base."""

import ast
import builtins
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

import workbench
import workbench.errors
from tests import public_api
from workbench.errors import WorkbenchError

SHOP = Path(__file__).parents[1] / "sample_data" / "shop-4.3.1"


def test_the_list_of_public_names_is_sorted_and_whole() -> None:
    assert workbench.__all__ == sorted(workbench.__all__)
    for name in workbench.__all__:
        assert getattr(workbench, name).__doc__, name


def test_the_names_offered_are_the_public_ones_and_checkers_see_the_same() -> None:
    in_errors = {name for name in vars(workbench.errors) if name[0].isupper()}
    assert set(dir(workbench)) == {*workbench.__all__, "__version__"} - in_errors
    tree = ast.parse(inspect.getsource(workbench))
    (typed,) = (node for node in tree.body if isinstance(node, ast.If))
    imported = {
        alias.name
        for node in typed.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == set(workbench.__all__)


def test_nothing_is_imported_before_it_is_used() -> None:
    code = "import sys, workbench; print(*(m for m in sys.modules if m.startswith('workbench')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["workbench"]


def test_the_public_names_and_their_signatures_are_those_of_the_list() -> None:
    assert public_api.described() == public_api.LIST.read_text(encoding="utf-8"), (
        "what users call has changed: python -m tests.public_api, and a line in CHANGELOG.md"
    )


FREE_OPTIONS = {"map_batches": "those of the format, which Spark takes", "session": "Spark's own"}


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield every function that users call, and its name."""
    for name in workbench.__all__:
        thing = getattr(workbench, name)
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            own = ((f"{name}.{each}", getattr(thing, each)) for each in dir(thing))
            yield from ((each, f) for each, f in own if inspect.isfunction(f) and "._" not in each)
            yield name, thing
        elif inspect.ismodule(thing):
            own = ((f"{name}.{each}", f) for each, f in vars(thing).items())
            yield from ((each, f) for each, f in own if ours(f, thing))
        elif inspect.isfunction(thing):
            yield name, thing


def ours(function: object, module: ModuleType) -> bool:
    is_public = inspect.isfunction(function) and not function.__name__.startswith("_")
    return is_public and getattr(function, "__module__", None) == module.__name__


def test_a_signature_shows_every_option() -> None:
    functions = dict(public_functions())
    assert len(functions) > 150
    for name, function in functions.items():
        parameters = inspect.signature(function).parameters.values()
        is_free = name.rpartition(".")[2] in FREE_OPTIONS
        assert is_free == any(each.kind is each.VAR_KEYWORD for each in parameters), name
        assert function.__doc__, name


@pytest.mark.parametrize(
    "error",
    [
        e
        for _, e in inspect.getmembers(workbench.errors, inspect.isclass)
        if e.__module__ == "workbench.errors" and not issubclass(e, Warning)
    ],
)
def test_every_error_has_the_base_and_a_built_in_one(error: type[Exception]) -> None:
    assert issubclass(error, WorkbenchError)
    if error is not WorkbenchError:
        assert any(base.__module__ == "builtins" for base in error.__mro__[1:-3]), error


RAISED = re.compile(r"\b([A-Z]\w+Error)\b")


def test_what_public_docstrings_raise_is_exported() -> None:
    for name, function in public_functions():
        for error in RAISED.findall(inspect.getdoc(function) or ""):
            is_built_in = isinstance(getattr(builtins, error, None), type)
            assert is_built_in or error in workbench.__all__, f"{name} raises {error}"


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    """Return one object of each public class that a notebook shows."""
    logs = workbench.open_log_directory(SHOP)
    partition = logs["customers-0"]
    now = 1_733_000_000_000
    cluster = workbench.Cluster(2, storage="light")
    found = workbench.verify(SHOP.parent / "damaged")
    return {
        "logs": logs,
        "topic": logs["orders"],
        "partition": partition,
        "segment": partition.segments[0],
        "batches": partition.segments[0].batches,
        "batch": partition.segments[0].batches[0],
        "inspect": logs.inspect,
        "scan": logs.scan(),
        "query": logs.scan(where="key:1").where,
        "findings": found,
        "finding": found[0],
        "explanation": partition.explain_cleaning(now=now),
        "retention": logs["orders-0"].explain_retention(now=now),
        "plan": partition.plan_cleaning(now=now),
        "what if": logs.what_if({"retention.ms": "7d"}, now=now),
        "fate": partition.fate(3),
        "group": logs.explain_group("order-dashboard"),
        "transaction": logs.explain_transaction("payments-eu"),
        "prediction": logs.predict_startup(now=now),
        "preflight": logs.preflight(now=now),
        "comparison": logs.compare(SHOP.parent / "two-brokers" / "broker1"),
        "server": logs.serve(),
        "manager": workbench.LogManager([SHOP.parent / "none"]),
        "cluster": cluster,
        "security": workbench.ServerSecurity(),
    }


def test_what_a_notebook_shows_has_a_repr_of_one_line(shown: dict[str, Any]) -> None:
    for name, thing in shown.items():
        text = repr(thing)
        most = 600 if name in {"finding", "batch"} else 400  # these are rows: all their fields
        assert "\n" not in text, name
        assert len(text) <= most, f"{name}: {text}"
        assert " object at 0x" not in text, name


def test_what_is_a_table_is_one_to_every_library(shown: dict[str, Any]) -> None:
    """By the Arrow C stream interface: pyarrow, Polars, DuckDB and pandas take it."""
    tables = {name: thing for name, thing in shown.items() if hasattr(thing, "to_arrow")}
    wanted = {"findings", "explanation", "plan", "what if", "comparison", "scan", "topic"}
    assert wanted <= {*tables}
    for name, thing in tables.items():
        stream = pa.RecordBatchReader.from_stream(thing)
        assert stream.schema == thing.to_arrow().schema, name
        assert thing.to_pandas().shape[1] == len(stream.schema)


def test_names_complete_and_options_are_shown_as_in_jupyter() -> None:
    shell = InteractiveShell.instance()
    shell.push(
        {  # type: ignore[no-untyped-call]
            "logs": workbench.open_log_directory(SHOP),
            "wb": workbench,
        }
    )
    with provisionalcompleter():
        offered = {each.text for each in shell.Completer.completions("logs.scan(iso", 13)}
        names = {each.text for each in shell.Completer.completions("wb.Log", 6)}
    assert "isolation_level=" in offered
    assert {"LogDirectory", "LogManager"} <= names
    tooltip = shell.inspector.info(shell.user_ns["logs"].scan, oname="logs.scan")
    assert "isolation_level" in str(tooltip["definition"])
    assert "**options" not in str(tooltip["definition"])
