"""The benchmarks of training run and write what they say; their figures are not looked at."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

import depths  # noqa: E402
import training  # noqa: E402

import agents  # noqa: E402
from agents import POLICIES, playouts  # noqa: E402
from agents.policy import Policy, belief_size, read_header  # noqa: E402
from agents.ppo_config import NetworkConfig, PPOConfig  # noqa: E402
from ginenv.rules import preset  # noqa: E402


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


def test_phases_of_a_run_are_measured() -> None:
    header = read_header(POLICIES["best"])  # whose weights are taken
    size = NetworkConfig(**header["network"])
    config = PPOConfig(
        decisions=512, lanes=32, steps=4, minibatch=64, actor=size, critic=size,
        belief=belief_size(header), teacher="adaptive", teacher_decisions=256,
        playout_decisions=256, opponents=["simple"],
    )  # fmt: skip
    assert training.has_phases(config)
    assert not training.has_phases(replace(config, teacher=None))
    assert not training.has_phases(replace(config, actor=NetworkConfig(width=8, layers=1)))
    found = training.measure_phases(config)
    assert list(found) == ["lessons", "played out"]
    assert min(found.values()) > 0


def test_stocks_are_put_in_another_order_alike_for_all_actions_of_a_position() -> None:
    rules, generator = preset("classic"), np.random.default_rng(0)
    policy, simple = agents.load("best", rules), agents.load("simple", rules)
    assert isinstance(policy, Policy)
    tries = depths.positions(policy, simple, 24, 0.1, generator)
    assert len(np.unique(tries.rows)) > 5
    world = depths.other_stock(tries, generator)
    for lane, (old, new) in enumerate(zip(tries.hands.deck, world.hands.deck, strict=True)):
        first = tries.hands.stock_next[lane]
        assert (old[:first] == new[:first]).all()
        assert sorted(old[first:]) == sorted(new[first:])
        assert (old[first:] != new[first:]).any()
        position = world.hands.deck[tries.rows == tries.rows[lane]]
        assert (position == new).all()
    end = playouts.Continuation(policy)
    found = {depth: depths.play(tries, end, simple, 20.0, 2, 0) for depth in (depths.END, 4)}
    # Both were played to the end in the same worlds: all is kept, but for luck taken off.
    assert (found[4].gains == found[depths.END].gains).all()
    shown = depths.table(tries, found).splitlines()
    assert shown[-1].startswith("| 4 |")
    assert len(shown) == 2 + 2 + 2


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
