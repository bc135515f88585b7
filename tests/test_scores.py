"""Knocking by score: positions are what they are said to be, and only the score is changed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import agents
from agents.policy import Policy
from ginenv import actions, melds
from ginenv.rules import preset

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))

import scores

RULES = preset("classic")


@pytest.fixture(scope="module")
def policy() -> Policy:
    best = agents.load("best", RULES)
    assert isinstance(best, Policy)
    return best


def test_a_knock_is_asked_for_where_it_is_one_choice_of_several(policy: Policy) -> None:
    found = scores.positions(policy, RULES, lanes=24, steps=60)
    asked, moved = 0, 0
    for view, legal in found:
        assert (legal.knocks != 0).all()
        assert (legal.discards != 0).all()
        assert (melds.deadwood_after_discard(view.hand).min(axis=1) > 0).all()
        assert view.game is not None
        level = (view.game.rounds == 0) & (view.game.totals[:, 0] == 0).all(axis=0)
        shown = scores.at_score(view.game, (95, 20))
        assert shown.to_go.tolist() == [[5] * len(view), [80] * len(view)]
        assert shown.boxes.tolist() == [[[5] * len(view)], [[1] * len(view)]]
        assert (shown.rounds == 6).all()
        told = policy.probabilities(view, legal)[:, actions.KNOCK : actions.STOCK].sum(axis=1)
        same = scores.knocks(policy, view, legal, (0, 0))
        np.testing.assert_allclose(same[level], told[level], atol=1e-6)
        moved += int((scores.knocks(policy, view, legal, (95, 20)) != same).sum())
        asked += len(view)
    assert asked > 20
    assert moved  # many are sure either way
