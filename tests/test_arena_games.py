"""Games and matches in the arena: decks, seats, figures, and games that do not end."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from reference_match import ReferenceMatch

import agents
from agents import arena, figures
from agents.results import NOBODY, Results
from agents.simple import Simple
from ginenv import actions, replay
from ginenv.replay import Hand
from ginenv.rules import Rules, preset

KINDS = [
    ("classic", "game", 1),
    ("hollywood", "game", 1),
    ("partnership", "game", 1),
    ("cardcouch", "match", 3),
    ("partnership", "match", 3),
]
"""Rules with two sides, episode and best of."""
WITH_THREE = [*KINDS, ("cutthroat", "game", 1), ("cutthroat", "match", 3)]
Episode = tuple[tuple[int, ...], list[list[Hand]]]


class Still:
    """A generator that has nothing random about it."""

    def random(self, shape: Any, dtype: Any) -> Any:
        return np.zeros(shape, dtype)


class Prompt:
    """Plays as Simple does, and the first of equal cards."""

    def act(self, view, legal, generator):  # type: ignore[no-untyped-def]
        assert view.to_move.all()
        return Simple().act(view, legal, Still())  # type: ignore[arg-type]


class Slow(Prompt):
    """The same, but does not knock before the eighth discard."""

    def act(self, view, legal, generator):  # type: ignore[no-untyped-def]
        chosen = super().act(view, legal, generator)
        waits = (chosen >= actions.KNOCK) & (chosen < actions.STOCK) & (view.turn < 8)
        return chosen - np.where(waits, actions.KNOCK, 0)


class Never:
    """Always the legal action of the lowest number: never a knock."""

    def act(self, view, legal, generator):  # type: ignore[no-untyped-def]
        return actions.mask(legal).argmax(axis=1)


def play(
    rules: Rules, players: Sequence[Any], deals: int, episode: str, seed: int = 0
) -> tuple[Results, list[Episode]]:
    kept: list[Episode] = []
    results = arena.play(
        rules,
        players,
        deals,
        np.random.default_rng(seed),
        np.random.default_rng(1),
        recorder=lambda seats, games: kept.append((seats, games)),
        episode=episode,
    )
    return results, kept


def named(rules: Rules, *names: str) -> list[agents.Agent]:
    return [agents.load(name, rules) for name in names]


def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several chunks, and in each several blocks of decks."""
    monkeypatch.setattr(arena, "LANES_AT_ONCE", dict.fromkeys(arena.LANES_AT_ONCE, 24))
    monkeypatch.setattr(arena, "_BLOCK", 3)


# Seats and decks.


def test_all_seatings_are_played_and_each_agent_sits_everywhere_as_often() -> None:
    assert arena.seatings(Rules()).tolist() == [[0, 1], [1, 0]]
    assert arena.seatings(preset("partnership")).tolist() == [[0, 1, 0, 1], [1, 0, 1, 0]]
    of_three = arena.seatings(preset("cutthroat"))
    assert sorted(map(tuple, of_three.tolist())) == sorted(itertools.permutations(range(3)))
    for player in range(3):
        assert Counter(of_three[:, player].tolist()) == {0: 2, 1: 2, 2: 2}


