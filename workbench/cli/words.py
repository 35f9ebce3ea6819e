"""The words that people type for a command, and the command that is meant.

People come with the words of kcat, of Kafka's own tools, of SQL, git, jq and the shell. A word that
means a command with the same arguments runs it; a word that needs other arguments, or means
something that changes data, only says what to type.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from workbench.runtime.words import did_you_mean

_MEANS: Final[Mapping[tuple[str, ...], str]] = {
    ("ls",): "list ll dir tree partitions get-offsets log-dirs",
    ("ls", "--topics"): "topics topic",
    ("ls", "--records"): "count wc",
    ("ls", "--sort", "size"): "du df size sizes disk usage",
    ("describe",): "info stat file inspect",
    ("dump",): "cat consume consumer console-consumer kcat read print records messages view less "
    "more dump-log",
    ("dump", "-n", "10"): "head first",
    ("dump", "--newest", "10"): "tail last newest",
    ("dump", "--latest"): "latest compacted",
    ("search",): "grep find filter where rg",
    ("sql",): "query duckdb sqlite",
    ("export",): "save extract backup convert to-parquet to-csv to-json",
    ("verify",): "check fsck validate lint test health damage damaged lost corrupt",
    ("compare-replicas",): "diff compare replicas replica-verification",
    ("groups",): "consumer-groups consumers share-groups",
    ("offsets",): "lag consumer-lag committed",
    ("transactions",): "txn txns tx",
    ("cluster",): "metadata metadata-shell metadata-quorum kraft",
    ("cluster", "--only", "configs"): "configs config configuration",
    ("cluster", "--only", "acls"): "acls acl",
    ("cluster", "--only", "scram_users"): "users user",
    ("cluster", "--only", "quotas"): "quotas quota",
    ("cluster", "--only", "brokers"): "brokers nodes",
    ("cluster", "--only", "features"): "features versions",
    ("cluster", "--only", "topic_partitions"): "leaders leader isr",
    ("cluster", "--history"): "history log changes blame audit",
    ("explain",): "why",
    ("preflight",): "status",
    ("what-if",): "whatif simulate",
    ("app",): "ui gui web browse open",
    ("lab",): "notebook notebooks jupyter",
    ("--version",): "version",
}

_ADVICE: Final[Mapping[str, str]] = {
    "fix repair mend heal": "recover DIR --to COPY recovers a copy as a broker does at its start; "
    "repairs DIR plans repairs of groups and transactions; verify DIR says what is damaged",
    "restore": "undelete DIR --to COPY brings a deleted topic back, recover DIR --to COPY recovers "
    "a damaged directory, and replay DIR --to HOST:PORT writes records into a running cluster",
    "delete rm drop purge truncate delete-records remove prune": "ls DIR --files says which files "
    "may be deleted by hand; retention DIR --to COPY deletes old segments of a copy; "
    "serve COPY --writable lets Kafka's own tools delete",
    "clean cleaner compaction": "explain DIR says why a log is compacted or not, plan DIR what "
    "compaction would drop; compact DIR --to COPY compacts a copy",
    "produce producer-console console-producer send publish write push import mirror mirror-maker "
    "copy cp mv move migrate": "replay DIR --to HOST:PORT writes records into a running cluster; "
    "serve COPY --writable takes records from any Kafka client",
    "load sink delta iceberg lake table": "to-table DIR --to TABLE loads what is new into a table",
    "schema schemas schema-registry": "dump DIR -t _schemas --latest shows the schemas; "
    "--value-format avro decodes values by them",
    "who owner member members": "groups DIR lists groups and members; cluster DIR --history "
    "says what changed and when, but no file says who did it",
    "producers producer": 'sql DIR "from producers" lists the producers of each partition',
    "keys": 'sql DIR "from keys" lists the keys of each log',
    "segments segment": 'sql DIR "from segments" lists segments; describe DIR -p TOPIC-0 those of '
    "one partition",
    "batches batch": 'sql DIR "from batches" lists batches; describe FILE.log those of one file',
    "index indexes": "describe FILE.index shows the entries of an index",
    "select from": 'sql DIR "select …" runs a query, in quotes',
    "jq json": "dump DIR --json prints JSON lines for jq; search DIR '$.field = value' finds "
    "fields of JSON",
    "start run boot": "predict DIR says what a broker will do at its start; serve DIR lets Kafka's "
    "clients read without one",
    "server broker connect listen": "serve DIR lets Kafka's clients read the logs",
    "upgrade downgrade migration": "predict DIR --kafka VERSION says what a broker of that version "
    "does with the directory",
    "reset reset-offsets seek rewind": "group NAME DIR shows where a group resumes; serve COPY "
    "--writable lets kafka-consumer-groups --reset-offsets change it",
    "scan pandas": "in Python: workbench.open_log_directory(DIR).scan().to_pandas(); here: dump, "
    "search, sql, export",
    "segments-size top stats summary overview": "ls DIR --topics --records counts records; "
    "report DIR FILE.html writes one page; app DIR shows it",
    "html page ticket": "report DIR FILE.html writes one page about a directory",
}

SYNONYMS: Final = {word: words for words, typed in _MEANS.items() for word in typed.split()}
"""Words that mean a command with the same arguments, and its first words."""

ADVICE: Final = {word: advice for typed, advice in _ADVICE.items() for word in typed.split()}
"""Words that mean something with other arguments, and what to type."""

_WRITES: Final = {"compact", "recover", "replay", "retention", "serve", "to-table", "undelete"}
_NEAR: Final = 0.75  # below that, a name that is spelled alike means something else


def meant(arguments: Sequence[str], commands: Iterable[str]) -> list[str]:
    """Return the arguments of the command that is meant, as `commands` name it.

    A path in the first place means ``ls PATH``; ``help NAME`` means ``NAME --help``; the names of
    Kafka's tools are read without ``kafka-`` and ``.sh``. What means nothing is returned as it is.

    Args:
        arguments: a command's name and what follows it, or nothing.
        commands: the names of the commands.
    """
    if not arguments:
        return []
    first, *rest = arguments
    if first in commands:
        return [first, *rest]
    if first == "help":
        return [*rest[:1], "--help"]
    if words := SYNONYMS.get(_plain(first)):
        return [*words, *rest]
    if is_path(first):
        return ["ls", first, *rest]
    return [first, *rest]


def advice_for(word: str, commands: Iterable[str]) -> str:
    """Return what to type for a word that is not a command, as the end of a sentence.

    A command that is spelled alike is named only if it is near and changes nothing.
    """
    if text := ADVICE.get(_plain(word)):
        return f"; {text}"
    harmless = [name for name in commands if name not in _WRITES]
    return did_you_mean(word, harmless, _NEAR) or "; --help lists the commands"


def is_path(text: str) -> bool:
    """Return whether an argument names something on the disk or in a bucket."""
    return "://" in text or os.path.lexists(text)


def path_last(given: Sequence[str]) -> list[str]:
    """Return names and paths with the names first, if paths stand before them."""
    given = list(given)
    while is_path(given[0]) and not is_path(given[-1]):
        given.append(given.pop(0))
    return given


def path_first(given: Sequence[str]) -> list[str]:
    """Return paths and a text with the text last, if it stands before them."""
    given = list(given)
    return given if is_path(given[0]) or not is_path(given[-1]) else [*given[1:], given[0]]


def _plain(word: str) -> str:
    return word.lower().removeprefix("kafka-").removesuffix(".sh").replace("_", "-")
