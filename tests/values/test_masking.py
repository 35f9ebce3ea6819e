"""Masks: what they hide, and that it leaves nowhere."""

import contextlib
import hashlib
import hmac
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import workbench
from tests.cli.program import run
from tests.naive import Record, batch
from workbench.errors import CorruptDataWarning, SchemaError
from workbench.values.masking import Mask, Masks

LOG = "00000000000000000000.log"
ADDRESS = "ada@example.org"


def logs_of(tmp_path: Path) -> workbench.LogDirectory:
    orders = [
        b'{"email":"ada@example.org","card":4711000012345678,"lines":[{"to":"Ada Lane"}],"n":1}',
        b'{"email":null,"card":null,"lines":[],"n":2}',
        b"ada@example.org is not JSON",
    ]
    for topic, values in {"orders": orders, "public": [b'{"n":3}']}.items():
        folder = tmp_path / "logs" / f"{topic}-0"
        folder.mkdir(parents=True)
        who = ADDRESS.encode() if topic == "orders" else b"anyone"
        headers = ((b"user", who), (b"trace", b"t1"))
        records = [Record(at, 1, who, v, headers) for at, v in enumerate(values)]
        (folder / LOG).write_bytes(batch(records))
    return workbench.open_log_directory(tmp_path / "logs")


def test_rules_are_applied_before_values_leave_the_scan(tmp_path: Path) -> None:
    masks = Masks.of(
        """
        orders  value.email     hash      # an address
        orders  value.card      first 4
        orders  value.lines.to  drop
        orders  headers.user    drop
        *       key             hash
        """,
        key=b"k",
    )
    scan = logs_of(tmp_path).scan(topics="orders", decode={"value": "json"}, mask=masks)
    with pytest.warns(CorruptDataWarning):
        table = scan.to_arrow()
    digest = hmac.new(b"k", ADDRESS.encode(), hashlib.sha256).digest()[:16]
    assert table.schema == scan.schema
    assert table["value"].to_pylist() == [
        {"email": digest.hex(), "card": "4711", "lines": [{"to": None}], "n": 1},
        {"email": None, "card": None, "lines": [], "n": 2},
        None,
    ]
    assert table["key"].to_pylist() == [digest] * 3
    assert table["headers"].to_pylist()[0] == [
        {"key": "user", "value": None},
        {"key": "trace", "value": b"t1"},
    ]


@pytest.mark.parametrize("how", ["drop", "hash", "first 3"])
@pytest.mark.parametrize("decode", [None, "json", "utf8", "hex"])
def test_nothing_masked_leaves_by_any_way_out(tmp_path: Path, how: str, decode: str | None) -> None:
    logs = logs_of(tmp_path)
    paths = ["key", "headers"]
    paths += ["value.email", "value.lines"] if decode == "json" else ["value"]
    rules = [f"orders {path} {how}" for path in paths]
    scan = logs.scan(decode={"value": decode} if decode else None, mask=rules)
    out = tmp_path / "out.parquet"
    texts = []
    is_json = decode == "json"
    with pytest.warns(CorruptDataWarning) if is_json else contextlib.nullcontext():
        texts.append(str(scan.to_arrow().to_pylist()))
        texts.append(str(list(scan)))
        texts.append(str(scan.head(2).to_pylist()))
        texts.append(str(scan.to_pandas().to_dict()))
        scan.to_parquet(out, compression="none")
        texts += [str(finding) for finding in scan.findings]
        texts.append(repr(scan))
    for text in [*texts, out.read_bytes().decode("latin-1")]:
        for secret in (ADDRESS, "Ada Lane"):
            assert secret not in text
            assert secret.encode().hex() not in text


@pytest.mark.parametrize("decode", [None, "utf8", "hex"])
def test_a_rule_about_a_field_of_what_has_none_is_refused(
    tmp_path: Path, decode: str | None
) -> None:
    """It would hide all of it, and not say so."""
    logs = logs_of(tmp_path)
    how: Any = {"value": decode} if decode else None
    with pytest.raises(SchemaError, match=r"values are (bytes|text), which has no fields .*format"):
        logs.scan(decode=how, mask="orders value.email hash").to_arrow()
    with pytest.raises(SchemaError, match=r"keys are bytes, .*--key-format json"):
        logs.scan(mask="orders key.id hash").to_arrow()
    both = logs.scan("orders", decode=how, mask=["orders value drop", "* value.email hash"])
    assert both.to_arrow()["value"].null_count == 3
    assert logs.scan("public", mask="orders value.email hash").to_arrow()["value"].null_count == 0


