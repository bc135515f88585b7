"""The policies that come with the package: their files, their headers, and that they play."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import agents
import evaluate
from agents import arena
from agents.policy import Judge, Policy, load_critic, read_header
from ginenv import engine, observation
from ginenv.rules import preset

MIXED = ("classic", "cardcouch", "oklahoma", "straight", "big_gin")


@pytest.mark.parametrize(("name", "rules"), [("best", ("classic",)), ("mixed", MIXED)])
def test_the_file_is_small_and_says_what_it_is(name: str, rules: tuple[str, ...]) -> None:
    path = agents.POLICIES[name]
    assert path.stat().st_size < 5_000_000
    header = read_header(path)
    assert header["rules"] == [preset(each).to_dict() for each in rules]
    assert header["decisions"] > 1_000_000
    ours = ("python train.py ", "python -m agents.average ")
    every = [
        *header["commands"],
        *(c for each in header.get("averaged", ()) for c in each["commands"]),
    ]
    assert all(command.startswith(ours) for command in every)


@pytest.mark.filterwarnings("error")  # as it gives for rules that it was not trained on
@pytest.mark.parametrize(
    ("name", "rules"), [("best", "classic"), *(("mixed", each) for each in MIXED)]
)
def test_it_wins_from_simple(name: str, rules: str) -> None:
    """Its games are measured in docs/RESULTS.md; here 300 hands."""
    played = preset(rules)
    players = agents.load(name, played), agents.load("simple", played)
    figures = arena.compare(played, (name, "simple"), players, 150, seed=1)
    # Six from ``simple`` and more of either: three standard errors below.
    assert figures["points_per_hand"]["mean"] > (4 if name == "best" else 2)
    assert figures["illegal"] == {"a": 0, "b": 0}


@pytest.mark.parametrize("names", [["simple", "best"], ["mixed"], ["runs/x/policy.safetensors"]])
def test_policies_are_evaluated_on_one_thread(names: list[str]) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        evaluate._one_thread(["simple", "cmd:play policy.safetensors"])
        assert torch.get_num_threads() == 2
        evaluate._one_thread(names)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_many_positions_are_told_as_few_are() -> None:
    """They are looked at in parts, which come back in their order."""
    rules, generator = preset("classic"), np.random.default_rng(0)
    policy, found = agents.load("best", rules), load_critic(agents.POLICIES["best"])
    assert isinstance(policy, Policy)
    assert found
    hands = engine.deal(rules, engine.shuffle(rules, generator, 2500), np.arange(2500) % 2)
    hidden = hands.hands[np.arange(2500), 1 - hands.mover]
    view, legal = observation.view(hands), engine.legal(hands)
    likely, worth = policy.probabilities(view, legal), Judge(*found).worth(view, hidden)
    for some in np.split(np.arange(2500), 5):
        part = hands.take(some)
        view, legal = observation.view(part), engine.legal(part)
        np.testing.assert_allclose(policy.probabilities(view, legal), likely[some], atol=1e-5)
        np.testing.assert_allclose(Judge(*found).worth(view, hidden[some]), worth[some], atol=1e-4)
    assert len(np.unique(worth)) > 2000
