"""Lanes of self-play: what hands pay in games, and the chances that this goes by."""

from __future__ import annotations

import numpy as np
import pytest

import agents
from agents import prospects
from agents.chances import winning_chances
from agents.hand_counts import HandCounts
from agents.random import choose
from agents.selfplay import SelfPlay
from ginenv import actions, engine
from ginenv.rules import preset

CLASSIC = preset("classic")


def test_chances_by_hand() -> None:
    """Every win brings 10, to 20. V(10, 10) = 1/2; V(0, 10) = (V(10, 10) + 0) / 2 = 1/4;
    V(10, 0) = 3/4; V(0, 0) = (V(10, 0) + V(0, 10)) / 2 = 1/2. Totals between count likewise."""
    table = winning_chances(20, np.eye(11)[[10, 10]])
    assert table[10, 10] == table[0, 0] == 0.5
    assert (table[0, 10], table[10, 0]) == (0.25, 0.75)
    assert (table[3, 17], table[17, 3]) == (0.25, 0.75)


def test_chances_of_both_sides_make_one_and_grow_with_the_total() -> None:
    points = np.random.default_rng(0).integers(0, 100, 130).astype(float)
    table = winning_chances(100, np.stack([points, points]))
    np.testing.assert_allclose(table + table.T, 1, atol=1e-6)
    assert (np.diff(table, axis=0) >= -1e-6).all()
    assert table[99, 0] > 0.7


def test_chances_are_those_of_games_played_out() -> None:
    """The first wins 60 % of hands, and more in each."""
    rng = np.random.default_rng(1)
    values, shares = [[5, 20, 50], [5, 10, 30]], [0.25, 0.5, 0.25]
    points = np.zeros((2, 60))
    for side, chance in enumerate((0.6, 0.4)):
        points[side, values[side]] = 40 * chance * np.array(shares)
    totals = np.tile([30, 60], (20_000, 1))
    while (open_ := (totals.max(axis=1) < 100).nonzero()[0]).size:
        won = (rng.random(len(open_)) > 0.6).astype(int)
        totals[open_, won] += np.array(values)[won, rng.choice(3, len(open_), p=shares)]
    share = (totals[:, 0] >= 100).mean()
    table = winning_chances(100, points)
    assert table[30, 60] == pytest.approx(share, abs=0.012)
    assert table[60, 30] > 1 - table[30, 60]
    # Ten points are worth more to who is slower.
    assert table[0, 0] - table[0, 10] > table[10, 0] - table[0, 0]


def play_on(lanes: SelfPlay, steps: int, rng: np.random.Generator) -> tuple[list, HandCounts]:
    """Random moves; (movers, paid, over) of each step."""
    told, counts = [], HandCounts()
    for _ in range(steps):
        look = lanes.look()
        words = np.concatenate(
            [actions.words(engine.legal(group.play.hands)) for group in lanes.groups]
        )
        told.append((look.movers.copy(), *lanes.step(choose(words, rng), 20.0, 0.2, counts)))
    return told, counts


def test_what_a_games_hands_pay_adds_up_to_the_win() -> None:
    """From the chance at the start, by changes of the chance, to 1 or 0."""
    rng = np.random.default_rng(2)
    easy = preset(target=30)
    lanes = SelfPlay([easy], ["game"], 64, rng)
    start = lanes.groups[0].chance.copy()
    assert (start == 0.5).all()
    sums, ended = np.full(64, 0.5), 0
    for _ in range(1500):
        ((movers, paid, over),), _ = play_on(lanes, 1, rng)
        sums += np.where(movers == 0, paid, -paid) * 0.2
        finished = (over & (lanes.groups[0].play.match.rounds == 0)).nonzero()[0]
        for lane in finished:
            assert sums[lane] == pytest.approx(round(sums[lane]), abs=1e-4)
        ended += len(finished)
        sums[finished] = 0.5
    assert ended > 10


def test_lanes_are_shared_out_among_rules_and_episodes() -> None:
    lanes = SelfPlay([preset(), preset("oklahoma")], ["hand", "game"], 10, np.random.default_rng(3))
    assert [len(group.play) for group in lanes.groups] == [2, 3, 2, 3]
    look = lanes.look()
    assert look.seen.shape == (10, prospects.SIZE)
    in_game = look.seen[:, 746].tolist()
    assert in_game == [0, 0, 1, 1, 1, 0, 0, 1, 1, 1]


def test_some_games_begin_at_scores_drawn() -> None:
    rng = np.random.default_rng(8)
    lanes = SelfPlay([preset(target=30)], ["hand", "game"], 2000, rng, random_scores=0.5)
    hands, games = (group.play.match for group in lanes.groups)
    assert not hands.totals.any()
    begun = games.totals[:, 0].any(axis=1)
    assert 0.44 < begun.mean() < 0.56
    assert set(games.totals[begun].flatten().tolist()) == set(range(30))
    assert ((games.boxes > 0) == (games.totals > 0)).all()
    np.testing.assert_array_equal(games.rounds, games.boxes.sum(axis=(1, 2)))
    table = lanes.groups[1].table
    expected = table[tuple(games.totals[:, 0].T)]
    np.testing.assert_allclose(lanes.groups[1].chance, expected, atol=1e-6)
    restarted: list[bool] = []
    simple = agents.load("simple", CLASSIC)
    while len(restarted) < 300:
        before = games.totals[:, 0].sum(axis=1)
        lanes.step(lanes.ask(simple), 20.0, 0.2, HandCounts())
        fresh = games.totals[:, 0].sum(axis=1) < before
        restarted += games.totals[fresh, 0].any(axis=1).tolist()
    # More than a third: who begins with more than he had is not counted.
    assert 0.3 < np.mean(restarted) < 0.55


