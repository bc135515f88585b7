"""Runs of two ranks that lose one, or were begun by torchrun, and go on."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.training_runs import HANDS, OFTEN, await_decisions, curves, finish, start, state


def children_of(process: subprocess.Popen[str]) -> list[int]:
    told = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return [int(child) for child in told.split()]


@pytest.mark.slow
@pytest.mark.parametrize("lost", [0, 1])
def test_a_lost_rank_ends_the_others_and_the_run_goes_on(lost: int, tmp_path: Path) -> None:
    """Two ranks: one is killed, the other says so; then as many go on, or one rank alone."""
    many = "100_000_000"
    played_out = ("--playout_decisions", many, "--playout_depth", 1) if lost else ()
    process = start(tmp_path, "--decisions", many, "--ranks", 2, *played_out, *OFTEN, *HANDS)
    await_decisions(tmp_path, process, 4_096)
    os.kill(children_of(process)[0] if lost else process.pid, signal.SIGKILL)
    told = finish(process, 1 if lost else -signal.SIGKILL)
    assert told.count("train.py: error: lost touch with another rank") == 1, told
    assert told.count("go on with --resume") == 1
    assert "Traceback" not in told
    reached = state(tmp_path)["trainer"]["decisions"]
    assert len(state(tmp_path)["trainer"]["ranks"]) == 2
    count = 2 - lost
    reached += 8_192
    finish(start(tmp_path, "--resume", "--decisions", reached, "--ranks", count))
    assert state(tmp_path)["trainer"]["decisions"] == reached
    assert len(state(tmp_path)["trainer"]["ranks"]) == count
    steps = [step for step, _ in curves(tmp_path)["loss/value"]]
    assert steps == list(range(4_096, reached + 1, 4_096))


@pytest.mark.slow
def test_torchrun_restarts_a_killed_rank_and_goes_on_by_the_same_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1")  # as the README says
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    launcher += ("--max-restarts=2",)
    begun = 0
    for decisions in (32_768, 40_960):
        options = ("--resume", "--decisions", decisions, *OFTEN, *HANDS)
        process = start(tmp_path, *options, launcher=launcher)
        if not begun:
            await_decisions(tmp_path, process, 8_192)
            os.kill(children_of(process)[1], signal.SIGKILL)
            assert state(tmp_path)["trainer"]["decisions"] < decisions
            begun += 1
        finish(process)
        begun += 1
        saved = state(tmp_path)
        assert saved["trainer"]["decisions"] == decisions
        assert len(saved["trainer"]["ranks"]) == 2
        assert len(saved["commands"]) == begun
    steps = [step for step, _ in curves(tmp_path)["loss/value"]]
    assert steps == list(range(4_096, 40_961, 4_096))
