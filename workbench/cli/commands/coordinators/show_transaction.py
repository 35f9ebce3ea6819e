"""`kafka-workbench transaction`: everything about one transactional id or producer."""

from typing import Any

import click

from workbench.cli.command import Command, as_json, open_logs, read_time
from workbench.cli.output import label, print_json, print_table, time_of
from workbench.cli.settings import settings_for, takes_settings
from workbench.cli.show.coordinator_facts import load_transactions, report
from workbench.coordinator.transactions.transaction_explanation import TransactionExplainer
from workbench.loaders.explanations.coordinator_explanation import explained_transaction
from workbench.loaders.tables.coordinator_rows import id_row, open_producer_row
from workbench.tables.columns import json_of
from workbench.tables.foresight import RuleRow

NOT_THERE_OR_HANGS = 1

_TIMES = frozenset({"start_time", "last_update_time", "times_out_at", "expires_at"})


@click.command("transaction", cls=Command, fields={"--json, in rules": RuleRow})
@click.argument("name", metavar="ID")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--now", metavar="TIME", callback=read_time,
    help="Measure ages from this time: ISO 8601, or ms since the epoch. Default: no age is judged.",
)  # fmt: skip
@takes_settings
@as_json
def command(
    *,
    name: str,
    paths: tuple[str, ...],
    now: int | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> int:
    """Show one transaction: its state, what it blocks, whether it hangs, and what ends it.

    ID is a transactional id, or a producer id. The rules at the end say for each partition whether
    a transaction is open there, since when it holds back the last stable offset, and how many
    offsets are above it; then which command would end it. With --set, times are those of a broker
    with that configuration: transactional.id.expiration.ms, transaction.max.timeout.ms.

    Exit codes: 0 done, 1 no record mentions the ID, its transaction hangs, or something could not
    be read.

    With --json: an object as `transactions --json` gives, with null where no record mentions the
    transactional id, and open: a list of objects as of `transactions --open --json`. Beside them
    conclusion, and rules: a list of objects with the fields below.
    """
    listing = open_logs(paths).listing
    broker = settings_for(listing, settings).broker
    coordinator = load_transactions(listing)
    explainer = TransactionExplainer(coordinator, name, now, broker)
    story = explained_transaction(explainer)
    state = explainer.state
    facts: dict[str, Any] = {"transactional_id": None, "state": None}
    if state is not None:
        row = id_row(state, explainer.open, broker.transactional_id_expiration_ms)
        facts = json_of(row)
    facts["open"] = [json_of(open_producer_row(each)) for each in explainer.open]
    facts |= {"conclusion": story.conclusion, "rules": story.as_dict()["rules"]}
    code = report(coordinator.findings())
    if as_json:
        print_json(facts)
    else:
        print_table(
            ["field", "value"],
            [
                [label(field), time_of(value) if field in _TIMES else _text(value)]
                for field, value in {"conclusion": story.conclusion, **facts}.items()
                if value is not None and field not in {"open", "rules"}
            ],
        )
        click.echo()
        print_table(story.columns, story.cells())
    is_fine = explainer.is_known and not explainer.hangs
    return code if is_fine else NOT_THERE_OR_HANGS


def _text(value: Any) -> Any:
    return ", ".join(value) if isinstance(value, list) else value
