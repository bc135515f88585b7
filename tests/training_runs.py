"""Runs of train.py that tests stop, kill and resume."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

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
