"""Runs that are stopped, killed or lose a rank, and go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

ROOT = Path(__file__).resolve().parent.parent
SMOKE = ("--config", str(ROOT / "configs" / "smoke.yaml"), "--name", "r")
OFTEN = ("--snapshot_seconds", "1e-6", "--evaluate_deals", "2", "--evaluate_every", "32768")
"""A snapshot after each iteration of 4,096 decisions; few evaluations, which take longest."""
HANDS = ("--episodes", "[hand]")
"""Evaluated by hands too, which takes a moment; games of a first policy are long."""
NO_THREADS = {"OMP_NUM_THREADS": "1"}


def start(folder: Path, *args: object, launcher: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    command = [sys.executable, *launcher, str(ROOT / "train.py"), *SMOKE, *map(str, args)]
    return subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **NO_THREADS},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], status: int = 0) -> str:
    """All that it writes."""
    out, errors = process.communicate(timeout=900)
    assert process.returncode == status, out + errors
    return out + errors


def state(folder: Path) -> Any:
    return torch.load(folder / "runs/r/state.pt", weights_only=True)


def await_decisions(folder: Path, process: subprocess.Popen[str], decisions: int) -> None:
    """Until there is a snapshot of so many."""
    path = folder / "runs/r/state.pt"
    until = time.monotonic() + 600
    while not (path.exists() and state(folder)["trainer"]["decisions"] >= decisions):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.01)


def curves(folder: Path) -> dict[str, list[tuple[int, float]]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder / "runs/r"))
    events.Reload()
    return {
        tag: [(event.step, event.value) for event in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
        if not tag.startswith("speed/") and tag != "strength/seconds"
    }


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
    whole, killed = folders(tmp_path)
    to = ("--decisions", 8_192, "--evaluate_every", 4_096, *HANDS)
    process = start(killed, *to)
    assert process.stdout is not None
    assert "4,096 decisions" in process.stdout.readline()
    process.kill()
    finish(process, -signal.SIGKILL)
    assert not (killed / "runs/r/state.pt").exists()
    finish(start(killed, *to))
    finish(start(whole, *to))
    assert curves(whole) == curves(killed)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_first(number: signal.Signals, tmp_path: Path) -> None:
    """Also when it comes again, as a terminal and a launcher may both send it."""
    process = start(tmp_path, "--decisions", 100_000_000, "--evaluate_every", 8_192, *HANDS)
    assert process.stdout is not None
    assert "8,192 decisions" in process.stdout.readline()
    assert not (tmp_path / "runs/r/state.pt").exists()  # snapshots come every two minutes
    process.send_signal(number)
    process.send_signal(number)
    assert "go on with --resume" in finish(process, 128 + number)
    assert state(tmp_path)["trainer"]["decisions"] >= 8_192


def child_of(process: subprocess.Popen[str]) -> int:
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return int(child)


@pytest.mark.slow
@pytest.mark.parametrize("lost", [0, 1])
def test_a_lost_rank_ends_the_others_and_the_run_goes_on(lost: int, tmp_path: Path) -> None:
    """Two ranks: one is killed, the other says so; then one rank alone goes on."""
    many = "100_000_000"
    played_out = "--playout_decisions", many, "--playout_depth", 1
    process = start(tmp_path, "--decisions", many, "--ranks", 2, *played_out, *OFTEN, *HANDS)
    await_decisions(tmp_path, process, 4_096)
    os.kill(child_of(process) if lost else process.pid, signal.SIGKILL)
    told = finish(process, 1 if lost else -signal.SIGKILL)
    assert told.count("train.py: error: lost touch with another rank") == 1, told
    assert told.count("go on with --resume") == 1
    assert "Traceback" not in told
    reached = state(tmp_path)["trainer"]["decisions"]
    assert len(state(tmp_path)["trainer"]["ranks"]) == 2
    # With as many ranks, then with another number of them.
    for count in (2, 1):
        reached += 8_192
        finish(start(tmp_path, "--resume", "--decisions", reached, "--ranks", count))
        assert state(tmp_path)["trainer"]["decisions"] == reached
        assert len(state(tmp_path)["trainer"]["ranks"]) == count
    steps = [step for step, _ in curves(tmp_path)["loss/value"]]
    assert steps == list(range(4_096, reached + 1, 4_096))


@pytest.mark.slow
def test_torchrun_begins_a_run_and_goes_on_with_it_by_one_command(tmp_path: Path) -> None:
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    for part, decisions in enumerate((8_192, 16_384), start=1):
        options = ("--resume", "--decisions", decisions, *OFTEN, *HANDS)
        finish(start(tmp_path, *options, launcher=launcher))
        saved = state(tmp_path)
        assert saved["trainer"]["decisions"] == decisions
        assert len(saved["trainer"]["ranks"]) == 2
        assert len(saved["commands"]) == part
    steps = [step for step, _ in curves(tmp_path)["loss/value"]]
    assert steps == [4_096, 8_192, 12_288, 16_384]
