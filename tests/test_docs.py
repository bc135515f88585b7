"""What the README and the docs say is so."""

from __future__ import annotations

import doctest
import importlib
import re
import subprocess
from pathlib import Path

import pytest

from ginenv.rules import FIELDS, PRESETS, Rules

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_the_examples_run_and_print_what_they_say(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    told = re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)
    assert printed[: len(told)] == told or not told


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_the_table_of_variants_names_every_preset_and_field() -> None:
    table = README.split("## Variants")[1].split("## What differs")[0]
    assert all(f"`{name}`" in table for name in PRESETS)
    assert all(f"`{name}`" in table for name in FIELDS)
    for name, default in re.findall(r"^\| `(\w+)` \| (\w+) \|", table, re.MULTILINE):
        assert str(getattr(Rules(), name)) == default


@pytest.mark.parametrize("name", ["cards", "actions", "gin_rummy_v0"])
def test_examples_in_docstrings_hold(name: str) -> None:
    failed, attempted = doctest.testmod(importlib.import_module(f"ginenv.{name}"))
    assert attempted
    assert not failed


def test_ci_runs_the_readmes_test_command() -> None:
    written = re.search(r"<!-- test command -->\n```sh\n(python3 -m venv .*pytest)\n", README)
    assert written is not None
    script = (ROOT / ".ci" / "run").read_text()
    find = re.search(r"^test_command=\$\((awk .*)\)$", script, re.MULTILINE)
    assert find is not None
    found = subprocess.run(find[1], shell=True, cwd=ROOT, capture_output=True, text=True)
    assert found.stdout.strip() == written[1]
    assert re.search(r'^eval "\$test_command"$', script, re.MULTILINE)
