import json

from tests.cli.program import run
from workbench.cli.checks.installation import DoctorCheck, all_checks


def test_this_installation_is_sound() -> None:
    outcome = run("doctor", "--json")
    checks = [DoctorCheck(**each) for each in outcome.json]
    assert [check for check in checks if check.status == "error"] == []
    names = {check.name for check in checks}
    assert names >= {"Python", "compiled code", "crcmod", "codecs", "jupyterlab", "Java for Spark"}
    assert len(checks) == len(all_checks())
    assert all(check.advice for check in checks if check.status in {"warning", "error"})
    assert outcome.code == (1 if any(check.status == "warning" for check in checks) else 0)


def test_text_has_a_line_a_check() -> None:
    shown = run("doctor")
    assert "ok       Python" in shown.out


def test_settings_of_spark_need_a_master() -> None:
    refused = run("doctor", "--dir", "logs")
    assert refused.code == 3
    assert "--conf and --dir need --spark" in refused.err


def test_the_lab_can_say_what_it_would_open() -> None:
    told = run("lab", "--json", "--no-browser", "--", "--port=9999")
    assert told.code == 0
    assert "--no-browser" in told.json["command"]
    assert told.json["command"][-1] == "--port=9999"
    assert run("lab", "--json", "some/path").json["data"] == "some/path"
    assert json.loads(told.out)["is_checkout"] is True
