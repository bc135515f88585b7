"""What is believed of the other hand: what it learns from, and who learns it."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
import torch

from agents import other_hand
from agents.features import Features, features
from agents.network import Actor, Critic
from agents.policy import Policy, belief_size, read_header, save_policy
from agents.ppo import Trainer
from agents.ppo_config import NetworkConfig, PPOConfig
from ginenv import cards
from ginenv.rules import preset

SMALL = NetworkConfig(width=16, layers=1)


def config(**fields: Any) -> PPOConfig:
    settings: dict[str, Any] = {
        "decisions": 8192, "lanes": 64, "steps": 32, "minibatch": 256, "actor": SMALL,
        "critic": SMALL, "belief": SMALL, "precision": "float32", "episodes": ["hand"],
    }  # fmt: skip
    return PPOConfig(**{**settings, **fields})


def first_look(trainer: Trainer) -> Features:
    """What is read on the trainer's lanes now."""
    return features(torch.from_numpy(trainer.lanes.look()[0]))


def test_a_hand_is_described_by_the_slow_reference() -> None:
    generator = np.random.default_rng(3)
    hands = [np.sort(generator.permutation(52)[:10]) for _ in range(40)]
    hands += [np.array(reference.ids("Ac 2c 3c 4c 5c 6c 7c 8c 9c Tc"))]
    rows = np.zeros((len(hands), 52), np.uint8)
    for row, hand in zip(rows, hands, strict=True):
        row[hand] = 1
    told = other_hand.describe(rows)
    assert told.shape == (len(hands), other_hand.SIZE)
    for hand, of_hand in zip(hands, told.tolist(), strict=True):
        holds, melds, within = of_hand[:52], of_hand[52:104], of_hand[104:]
        assert holds == [int(card in hand) for card in range(52)]
        for card in range(52):
            pairs = combinations([int(c) for c in hand if c != card], 2)
            assert melds[card] == any(reference.is_meld([card, *pair]) for pair in pairs)
        least = reference.least_deadwood(hand.tolist())
        assert within == [int(least <= limit) for limit in other_hand.LIMITS]


def test_only_the_hidden_hand_teaches_the_belief() -> None:
    """The policy reads it, and nothing of how the policy does flows back."""
    trainer = Trainer(config(learning_rate=0.01))
    trainer.iterate()
    logits, believed = trainer.actor(first_look(trainer))
    for loss, moves in ((logits.square().sum(), False), (believed.square().sum(), True)):
        trainer.optimizer.zero_grad()
        loss.backward(retain_graph=True)
        assert trainer.actor.belief is not None
        grads = [weight.grad for weight in trainer.actor.belief.parameters()]
        assert any(grad is not None and bool(grad.any()) for grad in grads) == moves
        body = [weight.grad for weight in trainer.actor.body.parameters()]
        assert any(grad is not None and bool(grad.any()) for grad in body) != moves


def test_the_policy_reads_what_is_believed() -> None:
    torch.manual_seed(0)
    read = first_look(Trainer(config()))
    actor = Actor(SMALL, belief=SMALL)
    for weight in actor.parameters():
        torch.nn.init.normal_(weight, std=0.2)
    before, _ = actor(read)
    assert actor.belief is not None
    with torch.no_grad():
        actor.belief.body.single_head.bias.fill_(9.0)
    after, believed = actor(read)
    assert (believed[:, -len(other_hand.LIMITS) :] > 0).all()
    assert not torch.allclose(before, after)


def test_it_comes_to_know_more_than_how_often_each_thing_is_so() -> None:
    trainer = Trainer(config(learning_rate=3e-3, decisions=64 * 32 * 20))
    found = [trainer.iterate()["loss/guess"] for _ in range(20)]
    hidden = trainer.collect()[0].hidden.flatten(0, 1).numpy()
    often = other_hand.describe(hidden).mean(axis=0).clip(1e-6, 1 - 1e-6)
    entropy = float(-(often * np.log(often) + (1 - often) * np.log(1 - often)).mean())
    assert found[0] > entropy  # it starts at even odds
    assert np.mean(found[-3:]) < 0.95 * entropy


def test_files_keep_it_and_runs_begin_with_it(tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    torch.manual_seed(0)
    actor, critic = Actor(SMALL, belief=SMALL), Critic(SMALL)
    for weight in actor.parameters():
        torch.nn.init.normal_(weight)
    rules = preset("classic")
    save_policy(path, actor, {"rules": [rules.to_dict()], "episodes": ["hand"]}, (critic, 20.0))
    assert belief_size(read_header(path)) == SMALL
    for found in (Policy.load(path, rules).actor, Trainer(config(start=str(path))).actor):
        for name, weight in actor.state_dict().items():
            assert torch.equal(found.state_dict()[name], weight)
    with pytest.raises(ValueError, match=r"must be of the sizes .*belief=None"):
        Trainer(config(start=str(path), belief=None))
    save_policy(path, Actor(SMALL), {"rules": [rules.to_dict()]})
    assert belief_size(read_header(path)) is None


def test_a_belief_may_be_new_to_a_policy(tmp_path: Path) -> None:
    """It begins by choosing as the policy did that had none."""
    torch.manual_seed(0)
    path, rules = tmp_path / "policy.safetensors", preset("classic")
    before = Actor(SMALL)
    for weight in before.parameters():
        torch.nn.init.normal_(weight, std=0.2)
    save_policy(path, before, {"rules": [rules.to_dict()], "episodes": ["hand"]})
    trainer = Trainer(config(start=str(path), learning_rate=0.01))
    read = first_look(trainer)
    torch.testing.assert_close(trainer.actor(read)[0], before(read)[0])
    assert not trainer.actor(read)[1].any()
    trainer.iterate()
    assert trainer.actor(read)[1].any()
    body = trainer.actor.body.own.weight[:, -len(other_hand.PLANES) * cards.NUM_RANKS :]
    assert body.any()  # and comes to read it
    with pytest.raises(ValueError, match="must be of the sizes"):
        Trainer(config(start=str(path), actor=NetworkConfig(width=8, layers=1)))


def test_opponents_choices_are_not_asked_of_the_policy() -> None:
    trainer = Trainer(config(opponents=["simple"], opponent_share=1.0, playout_decisions=8192))
    rollout, _ = trainer.collect()
    own = rollout.own
    assert 0.3 < own.float().mean() < 0.7
    assert not rollout.log_probs[~own].any()
    masked = rollout.log_probs[own]
    torch.testing.assert_close(masked.exp().sum(dim=1), torch.ones(len(masked)))
    assert not rollout.tried[~own].any()
