"""Commands, topics and partitions are completed in bash and zsh, as README says."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.cli.program import run
from workbench.cli.main import main

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
PROGRAM = Path(sys.executable).parent / "kafka-workbench"


def complete(shell: str, *lines: list[str]) -> list[list[str]]:
    """Load the completion in a shell as a user does; return the offers for each last word."""
    script = f'eval "$(_KAFKA_WORKBENCH_COMPLETE={shell}_source kafka-workbench)"\n'
    if shell == "zsh":
        # compadd and _describe only work below a key press: here they print what they are given.
        script = f"""
        autoload -U compinit && compinit -u -D
        {script}
        compadd() {{ print -l -- "${{(@P)argv[-1]}}" }}
        _describe() {{ print -l -- "${{(@P)argv[3]}}" }}
        """
    for words in lines:
        quoted = " ".join(f"'{word}'" for word in words)
        if shell == "bash":
            script += f"""
            COMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1}
            _kafka_workbench_completion kafka-workbench '{words[-1]}'
            printf '%s\\n' "${{COMPREPLY[@]}}"
            """
        else:
            script += f"words=({quoted}) CURRENT={len(words)}\n${{_comps[kafka-workbench]}}\n"
        script += "echo ---\n"
    arguments = {"bash": ["bash", "--norc", "-c"], "zsh": ["zsh", "-f", "-c"]}[shell]
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    shown = subprocess.run(
        [*arguments, script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": path},
    )
    assert not shown.stderr, shown.stderr
    offers = shown.stdout.split("---\n")[: len(lines)]
    return [[text.partition(":")[0] for text in offer.split()] for offer in offers]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_completes_commands_topics_and_partitions(shell: str) -> None:
    words = ["kafka-workbench", "ls", str(SHOP)]
    commands, topics, partitions = complete(
        shell, ["kafka-workbench", "comp"], [*words, "--topic", "or"], [*words, "-p", "orders-"]
    )
    assert {"compact", "compare-replicas"} <= set(commands)
    assert "orders" in topics
    assert "payments" not in topics
    assert {"orders-0", "orders-1"} <= set(partitions)


def options(command: click.Command, context: click.Context) -> Iterator[click.Option]:
    """Yield the options of a command and of those in it."""
    yield from (each for each in command.params if isinstance(each, click.Option))
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from options(found, click.Context(found, parent=context))


def test_every_option_that_chooses_topics_or_partitions_is_completed() -> None:
    shop = click.Context(main)
    shop.params = {"paths": (str(SHOP),)}
    wanted = {"-t": "orders", "-p": "orders-0"}
    found = [
        (option, name)
        for option in options(main, click.Context(main))
        for short, name in wanted.items()
        if short in option.opts
    ]
    assert len(found) > 40
    for option, name in found:
        offered = [each.value for each in option.shell_complete(shop, "orders")]
        assert name in offered, f"{option.opts}: {option.help}"


def test_an_unknown_command_gets_the_nearest_name() -> None:
    outcome = run("serach", SHOP)
    assert outcome.code == 3
    assert outcome.err == (
        "kafka-workbench: No such command 'serach'; did you mean search? "
        "(see kafka-workbench --help)\n"
    )


def test_a_shell_completes_the_groups_of_a_directory() -> None:
    [after] = complete("bash", ["kafka-workbench", "group", str(SHOP), "order"])
    assert after == ["order-dashboard"]
    [option] = complete("bash", ["kafka-workbench", "offsets", str(SHOP), "-g", "s"])
    assert option == ["shipping-labels", "suggestions"]
