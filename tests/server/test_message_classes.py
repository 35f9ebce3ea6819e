"""mypy sees of requests and responses what Kafka's JSON files say, in each handler."""

import importlib.util
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import pytest

from workbench.server import kafka_apis
from workbench.server.protocol.api_keys import API_KEYS

PROJECT = Path(__file__).parents[2]
HANDLERS = [
    (API_KEYS[key], served.handler or served.waits) for key, served in kafka_apis.SERVED.items()
]
REFUSE_ALL = {"change_acls", "refuse_tokens", "sasl"}
"""Handlers that give every request the same error."""


def maker() -> Any:
    spec = importlib.util.spec_from_file_location(
        "message_classes", PROJECT / ".ci" / "message_classes.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_classes_are_those_of_the_json_files() -> None:
    """`make messages` writes them."""
    ruff = Path(sys.executable).with_name("ruff")
    for path, text in maker().modules().items():
        formatted = subprocess.run(
            [ruff, "format", "-"],
            input=text,
            cwd=PROJECT,
            capture_output=True,
            text=True,
            check=True,
        )
        assert path.read_text() == formatted.stdout


@pytest.mark.parametrize(("api", "handler"), HANDLERS, ids=lambda each: getattr(each, "name", ""))
def test_a_handler_takes_its_request_and_returns_its_response(api: Any, handler: Any) -> None:
    if handler.__name__ in REFUSE_ALL:
        return
    hints = typing.get_type_hints(handler)
    asked = next(hint for name, hint in hints.items() if name in {"request", "_request"})
    for hint, name in (
        (asked, f"{api.name}RequestData"),
        (hints["return"], f"{api.name}ResponseData"),
    ):
        assert name in {each.__name__ for each in typing.get_args(hint) or (hint,)}
    assert len(HANDLERS) > 50