@pytest.mark.parametrize(
    ("name", "episode", "best_of"),
    [
        ("classic", "game", 1),
        ("partnership", "match", 3),
        ("cutthroat", "match", 3),
        ("cutthroat", "hand", 1),
    ],
)
def test_decks_are_the_same_in_every_play_and_for_all_agents(
    name: str, episode: str, best_of: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_chunks(monkeypatch)
    rules = preset(name, best_of=best_of, target=30)
    plays, deals = len(arena.seatings(rules)), 14 if name != "cutthroat" else 5
    known: dict[tuple[int, int], tuple[int, ...]] = {}
    compared = 0
    dealers = set()
    for players in ([Prompt(), Slow(), Never()], named(rules, "simple", "simple", "simple")):
        _, kept = play(rules, players[: rules.num_sides], deals, episode)
        assert len(kept) == deals * plays
        for number, (seats, games) in enumerate(kept):
            deal = number // plays
            assert seats == tuple(arena.seatings(rules)[number % plays])
            hands = [hand for game in games for hand in game]
            for place, hand in enumerate(hands):
                compared += (deal, place) in known
                assert known.setdefault((deal, place), hand.deck) == hand.deck
            dealers.add((deal, hands[0].dealer, hands[0].seats))
    assert compared > 0.7 * len(known)
    assert len(set(known.values())) == len(known)
    assert len(dealers) == deals  # one cut for all plays of a deal


def test_how_long_games_take_does_not_change_the_decks_of_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small_chunks(monkeypatch)
    first = [play(Rules(target=target), [Prompt(), Slow()], 26, "game")[1] for target in (1, 60)]
    decks = [[games[0][0].deck for _, games in kept] for kept in first]
    assert decks[0] == decks[1]


# Figures.


def test_same_seed_same_figures() -> None:
    rules = preset("cutthroat", best_of=3, target=40)
    names = ("simple", "random", "simple")

    def compare(seed: int) -> dict[str, Any]:
        made = arena.compare(rules, names, named(rules, *names), 3, seed, episode="match")
        return {key: value for key, value in made.items() if "second" not in key}

    assert compare(0) == compare(0)
    assert compare(0) != compare(1)


@pytest.mark.parametrize(("name", "episode", "best_of"), [*KINDS, ("partnership", "hand", 1)])
def test_agents_swapped_the_figures_are_mirrored(name: str, episode: str, best_of: int) -> None:
    rules = preset(name, best_of=best_of, target=40)
    one, _ = play(rules, [Prompt(), Slow()], 25, episode)
    other, _ = play(rules, [Slow(), Prompt()], 25, episode)
    # The second play of a deal has become the first.
    turned = np.arange(50) ^ 1
    winner = np.where(other.winner == NOBODY, NOBODY, 1 - other.winner)
    assert one.winner.tolist() == winner[turned].tolist()
    assert one.settlement.tolist() == other.settlement[turned][:, ::-1].tolist()
    there, back = (
        figures.report(names, results, 1.0) for names, results in (("ab", one), ("ba", other))
    )
    for figure in ("points_per_hand", "settlement"):
        assert there[figure]["mean"] == -back[figure]["mean"] != 0
        assert there[figure]["low"] == pytest.approx(-back[figure]["high"])
    assert there["rates"]["a"] == back["rates"]["b"]
    if episode != "hand":
        assert there["win_rate"]["mean"] == pytest.approx(1 - back["win_rate"]["mean"])
    assert there["hands"] == back["hands"]


@pytest.mark.parametrize(("name", "episode", "best_of"), KINDS)
def test_an_agent_against_itself_is_even_when_nothing_is_random(
    name: str, episode: str, best_of: int
) -> None:
    results, _ = play(preset(name, best_of=best_of, target=40), [Prompt(), Prompt()], 20, episode)
    assert (results.by_deal(results.scores(0)) == 0.5).all()
    assert (results.by_deal(results.settlement[:, 0]) == 0).all()
    made = figures.report("ab", results, 1.0)
    assert made["points_per_hand"] == {"mean": 0, "low": 0, "high": 0}


def test_three_of_a_kind_win_a_third_each_when_nothing_is_random() -> None:
    results, _ = play(preset("cutthroat", target=50), [Prompt()] * 3, 20, "game")
    for agent in range(3):
        assert results.by_deal(results.scores(agent)) == pytest.approx(np.full(20, 1 / 3))
        assert results.by_deal(results.settlement[:, agent]) == pytest.approx(np.zeros(20))


def test_simple_is_even_with_itself_and_far_above_random() -> None:
    rules = Rules()
    even = arena.compare(rules, "ab", named(rules, "simple", "simple"), 400, 0, episode="game")
    assert abs(even["win_rate"]["mean"] - 0.5) < 0.07
    settled = even["settlement"]
    assert abs(settled["mean"]) < 2 * (settled["high"] - settled["mean"])
    assert 8 < even["hands_per_game"] < 13
    far = arena.compare(rules, "ab", named(rules, "simple", "random"), 200, 0, episode="game")
    assert far["win_rate"]["low"] > 0.98
    assert far["unfinished"] == 0


def recount(rules: Rules, kept: Episode) -> tuple[int | None, list[int], list[list[Any]]]:
    """Who won an episode, its settlement, and (pair, result) of its hands, all by agent, played
    again one by one on the reference's score sheet."""
    players, games = kept
    first = games[0][0]
    dealer = first.dealer if rules.seating != "cutthroat" else 3 - sum(first.seats or ())
    sheet = ReferenceMatch(rules, dealer)
    hands = []
    for number, game in enumerate(games):
        if number:
            seats = game[0].seats
            cut = 3 - sum(seats) if rules.seating == "cutthroat" and seats else None
            sheet.next_game(cut)
        for start in range(0, len(game), rules.num_tables):
            table = game[start : start + rules.num_tables]
            assert [hand.seats or (0, 1) for hand in table] == sheet.seats
            assert [hand.dealer for hand in table] == sheet.dealer_seats
            results = [replay.outcome(rules, hand) for hand in table]
            for hand, result in zip(table, results, strict=True):
                hands.append([tuple(players[p] for p in hand.seats or (0, 1)), result])
            sheet.enter([(result["winner"], result["points"]) for result in results])
    settled = [0] * rules.num_sides
    for side, amount in enumerate(sheet.settled):
        settled[players[side]] = amount
    won = [
        players[side]
        for side, games_won in enumerate(sheet.games_won)
        if 2 * games_won > rules.best_of
    ]
    return (won[0] if won else None), settled, hands


@pytest.mark.parametrize(("name", "episode", "best_of"), WITH_THREE)
def test_figures_against_a_slow_recount(
    name: str, episode: str, best_of: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_chunks(monkeypatch)
    rules = preset(name, best_of=best_of, target=40)
    names = ("simple", "random", "simple")[: rules.num_sides]
    results, kept = play(rules, named(rules, *names), 7 if rules.num_sides == 2 else 5, episode)
    counted = [recount(rules, episode) for episode in kept]
    made = figures.report(names, results, 1.0)
    assert made["matches" if episode == "match" else "games"] == len(kept)
    assert made["games"] == sum(len(games) for _, games in kept)
    every = [hand for _, _, hands in counted for hand in hands]
    numbers = [number for number, (_, _, hands) in enumerate(counted) for _ in hands]
    assert results.hands.episode.tolist() == numbers
    assert results.hands.pair.tolist() == [list(pair) for pair, _ in every]
    for agent in range(rules.num_sides):
        assert results.hands.gains(agent).tolist() == [gain(hand, agent) for hand in every]
    assert made["hands"] == len(every)
    assert made["hands_per_game"] == len(every) / made["games"]
    for agent, letter in enumerate("abc"[: len(names)]):
        own = (
            made if len(names) == 2 else {k: v[letter] for k, v in made.items() if type(v) is dict}
        )
        if len(names) == 3 or agent == 0:
            won = sum(winner == agent for winner, _, _ in counted)
            assert own["win_rate"]["mean"] == pytest.approx(won / len(kept))
            settled = sum(amounts[agent] for _, amounts, _ in counted)
            assert own["settlement"]["mean"] == pytest.approx(settled / len(kept))
            points = sum(gain(hand, agent) for hand in every)
            sat = sum(agent in pair for pair, _ in every)
            assert own["points_per_hand"]["mean"] == pytest.approx(points / sat)
        check_rates(made["rates"][letter], [hand for hand in every if agent in hand[0]], agent)
    assert made["rates"]["dead"] == sum(r["kind"] == "dead" for _, r in every) / len(every)


def gain(hand: list[Any], agent: int) -> int:
    pair, result = hand
    if result["winner"] is None or agent not in pair:
        return 0
    points: int = result["points"]
    return points if pair[result["winner"]] == agent else -points


def check_rates(rates: dict[str, Any], hands: list[list[Any]], agent: int) -> None:
    counts: Counter[str] = Counter()
    for pair, result in hands:
        won = result["winner"] is not None and pair[result["winner"]] == agent
        kind = result["kind"]
        counts["win"] += won
        counts["gin"] += won and kind == "gin"
        counts["undercut_made"] += won and kind == "undercut"
        counts["undercut_suffered"] += not won and kind == "undercut"
        counts["knock"] += (won and kind == "knock") or (not won and kind == "undercut")
    for name in ("win", "gin", "undercut_made", "undercut_suffered", "knock"):
        assert rates[name] == pytest.approx(counts[name] / len(hands))


def test_agents_see_the_score_in_games_and_none_in_hands() -> None:
    seen: list[tuple[int, int]] = []

    class Looks(Prompt):
        def act(self, view, legal, generator):  # type: ignore[no-untyped-def]
            if view.game is not None:
                own, other = view.game.totals[:, 0]
                assert (own < 100).all()
                seen.extend(zip(own.tolist(), other.tolist(), strict=True))
            return super().act(view, legal, generator)

    play(Rules(), [Looks(), Never()], 5, "hand")
    assert not seen
    play(Rules(), [Looks(), Never()], 5, "game")
    # Never has scored nothing, whichever seat it had.
    assert max(own for own, _ in seen) > 0 == max(other for _, other in seen)


def test_an_illegal_choice_in_a_game_is_counted_and_replaced() -> None:
    class Stubborn:
        def act(self, view, legal, generator):  # type: ignore[no-untyped-def]
            return np.full(len(view), -5)

    rules = preset("cutthroat")
    results, _ = play(rules, [Prompt(), Stubborn(), Prompt()], 2, "game")
    assert results.illegal[1] > 50
    assert results.illegal[[0, 2]].tolist() == [0, 0]
    assert not results.unfinished.any()


def test_as_many_agents_as_sides() -> None:
    with pytest.raises(ValueError, match="2 agents: cutthroat takes 3"):
        play(preset("cutthroat"), [Prompt(), Prompt()], 2, "game")


# Games that do not end.


@pytest.mark.parametrize(("name", "episode", "best_of"), WITH_THREE)
def test_games_that_do_not_end_are_broken_off_and_counted(
    name: str, episode: str, best_of: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arena, "MAX_DRY_ROUNDS", 3)
    rules = preset(name, best_of=best_of)
    results, _ = play(rules, [Never()] * rules.num_sides, 4, episode)
    made = figures.report("abc"[: rules.num_sides], results, 1.0)
    assert made["unfinished"] == made["games"] == len(results.winner)
    assert made["hands_per_game"] == 3 * rules.num_tables
    assert made["rates"]["dead"] == 1
    for agent in range(rules.num_sides):
        assert (results.scores(agent) == 1 / rules.num_sides).all()
    assert (results.settlement == 0).all()
    assert (results.winner == NOBODY).all()


def test_only_rounds_in_a_row_break_a_game_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arena, "MAX_DRY_ROUNDS", 3)

    class Fickle(Prompt):
        """Seldom knocks where it could."""

        def act(self, view, legal, generator):  # type: ignore[no-untyped-def]
            chosen = super().act(view, legal, generator)
            knocks = (chosen >= actions.KNOCK) & (chosen < actions.STOCK)
            waits = knocks & (generator.random(len(chosen)) > 0.03)
            return chosen - np.where(waits, actions.KNOCK, 0)

    rules = Rules(best_of=3, target=40)
    results, kept = play(rules, [Fickle(), Fickle()], 6, "match")
    ends: Counter[bool] = Counter()
    for number, (players, games) in enumerate(kept):
        for at, game in enumerate(games):
            scored = [replay.outcome(rules, hand)["winner"] is not None for hand in game]
            run = max((len(list(r)) for won, r in itertools.groupby(scored) if not won), default=0)
            broken = at == len(games) - 1 and bool(results.unfinished[number])
            assert (run == 3 and not any(scored[-3:])) if broken else run < 3
            ends[broken] += 1
        if results.unfinished[number]:
            # What it settles are the games before.
            _, settled, _ = recount(rules, (players, games))
            assert results.settlement[number].tolist() == settled
    assert min(ends[True], ends[False]) > 1
