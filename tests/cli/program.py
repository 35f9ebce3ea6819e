"""Run the command line in the tests' own process."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner

from workbench.cli.main import main


class Outcome(NamedTuple):
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The output as one JSON value."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


def run(*arguments: str | Path) -> Outcome:
    """Run `kafka-workbench` with these arguments."""
    result = CliRunner().invoke(main, [str(each) for each in arguments])
    return Outcome(result.exit_code, result.stdout, result.stderr)
