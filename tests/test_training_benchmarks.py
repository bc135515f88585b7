"""The benchmarks of training run and write what they say; their figures are not looked at."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parent.parent


def run(script: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "benchmarks" / script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=cwd)


@pytest.mark.slow
def test_training_benchmark_writes_its_figures(tmp_path: Path) -> None:
    short = ("--config", str(ROOT / "configs/smoke.yaml"), "--rounds", "1", "--rank_rounds", "1")
    ran = run("training.py", *short, "--json", "training.json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["training.json"]
    figures = json.loads((tmp_path / "training.json").read_text())
    assert sum(figures["shares"].values()) == pytest.approx(1)
    assert {"networks", "engine", "encoding", "logging"} < set(figures["shares"])
    assert list(figures["ranks"]) == ["1", "2"]
    rates = [figures["loop_decisions_per_second"], figures["bound_decisions_per_second"]]
    rates += [rate for each in figures["ranks"].values() for rate in each.values()]
    assert min(rates) > 0
    assert "ranks: 2, decisions/s" in ran.stdout


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_gpu_benchmark_without_a_gpu_says_so_in_one_line(tmp_path: Path) -> None:
    ran = run("gpu.py", cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == "no GPU: torch finds none on this machine; nothing was measured\n"


@pytest.mark.slow
def test_gpu_benchmark_can_be_tried_on_the_processor(tmp_path: Path) -> None:
    short = ("--device", "cpu", "--lanes", "64", "--iterations", "1")
    ran = run("gpu.py", *short, "--json", "gpu.json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    rows = json.loads((tmp_path / "gpu.json").read_text())["rows"]
    assert {(row["width"], row["layers"]) for row in rows} == {(128, 3), (256, 6)}
    assert all(row["decisions_per_second"] > 0 for row in rows)
