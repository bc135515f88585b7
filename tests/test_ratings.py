"""Ratings against their definition and against results made from known strengths."""

from __future__ import annotations

import numpy as np
import pytest

from agents.ratings import ANCHOR, TIE, elo, hanging_together, strengths


def test_two_agents_are_apart_by_the_odds_of_their_games() -> None:
    """75 of 100 games and the drawn one: 75.5 to 25.5."""
    found = strengths(np.array([[[0.0, 75.0], [25.0, 0.0]]]))[0]
    assert found[0] / found[1] == pytest.approx((75 + TIE / 2) / (25 + TIE / 2))
    assert found[0] * found[1] == pytest.approx(1)


def test_expected_wins_at_the_solution_are_the_wins() -> None:
    rng = np.random.default_rng(0)
    wins = rng.integers(1, 50, (3, 5, 5)).astype(float)
    wins[:, range(5), range(5)] = 0
    p = strengths(wins)
    games = wins + wins.transpose(0, 2, 1)
    games = np.where(games > 0, games + TIE, 0)
    expected = (games * p[:, :, None] / (p[:, :, None] + p[:, None, :])).sum(axis=2)
    np.testing.assert_allclose(expected, wins.sum(axis=2) + 4 * TIE / 2, rtol=1e-6)


def test_known_strengths_are_found_and_lie_in_their_intervals() -> None:
    true = {"anchor": 1000.0, "weak": 850.0, "strong": 1200.0}
    names, rng = list(true), np.random.default_rng(1)
    results = {}
    for a in range(3):
        for b in range(a + 1, 3):
            chance = 1 / (1 + 10 ** ((true[names[b]] - true[names[a]]) / 400))
            scores = rng.binomial(2, chance, 4000) / 2
            results[a, b] = {share: int((scores == share).sum()) for share in (0.0, 0.5, 1.0)}
    found = elo(names, results, 2, 0, np.random.default_rng(2))
    assert found["anchor"] == {"elo": ANCHOR, "low": ANCHOR, "high": ANCHOR}
    for name in ("weak", "strong"):
        assert found[name]["low"] <= true[name] <= found[name]["high"]
        assert 5 < found[name]["high"] - found[name]["low"] < 40


def test_who_has_lost_every_game_has_a_rating() -> None:
    found = elo(["a", "b"], {(0, 1): {1.0: 50}}, 2, 0, np.random.default_rng(0))
    assert -400 < found["b"]["elo"] < 500


def test_the_same_generator_gives_the_same_intervals() -> None:
    results = {(0, 1): {0.0: 10, 0.5: 20, 1.0: 15}}
    first, second = (elo(["a", "b"], results, 2, 0, np.random.default_rng(5)) for _ in range(2))
    assert first == second


def test_who_has_met_nobody_that_leads_to_the_anchor_has_no_rating() -> None:
    results = {(0, 1): {1.0: 5}, (2, 3): {0.5: 9}, (3, 4): {0.0: 9}}
    assert hanging_together(results, 1) == [0, 1]
    assert hanging_together(results, 2) == [2, 3, 4]
    assert hanging_together({}, 2) == [2]
    found = elo(list("abcde"), results, 2, 3, np.random.default_rng(0))
    assert list(found) == ["c", "d", "e"]
    assert found["d"] == {"elo": ANCHOR, "low": ANCHOR, "high": ANCHOR}
    assert found["c"]["elo"] == pytest.approx(ANCHOR)
    assert found["e"]["elo"] > ANCHOR
