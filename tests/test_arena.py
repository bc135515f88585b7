"""Duplicate deals of single hands, and intervals that hold what they promise."""

from __future__ import annotations

import numpy as np
import pytest

import agents
from agents import arena
from agents.intervals import Moments, mean_interval, rate_interval
from ginenv import scoring
from ginenv.rules import Rules


def compare(a: str, b: str, deals: int, seed: int = 0) -> dict[str, object]:
    players = (agents.load(a, Rules()), agents.load(b, Rules()))
    pair = arena.compare(Rules(), (a, b), players, deals, seed)
    return {key: value for key, value in pair.items() if "second" not in key}


def test_same_seed_same_figures() -> None:
    assert compare("simple", "random", 50) == compare("simple", "random", 50)
    assert compare("simple", "random", 50) != compare("simple", "random", 50, seed=1)


def test_a_player_against_himself_is_even_on_every_deal_when_nothing_is_random() -> None:
    class First:
        """Always the legal action of the lowest number."""

        def act(self, view, legal, generator):  # type: ignore[no-untyped-def]
            from ginenv import actions

            return actions.mask(legal).argmax(axis=1)

    generators = (np.random.default_rng(0), np.random.default_rng(1))
    results = arena.play(Rules(), (First(), First()), 200, *generators)
    assert (results.by_deal(results.settlement[:, 0]) == 0).all()
    assert (results.hands_by_deal(results.hands.gains(0)) == 0).all()


def test_an_illegal_choice_is_counted_and_replaced() -> None:
    class Stubborn:
        """Says big gin to everything."""

        def act(self, view, legal, generator):  # type: ignore[no-untyped-def]
            return np.full(len(view), 107)

    generators = (np.random.default_rng(0), np.random.default_rng(1))
    players = (Stubborn(), agents.load("random", Rules()))
    results = arena.play(Rules(), players, 5, *generators)
    assert results.illegal[0] > 20
    assert results.illegal[1] == 0
    assert (results.hands.kind != scoring.PLAYING).all()


def test_simple_plays_as_another_program_of_it_does() -> None:
    """6.3 turns each, 1 % gins, 49 % knocks at deadwood 7.1: measured on an implementation that
    shares no code with this one."""
    pair = compare("simple", "simple", 3000)
    rates = pair["rates"]
    assert rates["turns_each"] == pytest.approx(6.3, abs=0.15)
    assert rates["a"]["gin"] == pytest.approx(0.01, abs=0.005)
    assert rates["a"]["knock"] == pytest.approx(0.49, abs=0.02)
    assert rates["a"]["knock_deadwood"] == pytest.approx(7.1, abs=0.2)
    points = pair["points_per_hand"]
    assert abs(points["mean"]) < 2 * (points["high"] - points["mean"])


@pytest.mark.parametrize("interval", [mean_interval, rate_interval])
def test_intervals_hold_the_truth_nineteen_times_in_twenty(interval) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(4)
    truth, inside, trials = 0.3, 0, 2000
    for _ in range(trials):
        # Pairs that pull against each other, as the two hands of a deal do.
        first = rng.random(150) < truth
        second = np.where(rng.random(150) < 0.3, ~first, rng.random(150) < truth)
        truth_second = 0.3 * 0.7 + 0.7 * truth
        found = interval(Moments.of(first * 1 + second, np.full(150, 2)))
        inside += found["low"] <= (truth + truth_second) / 2 <= found["high"]
    assert 0.935 <= inside / trials <= 0.965


def test_a_rate_that_never_varied_still_has_an_interval() -> None:
    found = rate_interval(Moments.of(np.ones(100), np.ones(100)))
    assert found["mean"] == found["high"] == 1
    assert 0.95 < found["low"] < 0.97


def test_a_ratio_holds_the_truth_nineteen_times_in_twenty() -> None:
    rng = np.random.default_rng(5)
    inside, trials = 0, 2000
    for _ in range(trials):
        # Long games are won by less: the mean of their quotients would not be the ratio, 20 / 3.
        counts = rng.integers(1, 6, 150)
        found = mean_interval(Moments.of(20 + rng.normal(0, 10, 150).round(), counts))
        inside += found["low"] <= 20 / 3 <= found["high"]
    assert 0.935 <= inside / trials <= 0.965


def test_a_ratio_of_equal_counts_is_a_mean() -> None:
    amounts = np.random.default_rng(6).integers(-9, 50, 40)
    one, other = (mean_interval(Moments.of(amounts * n, np.full(40, 2 * n))) for n in (1, 7))
    assert one == pytest.approx(other)
    error = (amounts / 2).std(ddof=1) / 40**0.5
    assert one["mean"] == (amounts / 2).mean()
    assert one["high"] - one["mean"] == pytest.approx(2.022691 * error)
