"""The policy that comes with the package: its file, its header, and that it plays."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import agents
from agents import arena
from agents.policy import read_header
from ginenv.rules import preset

CLASSIC = preset("classic")


def test_the_file_is_small_and_says_what_it_is() -> None:
    path = agents.POLICIES["best"]
    assert path.stat().st_size < 5_000_000
    header = read_header(path)
    assert header["rules"] == [CLASSIC.to_dict()]
    assert header["decisions"] > 1_000_000
    assert all(command.startswith("python train.py") for command in header["commands"])


def test_it_wins_from_simple() -> None:
    """Its games are measured in docs/RESULTS.md; here 300 hands."""
    players = agents.load("best", CLASSIC), agents.load("simple", CLASSIC)
    figures = arena.compare(CLASSIC, ("best", "simple"), players, 150, seed=1)
    assert figures["points_per_hand"]["mean"] > 0
    assert figures["illegal"] == {"a": 0, "b": 0}