def test_saved_lanes_go_on_as_if_never_stopped() -> None:
    rules = [preset(), preset("straight")]
    first, second = (
        SelfPlay(rules, ["hand", "game"], 12, np.random.default_rng(seed)) for seed in (4, 5)
    )
    play_on(first, 60, np.random.default_rng(6))
    first.new_chances()
    second.load_state_dict(first.state_dict())
    ahead, again = (play_on(lanes, 80, np.random.default_rng(7))[0] for lanes in (first, second))
    for one, other in zip(ahead, again, strict=True):
        for a, b in zip(one, other, strict=True):
            assert np.array_equal(a, b)


def test_lanes_saved_when_sides_were_not_told_apart_go_on() -> None:
    lanes, again = (
        SelfPlay([CLASSIC], ["game"], 8, np.random.default_rng(seed)) for seed in (0, 1)
    )
    state = lanes.state_dict()
    state["groups"][0]["points"] = state["groups"][0]["points"].sum(dim=0)
    again.load_state_dict(state)
    np.testing.assert_allclose(again.groups[0].points, lanes.groups[0].points)
    again.new_chances()
    assert again.groups[0].table[0, 0] == pytest.approx(0.5)


def test_opponents_have_their_seats_on_their_share_of_the_lanes() -> None:
    """And act there by what they see; elsewhere nobody answers for the policy."""
    agent = agents.load("simple", CLASSIC)
    lanes = SelfPlay([CLASSIC], ["hand", "game"], 64, np.random.default_rng(3), [agent], 0.25)
    assert [len(group.play) for group in lanes.groups] == [24, 8, 24, 8]
    for _ in range(60):
        answers, look = lanes.answers(), lanes.look()
        place = np.concatenate([np.arange(24), np.arange(8)] * 2)
        met = np.concatenate([np.zeros(24), np.ones(8)] * 2).astype(bool)
        answered = answers != engine.NO_ACTION
        np.testing.assert_array_equal(answered, met & (look.movers == place % 2))
        rows = answered.nonzero()[0]
        assert look.masks[rows, answers[rows]].all()
        own = np.where(look.masks > 0, np.random.default_rng(4).random(look.masks.shape), -1)
        lanes.step(np.where(answered, answers, own.argmax(axis=1)), 20, 0.2, HandCounts())


def test_what_is_named_twice_has_twice_the_lanes_and_one_group() -> None:
    """Groups are played one after another: as few as there are kinds of them."""
    simple, expert = (agents.load(name, CLASSIC) for name in ("simple", "expert_k5"))
    episodes, others = ["hand", "game", "game"], [simple, simple, expert]
    lanes = SelfPlay([CLASSIC], episodes, 120, np.random.default_rng(3), others, 0.75)
    found = [(each.play.episode, each.opponent, len(each.play)) for each in lanes.groups]
    assert found == [
        *(("hand", None, 10), ("hand", simple, 20), ("hand", expert, 10)),
        *(("game", None, 20), ("game", simple, 40), ("game", expert, 20)),
    ]
    assert len(lanes.answers()) == len(lanes.look().movers) == 120


def test_chances_go_by_who_wins_on_the_lanes_of_an_opponent() -> None:
    """`adaptive` in the policy's place wins more than half from `simple`, whichever seat it has."""
    rng = np.random.default_rng(4)
    simple, adaptive = (agents.load(name, CLASSIC) for name in ("simple", "adaptive"))
    lanes = SelfPlay([CLASSIC], ["game"], 256, rng, [simple], 0.75)
    alone, group = lanes.groups
    for _ in range(300):
        asked, answers = lanes.ask(adaptive), lanes.answers()
        chosen = np.where(answers == engine.NO_ACTION, asked, answers)
        lanes.step(chosen, 20.0, 0.2, HandCounts())
    lanes.new_chances()
    assert group.table[0, 0] > 0.6
    np.testing.assert_allclose(alone.table + alone.table.T, 1, atol=1e-6)
    totals = group.play.match.totals[:, 0]
    seat = 1 - np.arange(len(totals)) % 2
    own, other = (totals[np.arange(len(totals)), each] for each in (seat, 1 - seat))
    policys = np.where(seat == 0, group.chance, 1 - group.chance)
    np.testing.assert_allclose(policys, group.table[own, other], atol=1e-6)


def test_a_teacher_is_asked_on_every_lane() -> None:
    lanes = SelfPlay([CLASSIC], ["hand", "game"], 32, np.random.default_rng(5))
    agent = agents.load("expert", CLASSIC)
    for _ in range(40):
        chosen, look = lanes.ask(agent), lanes.look()
        assert look.masks[np.arange(32), chosen].all()
        lanes.step(chosen, 20, 0.2, HandCounts())
