"""The benchmark of ablations: runs, goes on where it was stopped, and says what is wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
sys.path.insert(0, str(FOLDER))

import ablations  # noqa: E402

from agents.ppo_config import NetworkConfig  # noqa: E402

SMALL = NetworkConfig(width=8, layers=1)
FEW = {"lanes": 32, "steps": 8, "minibatch": 64, "actor": SMALL, "critic": SMALL}


def test_it_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ablations, "SETTINGS", {**ablations.SETTINGS, **FEW})
    file = tmp_path / "ablations.json"

    def run(*arguments: str) -> list[str]:
        short = ["--decisions", "512", "--deals", "4", "--json", str(file)]
        monkeypatch.setattr(sys, "argv", ["ablations.py", *short, *arguments])
        ablations.main()
        return capsys.readouterr().out.splitlines()

    assert len(run("--variants", "recipe;plain PPO", "--seeds", "1")) == 2 + 4
    first = json.loads(file.read_text())
    told = run("--variants", "recipe;plain PPO;perceptron", "--seeds", "1")
    assert [line.partition(" |")[0] for line in told[:1]] == ["perceptron"]
    every = json.loads(file.read_text())
    assert every[:2] == first
    assert [each["variant"] for each in every] == ["recipe", "plain PPO", "perceptron"]
    for each in every:
        assert each["decisions"] == 512
        assert each["low"] < each["points"] < each["high"]
    mean = f"| {every[2]['points']:+.1f} |"
    assert told[-1].startswith("| perceptron |")
    assert mean in told[-1]


def test_an_unknown_variant_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["ablations.py", "--variants", "recipee"])
    with pytest.raises(SystemExit) as ended:
        ablations.main()
    assert ended.value.code == 2
    assert "'recipee' is not one of recipe;" in capsys.readouterr().err


def test_runs_of_other_lengths_are_not_mixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ablations, "SETTINGS", {**ablations.SETTINGS, **FEW})
    file = tmp_path / "ablations.json"
    always = ["ablations.py", "--variants", "recipe", "--seeds", "1", "--json", str(file)]
    monkeypatch.setattr(sys, "argv", [*always, "--decisions", "256", "--deals", "4"])
    ablations.main()
    kept = file.read_bytes()
    for more, named in (
        (["--decisions", "512", "--deals", "4"], "--decisions 512: runs in"),
        (["--decisions", "256", "--deals", "8"], "--deals 8: runs in"),
    ):
        monkeypatch.setattr(sys, "argv", [*always, *more])
        with pytest.raises(SystemExit) as ended:
            ablations.main()
        assert ended.value.code == 2
        assert named in capsys.readouterr().err
        assert file.read_bytes() == kept
