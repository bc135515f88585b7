"""The engine in processes of its own plays as the lanes of one process do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from agents.hand_counts import HandCounts
from agents.ppo import Trainer
from agents.ppo_config import NetworkConfig, PPOConfig
from agents.ranks import LostProcessError
from agents.selfplay import SelfPlay
from agents.workers import ROW, Workers, pack, unpack
from ginenv.rules import preset

ROOT = Path(__file__).resolve().parent.parent
RULES, EPISODES, LANES = [preset(), preset("straight")], ["hand", "game"], 20
CPU = torch.device("cpu")
SCORES = 0.5
"""Share of games that begin at drawn scores."""
SMALL = NetworkConfig(width=16, layers=1)


def seeds(seed: int) -> list[np.random.SeedSequence]:
    return np.random.SeedSequence(seed).spawn(2)


@pytest.fixture
def workers() -> Iterator[Workers]:
    made = Workers(RULES, EPISODES, LANES, seeds(1), CPU, SCORES)
    yield made
    made.close()


def in_process(seed: int) -> list[SelfPlay]:
    return [
        SelfPlay(RULES, EPISODES, LANES // 2, np.random.default_rng(each), random_scores=SCORES)
        for each in seeds(seed)
    ]


def choose(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (masks * rng.random(masks.shape)).argmax(axis=1)


def assert_alike(workers: Workers, lanes: list[SelfPlay], steps: int, seed: int) -> HandCounts:
    """Random moves on both; every look, reward and count is the same."""
    rng, found, expected = np.random.default_rng(seed), HandCounts(), HandCounts()
    for _ in range(steps):
        looks = [each.look() for each in lanes]
        whole = [np.concatenate(part) for part in zip(*looks, strict=True)]
        for ours, theirs in zip(workers.look(), whole, strict=True):
            assert np.array_equal(ours.numpy(), theirs)
        chosen = choose(whole[2], rng)
        told = [
            each.step(part, 20.0, 0.2, expected)
            for each, part in zip(lanes, np.split(chosen, 2), strict=True)
        ]
        paid, over = workers.step(chosen, 20.0, 0.2, found)
        assert np.array_equal(paid, np.concatenate([each[0] for each in told]))
        assert np.array_equal(over, np.concatenate([each[1] for each in told]))
    assert found.kinds.tolist() == expected.kinds.tolist()
    assert found.figures() == expected.figures()
    return found


def test_lanes_in_processes_are_those_in_one(workers: Workers) -> None:
    lanes = in_process(1)
    assert assert_alike(workers, lanes, 150, 2).kinds.sum() > 10
    workers.new_chances()
    for each in lanes:
        each.new_chances()
    assert_alike(workers, lanes, 150, 3)


def test_saved_lanes_go_on(workers: Workers) -> None:
    lanes = in_process(4)
    for each in lanes:
        each.new_chances()
    workers.load_state_dict({"workers": [each.state_dict() for each in lanes]})
    assert_alike(workers, lanes, 60, 5)
    again = in_process(6)
    for each, saved in zip(again, workers.state_dict()["workers"], strict=True):
        each.load_state_dict(saved)
    assert_alike(workers, again, 60, 7)


def test_a_row_of_bits_is_the_look() -> None:
    (lanes, _) = in_process(8)
    look = lanes.look()
    rows = pack(look)
    assert rows.shape == (LANES // 2, ROW)
    assert sum(part.shape[1] for part in look[:3]) > 2 * ROW  # prospects are no bits
    for ours, theirs in zip(unpack(torch.from_numpy(rows)), look[:3], strict=True):
        assert np.array_equal(ours.numpy(), theirs)


def config(**given: object) -> PPOConfig:
    fields = {
        "decisions": 8192, "lanes": 32, "steps": 16, "minibatch": 256, "actor": SMALL,
        "critic": SMALL, "precision": "float32",
    }  # fmt: skip
    return PPOConfig(**{**fields, **given})


def test_training_goes_on_with_workers_and_without() -> None:
    """As if never stopped with as many; with another number on new lanes, from the same weights."""
    whole, half, again = (Trainer(config(workers=2, random_scores=SCORES)) for _ in range(3))
    for trainer in (whole, half):
        trainer.iterate()
    state = half.state_dict()
    again.load_state_dict(state)
    assert whole.iterate() == again.iterate()
    alone = Trainer(config(random_scores=SCORES))
    assert alone.lanes.groups[1].play.match.totals.any()
    alone.load_state_dict(state)
    assert alone.decisions == half.decisions
    saved = state["ranks"][0]["lanes"]["workers"][0]["groups"]
    assert (saved[1]["match"]["totals"].amin(dim=(1, 2)) > 0).any()  # after too few hands for that
    for group, other in zip(alone.lanes.groups, saved, strict=True):
        assert np.array_equal(group.points, other["points"].numpy())
    alone.iterate()
    for trainer in (whole, half, again):
        trainer.lanes.close()


def test_a_lost_process_is_told() -> None:
    lost = Workers(RULES, EPISODES, LANES, seeds(1), CPU)
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    players = [
        pid for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    os.kill(int(players[-1]), signal.SIGKILL)
    with pytest.raises(LostProcessError, match="an engine process has ended"):
        lost.step(choose(lost.look()[2].numpy(), np.random.default_rng(0)), 20.0, 0.2, HandCounts())
    lost.close()


@pytest.mark.slow
def test_the_script_trains_with_workers_and_ends_them(tmp_path: Path) -> None:
    command = [
        sys.executable, str(ROOT / "train.py"), "--config", str(ROOT / "configs/smoke.yaml"),
        "--decisions", "4096", "--evaluate_deals", "2", "--workers", "2",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "runs/smoke/policy.safetensors").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_a_gpu_that_is_not_there_is_one_clear_error(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "train.py"), "--device", "cuda"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 2
    assert done.stderr == "train.py: error: device=cuda: torch finds none on this machine\n"
