"""Two ranks learn from a rollout as one process does."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import fields
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import torch

from agents.features import Features
from agents.ppo import Trainer
from agents.ppo_config import NetworkConfig, PPOConfig
from agents.ranks import ranks
from agents.rollout import Rollout

SMALL = NetworkConfig(width=16, layers=2)
LANES, STEPS, EPOCHS, MINIBATCH = 32, 32, 2, 256


def config(count: int, opponents: list[str]) -> PPOConfig:
    return PPOConfig(
        opponents=opponents, opponent_share=0.75,
        decisions=8192, lanes=LANES, steps=STEPS, minibatch=MINIBATCH, epochs=EPOCHS,
        learning_rate=0.01, actor=SMALL, critic=SMALL, precision="float32", ranks=count,
    )  # fmt: skip


def half(rollout: Rollout, rank: int) -> Rollout:
    """What is on a rank's half of the lanes."""
    own = slice(LANES // 2 * rank, LANES // 2 * (rank + 1))
    parts = {f.name: getattr(rollout, f.name)[:, own] for f in fields(Rollout) if f.name != "seen"}
    suits, mean, scalars = rollout.seen
    return Rollout(seen=Features(suits[:, :, own], mean[:, own], scalars[:, own]), **parts)


def orders(rank: int) -> list[torch.Tensor]:
    """In which a rank learns from its decisions, epoch by epoch."""
    generator = torch.Generator().manual_seed(rank)
    return [torch.randperm(LANES // 2 * STEPS, generator=generator) for _ in range(EPOCHS)]


def learn(rank: int, port: int, folder: Path, opponents: list[str]) -> None:
    """One of two ranks: learns from its half of the rollout, writes what it has learnt."""
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    os.environ.update({**meeting, "WORLD_SIZE": "2", "RANK": str(rank)})
    with ranks(2, []) as own:
        assert own == rank
        trainer = Trainer(config(2, opponents), rank)
        trainer.load_state_dict(torch.load(folder / "before.pt"))
        trainer.generator.manual_seed(rank)
        rollout = torch.load(folder / "rollout.pt", weights_only=False)
        trainer.update(half(rollout, rank))
        torch.save(learnt(trainer), folder / f"{rank}.pt")


def learnt(trainer: Trainer) -> list[torch.Tensor]:
    moments = trainer.optimizer.state_dict()["state"].values()
    return [weight.detach() for weight in trainer.weights] + [each["exp_avg"] for each in moments]


def of_both(epoch: int) -> torch.Tensor:
    """The order in which one process meets the same minibatches: a rank's half each, in turn."""
    parts = []
    for rank in (0, 1):
        step, lane = orders(rank)[epoch] // (LANES // 2), orders(rank)[epoch] % (LANES // 2)
        parts.append((step * LANES + LANES // 2 * rank + lane).split(MINIBATCH // 2))
    return torch.cat([rows for pair in zip(*parts, strict=True) for rows in pair])


@pytest.mark.parametrize("opponents", [[], ["simple"]])
def test_two_ranks_learn_from_the_same_minibatches_as_one(
    opponents: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight gradient steps: advantages, gradients, their scaling down and Adam's steps alike."""
    whole = Trainer(config(1, opponents))
    for _ in range(2):
        whole.iterate()
    rollout, _ = whole.collect()
    torch.save(whole.state_dict(), tmp_path / "before.pt")
    torch.save(rollout, tmp_path / "rollout.pt")
    before = [each.clone() for each in learnt(whole)]

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = get_context("spawn")
    processes = [context.Process(target=learn, args=(r, port, tmp_path, opponents)) for r in (0, 1)]
    for process in processes:
        process.start()
    turns: Iterator[Any] = iter(range(EPOCHS))
    monkeypatch.setattr(whole, "_order", lambda count: of_both(next(turns)))
    whole.update(rollout)
    for process in processes:
        process.join(600)
        assert process.exitcode == 0

    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1))
    for old, expected, one, other in zip(before, learnt(whole), first, second, strict=True):
        assert torch.equal(one, other)
        moved = (expected - old).abs().max()
        assert (one - expected).abs().max() <= 1e-3 * moved + 1e-8