@pytest.mark.parametrize("rule", ["ordres value drop", "order?? value drop", "ordre* value drop"])
@pytest.mark.parametrize("door", ["scan", "sql", "inspect", "export", "sql_command", "table"])
def test_a_rule_about_no_topic_is_refused(tmp_path: Path, rule: str, door: str) -> None:
    """It would hide nothing."""
    logs = logs_of(tmp_path)
    rules = tmp_path / "rules"
    rules.write_text(f"public key drop\n{rule}\n")
    path = str(tmp_path / "logs")
    if door in {"export", "sql_command", "table"}:
        words = {
            "export": ("export", path, str(tmp_path / "out.csv"), "-t", "orders"),
            "sql_command": ("sql", path, "select * from orders"),
            "table": ("to-table", path, "--to", str(tmp_path / "table"), "-t", "orders"),
        }[door]
        outcome = run(*words, "--mask", rules)
        assert outcome.code == 3
        found = outcome.err
    else:
        asked: dict[str, Callable[[], object]] = {
            "scan": lambda: logs.scan("orders", mask=rules),
            "sql": lambda: logs.sql("from orders", mask=rules),
            "inspect": lambda: logs.sql("from segments", mask=rules),
        }
        with pytest.raises(SchemaError) as raised:
            asked[door]()
        found = str(raised.value)
    assert f"unknown topic {rule.removesuffix(' value drop')}; did you mean orders?" in found
    assert not list(tmp_path.glob("out.csv")) + list(tmp_path.glob("table"))


def test_topics_with_and_without_rules_have_one_type(tmp_path: Path) -> None:
    scan = logs_of(tmp_path).scan(
        partitions=["orders-0", "public-0"],
        columns=["topic", "value"],
        decode={"value": "json"},
        mask="orders value.n hash",
        limit=2,
    )
    assert scan.schema.field("value").type.field("n").type == pa.large_string()
    public = logs_of(tmp_path / "again").scan(
        columns=["topic", "value"], decode={"value": "json"}, mask="orders value.n hash"
    )
    with pytest.warns(CorruptDataWarning):
        last = public.to_arrow().to_pylist()[-1]
    assert (last["topic"], last["value"]["n"]) == ("public", "3")


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("orders value", "not TOPIC PATH"),
        ("orders offset drop", "begins with key, value, headers or metadata"),
        ("orders value..a drop", "begins with key, value, headers or metadata"),
        ("orders value first x", "not TOPIC PATH"),
        ("orders value scramble", "not TOPIC PATH"),
        (Path("/nowhere"), "No such file"),
    ],
)
def test_a_rule_without_meaning_is_refused(rule: Any, problem: str) -> None:
    with pytest.raises(SchemaError, match=problem):
        Masks.of(rule)


def test_a_field_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """A misspelled rule would hide nothing."""
    scan = logs_of(tmp_path).scan(decode={"value": "json"}, mask="orders value.emial drop")
    with pytest.raises(SchemaError, match="there is no field emial in orders"):
        scan.to_arrow()


def test_a_key_is_never_shown() -> None:
    masks = Masks((Mask("orders", "key", "hash"),), b"sesame")
    assert "sesame" not in repr(masks)
    assert Masks.of(["a key hash"]).key != Masks.of(["a key hash"]).key


NOTEBOOK = """
import warnings
warnings.simplefilter("ignore")
import workbench as wb
from widgets import LogExplorer
from workbench.values.masking import Masks
logs = wb.open_log_directory({path!r})
masks = Masks.of(["orders value.email hash", "orders value.lines.to drop", "orders key first 2",
                  "orders value.card first 4", "orders headers.user drop"])
table = logs.scan(topics="orders", decode={{"value": "json"}}, mask=masks).to_arrow()
display(table["value"].to_pylist())
display(logs.scan(topics="orders", columns=["key", "headers"], mask=masks).to_arrow().to_pylist())
explorer = LogExplorer(logs, show_values=True, mask=masks)
display(explorer)
print(explorer.answer_records("orders-0", "0", 0, 3))
where = {{"partition": "orders-0", "segment": "0", "position": 0}}
print(explorer.answer_bytes(**where, inside=False, start=0, stop=900))
"""


@pytest.mark.notebook
def test_a_saved_notebook_holds_nothing_masked(tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient
    from nbformat.v4 import new_code_cell, new_notebook

    logs_of(tmp_path)
    source = NOTEBOOK.format(path=str(tmp_path / "logs"))
    notebook = new_notebook(cells=[new_code_cell(source)])
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", store_widget_state=True)
    client.execute()
    saved = tmp_path / "saved.ipynb"
    nbformat.write(notebook, saved)
    text = saved.read_text()
    assert "LogExplorer" in text
    assert "4711" in text
    for secret in (ADDRESS, "Ada Lane", "4711000012345678"):
        in_base64 = b64encode(secret.encode()).decode().rstrip("=")
        for form in (secret, secret.encode().hex(), in_base64):
            assert form not in text


def test_metadata_is_hidden_by_any_mask_unless_a_rule_shows_it() -> None:
    assert Masks.of(["orders value.email hash"])("metadata", b"ada@example.org") == b"masked"
    assert Masks.of(["* metadata drop"])("metadata", b"ada@example.org") == b"masked"
    assert Masks.of(["* metadata first 3"])("metadata", b"ada@example.org") == b"ada"
    hashed = Masks.of(["* metadata hash"], b"k")("metadata", b"ada@example.org")
    assert hashed == hmac.new(b"k", b"ada@example.org", hashlib.sha256).hexdigest()[:32].encode()
    assert Masks.of(["* metadata.user hash"])("metadata", b"ada") == b"masked"
    with pytest.raises(SchemaError, match="begins with key, value, headers or metadata"):
        Masks.of(["* meta drop"])
