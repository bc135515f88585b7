"""Runs that are stopped or killed, and go on."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training_runs import HANDS, OFTEN, await_decisions, curves, finish, start, state


def assert_same(one: Any, other: Any, where: str = "state") -> None:
    if isinstance(one, dict):
        assert list(one) == list(other), where
        for key in one:
            if key not in ("seconds", "commands"):
                assert_same(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for index, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_same(a, b, f"{where}.{index}")
    elif isinstance(one, torch.Tensor):
        assert torch.equal(one, other), where
    else:
        assert one == other, where


def folders(parent: Path) -> tuple[Path, Path]:
    whole, killed = parent / "whole", parent / "killed"
    whole.mkdir()
    killed.mkdir()
    return whole, killed


@pytest.mark.slow
def test_a_run_killed_twice_ends_as_one_never_killed(tmp_path: Path) -> None:
    """Weights, optimiser, magnet, generators, lanes, chances and the curves' points alike."""
    whole, killed = folders(tmp_path)
    to = ("--decisions", 32_768, *OFTEN)
    finish(start(whole, *to))
    for resume, decisions in (((), 4_096), (("--resume",), 12_288)):
        process = start(killed, *to, *resume)
        await_decisions(killed, process, decisions)
        process.kill()
        finish(process, -signal.SIGKILL)
        assert state(killed)["trainer"]["decisions"] < 32_768
    finish(start(killed, *to, "--resume"))
    assert_same(state(whole), state(killed))
    expected, found = curves(whole), curves(killed)
    assert expected == found
    steps = [step for step, _ in found["loss/value"]]
    assert steps == list(range(4_096, 32_769, 4_096))
    assert sorted(path.name for path in (killed / "runs/r").iterdir() if ".part" in path.name) == []


def test_a_run_killed_before_its_first_snapshot_begins_anew(tmp_path: Path) -> None:
    process = start(tmp_path, "--decisions", 100_000_000, "--evaluate_every", 100_000_000, *HANDS)
    until = time.monotonic() + 600
    while not any(b"loss/" in path.read_bytes() for path in tmp_path.glob("runs/r/events*")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.1)
    process.kill()
    finish(process, -signal.SIGKILL)
    assert not (tmp_path / "runs/r/state.pt").exists()
    finish(start(tmp_path, "--decisions", 8_192, "--evaluate_every", 8_192, *HANDS))
    steps = [step for step, _ in curves(tmp_path)["loss/value"]]
    assert steps == [4_096, 8_192]  # nothing is left of the first


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_first(number: signal.Signals, tmp_path: Path) -> None:
    """Also when it comes again, as a terminal and a launcher may both send it; the run goes on."""
    process = start(tmp_path, "--decisions", 100_000_000, "--evaluate_every", 8_192, *HANDS)
    assert process.stdout is not None
    assert "8,192 decisions" in process.stdout.readline()
    process.send_signal(number)
    process.send_signal(number)
    assert "go on with --resume" in finish(process, 128 + number)
    reached = state(tmp_path)["trainer"]["decisions"]
    assert reached > 8_192  # where there was a snapshot before the evaluation
    if number == signal.SIGTERM:
        finish(start(tmp_path, "--resume", "--decisions", reached + 4_096))
        assert state(tmp_path)["trainer"]["decisions"] == reached + 4_096
