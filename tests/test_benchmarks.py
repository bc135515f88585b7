"""The benchmarks run and write what they say. Their figures are not looked at: these settings are
far too small for that."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    short = ["--seconds", "0.01", "--rounds", "1"]
    command = [sys.executable, str(FOLDER / script), *short, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_engine_benchmark_writes_its_figures(tmp_path: Path) -> None:
    ran = run("engine.py", "--lanes", "1,16", "--json", str(tmp_path / "engine.json"))
    assert ran.returncode == 0, ran.stderr
    assert "masks and observations, 16 lanes" in ran.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["engine.json"]
    figures = json.loads((tmp_path / "engine.json").read_text())
    assert list(figures) == [
        "decisions_per_second",
        "ratios",
        "least_deadwood_hands_per_second",
        "state_bytes_per_lane",
        "machine",
    ]
    rates = figures["decisions_per_second"]
    for row in ("engine", "engine_observed"):
        assert list(rates[row]) == ["1", "16"]
        assert min(rates[row].values()) > 0
    peers = {
        "engine/openspiel": "openspiel",
        "engine_observed/openspiel_observed": "openspiel_observed",
    }
    for ratio, peer in peers.items():
        assert list(figures["ratios"][ratio]) == ["1", "16"]
        missing = [value is None for value in figures["ratios"][ratio].values()]
        assert missing == [rates[peer] is None] * 2
    assert set(figures["ratios"]) == {*peers, "pettingzoo/openspiel", "pettingzoo/openspiel_plain"}
    assert figures["least_deadwood_hands_per_second"] > 0
    assert 0 < figures["state_bytes_per_lane"] < 1_024


def test_engine_benchmark_says_what_is_wrong_with_its_arguments(tmp_path: Path) -> None:
    for arguments, told in (
        (("--lanes", "1,x"), "--lanes"),
        (("--lanes", "0"), "--lanes"),
        (("--json", str(tmp_path / "no" / "engine.json")), "there is no folder"),
        (("--rounds", "0"), "--rounds 0"),
    ):
        ran = run("engine.py", *arguments)
        assert ran.returncode == 2
        assert told in ran.stderr


def test_games_benchmark_writes_its_figures(tmp_path: Path) -> None:
    short = ("--lanes", "16", "--games", "2")
    ran = run("games.py", *short, "--json", str(tmp_path / "games.json"))
    assert ran.returncode == 0, ran.stderr
    figures = json.loads((tmp_path / "games.json").read_text())
    assert len(figures) == 10
    for row, values in figures.items():
        assert row in ran.stdout
        assert values["decisions_per_second"] > 0
        assert (values["games_per_second"] is None) == row.startswith("hands")
    assert run("games.py", "--lanes", "0").returncode == 2
