"""Forfeited hands: who wins what, on the sheet, in records, on the board and in the figures."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference import least_deadwood

import agents
from agents import arena
from agents.told import FORFEIT, Asked
from ginenv import actions, cards, engine, match, observation, replay, scoring
from ginenv import play as playing
from ginenv.board import board
from ginenv.records import Hand
from ginenv.rules import Rules, preset

DECK = (
    "4c As 5c 2s 6c 3s 9c 4s 9d Kh 9h Kd Jc 2h 2d 7c Ks Qc 7h 8d 7s 8h Ac 2c 3c 7d 8c Tc Kc "
    "Ad 3d 4d 5d 6d Td Jd Qd Ah 3h 4h 5h 6h Th Jh Qh 5s 6s 8s 9s Ts Js Qs"
)


def deck() -> list[int]:
    return replay.check_deck(Rules(), DECK).tolist()


def at(words: str, rules: Rules | None = None) -> engine.State:
    """The hand with that deck, dealt by seat 1, after these actions."""
    state = engine.deal(rules or Rules(), np.array([deck()], np.uint8), np.array([1]))
    for word in filter(None, words.split(", ")):
        engine.step(state, np.array([actions.parse(word)]))
    return state


ON_MOVE = {
    "": 0,
    "pass": 1,
    "pass, pass": 0,
    "take": 0,
    "take, discard Ks": 1,
    "pass, pass, stock": 0,
    "pass, pass, stock, discard Ks, take": 1,
}


@pytest.mark.parametrize("words", ON_MOVE)
def test_the_other_wins_gin_bonus_and_the_forfeiters_deadwood(words: str) -> None:
    rules = Rules(gin_bonus=20)
    state = at(words, rules)
    loser = ON_MOVE[words]
    assert state.mover[0] == loser
    held = [set(cards.to_ids(hand)) for hand in state.hands[0]]
    least = [least_deadwood(hand) for hand in held]
    assert len(held[loser]) == 10 + words.endswith(("take", "stock"))
    before = state.copy()
    engine.forfeit(state, np.array([0]))
    assert engine.result(state, 0) == {
        "kind": "forfeit",
        "winner": 1 - loser,
        "points": 20 + least[loser],
        "deadwood": least,
        "melds": [[], []],
        "layoffs": [],
    }
    assert state.over[0]
    assert state.mover[0] == loser
    assert not actions.mask(engine.legal(state)).any()
    for column in ("hands", "seen", "pile", "stock_next", "turn", "discards", "refused", "top"):
        np.testing.assert_array_equal(getattr(state, column), getattr(before, column))


def test_a_hand_that_is_over_can_not_be_forfeited() -> None:
    state = at("take, discard Ks, stock, discard Kd")
    two = state.copy()
    engine.forfeit(state, np.array([0]))
    once = engine.result(state, 0)
    engine.forfeit(state, np.array([0]))
    assert engine.result(state, 0) == once
    engine.step(state, np.array([actions.STOCK]))
    assert engine.result(state, 0) == once
    engine.forfeit(two, np.zeros(0, np.intp))
    assert not two.over[0]


def test_only_the_lanes_named_are_forfeited() -> None:
    rules, rng = Rules(), np.random.default_rng(0)
    state = engine.deal(rules, engine.shuffle(rules, rng, 6), rng.integers(0, 2, 6))
    engine.forfeit(state, np.array([4, 1]))
    assert state.over.tolist() == [False, True, False, False, True, False]
    mover = state.mover[[1, 4]]
    assert state.winner[[1, 4]].tolist() == (1 - mover).tolist()


def test_nothing_is_doubled() -> None:
    rules = Rules(spade_upcard_doubles=True, spade_knock_doubles=True)
    state = at("pass", rules)
    assert engine.upcard_doubles(state, np.array([0]))[0]
    assert engine.pile_doubles(state, np.array([0]))[0]
    engine.forfeit(state, np.array([0]))
    assert state.points[0] == 25 + state.deadwood[0, 1]


def test_each_player_is_told_his_own_deadwood_only() -> None:
    state = at("take")
    engine.forfeit(state, np.array([0]))
    whole = engine.result(state, 0)
    assert observation.known_result(whole, 0)["deadwood"] == [whole["deadwood"][0], None]
    assert observation.known_result(whole, 1)["deadwood"] == [None, whole["deadwood"][1]]
    assert observation.known_result(whole, None)["deadwood"] == [None, None]


@pytest.mark.parametrize("name", ["classic", "hollywood", "cutthroat", "partnership"])
def test_the_sheet_takes_it_as_any_win(name: str) -> None:
    rules, rng = preset(name), np.random.default_rng(3)
    decks = engine.shuffle(rules, rng, rules.num_tables)[None]
    play = playing.start(rules, "game", decks, np.array([0]))
    points = [0, 0]
    for table in range(rules.num_tables):
        lane = play.on_move
        seat = int(play.hands.mover[lane[0]])
        engine.forfeit(play.hands, lane)
        points[1 - seat] += int(play.hands.points[lane[0]])
        ended = playing.step(play, np.array([engine.NO_ACTION]))
        assert len(ended.lanes) == (table + 1 == rules.num_tables)
    sheet = match.sheet(play.match, 0)
    totals = sheet["totals"][0] if name == "hollywood" else sheet["totals"]
    won = abs(points[0] - points[1])
    if name == "partnership":
        won += rules.partners_bonus  # the side that did not deal has forfeited both
    assert won in totals
    assert ended.payoffs.any()


# The board.


def test_the_board_says_who_forfeits_and_shows_what_a_seat_knows() -> None:
    state = at("take, discard Ks, stock")
    engine.forfeit(state, np.array([0]))
    assert board(state, names=("ann", "bob")) == "\n".join(
        [
            "ann: deadwood 26",
            "    4c 5c 6c | 9c 9d 9h | deadwood Jc 2d 7h 7s",
            "bob (dealer): deadwood 55",
            "    As 2s 3s 4s | deadwood 7c Qc 8d Kd 2h 8h Kh",
            "Pile: Ks on top",
            "Stock: 30 cards",
            "Knock limit: 10",
            "bob forfeits; ann scores 80: 55 + 25.",
        ]
    )
    seen = board(state, 0)
    assert "11 face down" in seen
    assert "Kd" not in seen
    assert "forfeits; player 0 scores 80" in seen
    assert "7s, 9 face down" in board(state, 1)


# Records.


def forfeited(words: str = "take, discard Ks, stock", **fields: Any) -> Hand:
    played = tuple(actions.parse(word) for word in filter(None, words.split(", ")))
    hand = Hand(1, tuple(deck()), played, forfeited=True)
    return dataclasses.replace(hand, **fields)


@pytest.mark.parametrize("words", ON_MOVE)
def test_records_come_back_and_re_run(words: str, tmp_path: Path) -> None:
    hand = forfeited(words)
    made = replay.record(Rules(), ["ann", "bot"], [hand])
    (entry,) = made["hands"]
    assert entry["actions"] == words
    assert entry["result"]["kind"] == "forfeit"
    assert entry["scores"][entry["result"]["winner"]] == entry["result"]["points"]
    path = tmp_path / "games.jsonl"
    replay.write(path, [made])
    assert [replay.parse(again) for again in replay.read(path)] == [(Rules(), [hand])]


def test_a_forfeit_may_end_a_game() -> None:
    rules = Rules(target=40)
    made = replay.record(rules, ["ann", "bot"], [forfeited()], game=True)
    assert made["hands"][0]["scores"] == [80, 0]
    assert made["final"] == [80 + 20 + 100 + 100, 0]
    replay.check(made)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": 81}, "hand 1: result, points: recorded 81, and the hand re-runs to 80"),
        ({"winner": 1}, "winner: recorded 1, and the hand re-runs to 0"),
        ({"deadwood": [26, 3]}, "deadwood: recorded"),
        ({"kind": "dead"}, "the actions stop after 3, before the hand has ended"),
        ({"kind": None}, "the actions stop after 3"),
    ],
)
def test_a_record_that_says_something_else_is_refused(change: dict[str, Any], message: str) -> None:
    made = replay.record(Rules(), ["ann", "bot"], [forfeited()])
    made["hands"][0]["result"] |= change
    with pytest.raises(replay.ReplayError, match=message):
        replay.check(made)


def test_a_hand_that_has_ended_was_not_forfeited() -> None:
    ended = (
        "take, discard Ks, stock, discard Kd, stock, discard Jc, stock, discard Kh, stock, knock 7h"
    )
    state = at(ended)
    whole = replay.record(Rules(), ["a", "b"], [forfeited(ended, forfeited=False)])
    assert state.over[0]
    with pytest.raises(
        replay.ReplayError, match="recorded 'forfeit', and the hand re-runs to 'knock'"
    ):
        replay.record(Rules(), ["a", "b"], [forfeited(ended)])
    whole["hands"][0]["result"]["kind"] = "forfeit"
    with pytest.raises(replay.ReplayError, match="kind: recorded 'forfeit', and the hand re"):
        replay.check(whole)
    with pytest.raises(replay.ReplayError, match="action 2, 'stock': not legal"):
        replay.record(Rules(), ["a", "b"], [forfeited("take, stock")])


def test_a_forfeit_is_shown_as_a_move_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "games.jsonl"
    replay.write(path, [replay.record(Rules(), ["ann", "bot"], [forfeited()])])
    assert replay.main([str(path)]) == 0
    shown = capsys.readouterr().out
    assert "3. bot: stock\n" in shown
    assert "4. bot: forfeits\n" in shown
    assert "bot forfeits; ann scores 80: 55 + 25.\n" in shown


# The arena.


class Quits:
    """An agent that is told hands; it plays the first legal action and forfeits every n-th time."""

    def __init__(self, every: int, chosen: int) -> None:
        self.every, self.chosen, self.asked = every, chosen, 0
        self.results: list[dict[str, Any]] = []
        self.closed = 0

    def act(self, view, legal, generator):  # type: ignore[no-untyped-def]
        raise NotImplementedError

    def ask(self, view, legal, hands):  # type: ignore[no-untyped-def]
        chosen = actions.mask(legal).argmax(axis=1)
        count = self.asked + 1 + np.arange(len(chosen))
        self.asked += len(chosen)
        return np.where(count % self.every == 0, self.chosen, chosen)

    def ended(self, hands, results):  # type: ignore[no-untyped-def]
        for told, found in zip(hands, results, strict=True):
            if found["kind"] == "forfeit":
                mine = found["winner"] != told.seat
                assert told.events[-1] == ("you forfeit" if mine else "other forfeit")
        self.results += results

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("chosen", [FORFEIT, 200, actions.BIG_GIN])
@pytest.mark.parametrize(
    ("name", "episode"),
    [("classic", "hand"), ("hollywood", "game"), ("cutthroat", "match"), ("partnership", "game")],
)
def test_the_arena_counts_and_records_forfeits(name: str, episode: str, chosen: int) -> None:
    rules = preset(name, target=60, best_of=3 if episode == "match" else 1)
    quits = Quits(29, chosen)
    assert isinstance(quits, Asked)
    others = [agents.load("simple", rules) for _ in range(rules.num_sides - 1)]
    kept: list[tuple[tuple[int, ...], list[list[Hand]]]] = []
    results = arena.play(
        rules,
        [quits, *others],
        3,
        np.random.default_rng(0),
        np.random.default_rng(1),
        recorder=lambda seats, games: kept.append((seats, games)),
        episode=episode,
    )
    hands = results.hands
    gone = hands.kind == scoring.FORFEIT
    assert gone.sum() == quits.asked // 29 > 0
    assert (hands.winner[gone] > 0).all()
    assert (hands.knocker[gone] == -1).all()
    assert results.illegal.tolist() == [0] * rules.num_sides
    assert quits.closed == 1
    assert len(quits.results) == hands.played_by(0).sum()
    recorded = 0
    for seats, games in kept:
        for game in games:
            names = [f"agent {agent}" for agent in seats]
            made = replay.record(rules, names, game, game=episode != "hand")
            replay.check(json.loads(json.dumps(made)))
            for entry in made["hands"]:
                recorded += entry["result"]["kind"] == "forfeit"
    assert recorded == gone.sum()
