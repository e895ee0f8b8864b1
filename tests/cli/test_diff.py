"""`diff` from the command line: exit codes, the forms it writes, wrong calls."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from cli_runs import Cli

SYSTEM = """\
rt_sched: 1
name: one
devices: {ecu: {processing_elements: {cpu: {kind: cpu}}}}
tasks:
  plan: {runs_on: ecu.cpu, activation: {period: 20ms}, execution: {wcet: 2ms}}
  log: {runs_on: ecu.cpu, activation: {period: 100ms}, execution: {wcet: 30ms}}
"""


@pytest.fixture(autouse=True)
def files(cli: Cli) -> None:
    (cli.folder / "a.yaml").write_text(SYSTEM)
    (cli.folder / "b.yaml").write_text(SYSTEM.replace("wcet: 2ms", "wcet: 21ms"))


def test_exit_1_where_something_got_worse_and_every_form(cli: Cli) -> None:
    ended = cli("diff", "a.yaml", "b.yaml", "--json", "--junit", "j.xml", "--markdown", "m.md", code=1)
    document = ended.document
    assert (document["schema"], document["worse"]) == ("rt-sched/diff/1", True)
    assert document["verdicts"][0]["worse"]
    suite = ElementTree.parse(cli.folder / "j.xml").getroot()[0]  # noqa: S314 - our own text
    assert int(suite.attrib["failures"]) >= 1
    assert (cli.folder / "m.md").read_text().startswith("### rt-sched: worse\n")


def test_exit_0_otherwise_and_markdown_on_stdout(cli: Cli) -> None:
    for name, status in (("a.json", "deadline_miss"), ("b.json", "ok")):
        (cli.folder / name).write_text(json.dumps({"schema": "rt-sched/run-summary/1", "status": status}))
    shown = cli("diff", "a.json", "b.json", "--markdown", "-").out
    assert shown.startswith("### rt-sched: nothing got worse\n")
    assert "| better | " in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("a.yaml", "x.json"), "x.json: holds no schema; documents that can be compared"),
        (("a.yaml", "run"), "run is a run; what can be compared"),
        (("a.yaml", "b.yaml", "--markdown", "-", "--json"), "--markdown"),
        (("a.yaml", "b.yaml", "--junit", "a.yaml"), "a.yaml is a file that is compared"),
        (("run", "run", "--junit", "none/j.xml"), "none/j.xml: cannot be written"),
    ],
)
def test_wrong_calls_are_exit_2(cli: Cli, arguments: tuple[str, ...], words: str) -> None:
    (cli.folder / "x.json").write_text("{}")
    (cli.folder / "run").mkdir()
    (cli.folder / "run" / "summary.json").write_text(json.dumps({"schema": "rt-sched/run-summary/1"}))
    assert words in cli("diff", *arguments, code=2).err
