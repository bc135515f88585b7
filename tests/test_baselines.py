"""The hand-written players beyond simple: legal, blind to what is hidden, and each its idea."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from test_observation import hide_otherwise

from agents import Agent, arena, discards
from agents.adaptive import Adaptive, to_go
from agents.expert import PUBLISHED, Expert, expert_k5
from agents.knocker import Knocker
from agents.patient import Patient
from agents.random import Random
from agents.simple import Simple
from ginenv import actions, cards, engine, melds, observation
from ginenv.observation import Standing
from ginenv.rules import PRESETS, Rules, preset

AGENTS: dict[str, Callable[[], Agent]] = {
    "knocker": Knocker,
    "patient": Patient,
    "expert": Expert,
    "expert_k5": expert_k5,
    "adaptive": Adaptive,
}
HEADS_UP = [name for name in PRESETS if preset(name).seating == "heads_up"]
VARIANTS = {
    **{name: preset(name) for name in HEADS_UP},
    "last": Rules(last_discard="may_knock", big_gin_bonus=31),
    "small": Rules(num_ranks=6, num_suits=3, hand_size=4, stock_floor=0),
    "tiny": Rules(num_ranks=4, num_suits=2, hand_size=3, stock_floor=0),
}


def dealt(hand: str, upcard: str, stock: str = "", other: str = "") -> engine.State:
    """One lane in which the non-dealer, seat 0, holds ``hand``; the first cards of the rest."""
    own, top, draws = cards.parse_list(hand).tolist(), cards.parse_card(upcard), stock.split()
    first = cards.parse_list(draws).tolist()
    others = cards.parse_list(other).tolist()
    free = [card for card in range(52) if card not in {*own, top, *first, *others}]
    others += free[: 10 - len(others)]
    rest = [card for card in free if card not in others]
    deck = [card for pair in zip(own, others, strict=True) for card in pair]
    deck += [top, *first, *rest]
    return engine.deal(Rules(), np.array([deck], dtype=np.uint8), np.array([1]))


def play(state: engine.State, *words: str) -> engine.State:
    for word in words:
        action = actions.parse(word)
        assert actions.mask(engine.legal(state))[0, action], word
        engine.step(state, np.array([action]))
    return state


def act(agent: Agent, state: engine.State, **known: object) -> str:
    """What the agent does; ``known`` changes what it is told."""
    view = dataclasses.replace(observation.view(state), **known)
    return actions.format(int(agent.act(view, engine.legal(state), np.random.default_rng(0))[0]))


def positions(rules: Rules, lanes: int, steps: int, seed: int) -> list[engine.State]:
    """Hands as they stand after each of the first ``steps`` actions of Expert."""
    rng = np.random.default_rng(seed)
    state = engine.deal(rules, engine.shuffle(rules, rng, lanes), rng.integers(0, 2, lanes))
    found = []
    for _ in range(steps):
        state = state.take((~state.over).nonzero()[0])
        found.append(state.copy())
        engine.step(state, Expert().act(observation.view(state), engine.legal(state), rng))
    return found


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_they_never_choose_an_illegal_action(name: str, variant: str) -> None:
    rules = dataclasses.replace(VARIANTS[variant], turn_limit=24)
    for opponent in (Random(), AGENTS[name]()):
        decks, choices = np.random.default_rng(2), np.random.default_rng(3)
        played = arena.play(rules, (AGENTS[name](), opponent), 40, decks, choices)
        assert played.illegal.tolist() == [0, 0]


@pytest.mark.parametrize("name", AGENTS)
def test_they_play_games_legally(name: str) -> None:
    decks, choices = np.random.default_rng(2), np.random.default_rng(3)
    rules = Rules(target=40)
    played = arena.play(rules, (AGENTS[name](), Simple()), 10, decks, choices, episode="game")
    assert played.illegal.tolist() == [0, 0]
    assert not played.unfinished.any()


@pytest.mark.parametrize("name", AGENTS)
def test_what_they_cannot_see_changes_nothing(name: str) -> None:
    agent, rng = AGENTS[name](), np.random.default_rng(5)
    for state in positions(Rules(), 30, 12, 4):
        twin = state.copy()
        for seat in (0, 1):
            lanes = (state.mover == seat).nonzero()[0]
            twin.put(lanes, hide_otherwise(state.take(lanes), seat, rng))
        assert (twin.hands != state.hands).any()
        chosen = [
            agent.act(observation.view(one), engine.legal(one), np.random.default_rng(1))
            for one in (state, twin)
        ]
        assert np.array_equal(*chosen)


@pytest.mark.parametrize("name", AGENTS)
def test_a_lane_alone_is_played_as_among_others(name: str) -> None:
    agent, rng = AGENTS[name](), np.random.default_rng(6)
    for state in positions(Rules(), 1700, 20, 7)[3::8]:  # more lanes than are taken at once
        together = agent.act(observation.view(state), engine.legal(state), rng)
        assert np.array_equal(
            together, agent.act(observation.view(state), engine.legal(state), rng)
        )
        for lane in range(0, len(state), 150):
            one = state.take(np.array([lane]))
            assert agent.act(observation.view(one), engine.legal(one), rng) == together[lane]


# What they draw.


@pytest.mark.parametrize("name", AGENTS)
def test_they_take_an_upcard_that_melds(name: str) -> None:
    hand = "4c 5c 9d 9h Ks Qd 2h 7s 8d Jc"
    assert act(AGENTS[name](), dealt(hand, "6c")) == "take"
    assert act(AGENTS[name](), dealt(hand, "9s")) == "take"
    assert act(AGENTS[name](), dealt(hand, "Ad")) == "pass"


def test_expert_takes_only_what_ends_in_a_meld() -> None:
    # Three sevens would break the run: the seven would only lie loose in place of the king.
    state = dealt("7c 8c 9c 7h Qd Qh Qs 2s 2h Kd", "7d")
    assert act(Simple(), state) == "take"
    assert act(Expert(), state) == "pass"


def test_knocker_takes_an_upcard_that_lets_it_knock() -> None:
    state = dealt("4c 5c 6c 9d 9h 9s As 2d 4h Ks", "3h")
    assert act(Simple(), state) == "pass"
    assert act(Expert(), state) == "pass"
    assert act(Knocker(), state) == "take"
    assert act(Knocker(), play(state, "take")) == "knock Ks"
    assert act(Knocker(), dealt("4c 5c 6c 9d 9h 9s As 2d 5h Ks", "3h")) == "pass"


def test_only_for_gin_is_the_last_discard_taken() -> None:
    state = dealt("4c 5c 6c 9d 9h 9s As Ad 2h Ks", "Ac")
    state.rules = Rules(last_discard="may_knock")
    state.turn[:] = 30
    state.phase[:] = engine.LAST_OFFER
    assert act(Expert(), state) == "pass"
    gin = dealt("4c 5c 6c 9d 9h 9s As Ad 7c Ks", "Ac")
    gin.rules, gin.turn, gin.phase = state.rules, state.turn, state.phase
    assert act(Expert(), gin) == "take"
    assert act(Expert(), play(gin, "take")) == "knock Ks"


# What they throw.


def test_knocker_throws_the_highest_of_equals() -> None:
    state = dealt("4c 5c 6c 9d 9h Ks Qd 2h 7s 8d", "Ah", "Jh")
    assert act(Knocker(), play(state, "pass", "pass", "stock")) == "discard Ks"


def wanted(taken: str) -> engine.State:
    """The opponent took two cards of ``taken``, and the ten of clubs is among four loose tens."""
    first, second = taken.split()
    state = dealt(f"2c 2d 2h 5s 6s 7s {second} Tc Qd Ks", first, "Jh 3s", "3c 3d 3h 4d 4h")
    return play(
        state, "pass", "take", "discard 3c", "stock", f"discard {second}", "take", "discard 3d"
    )


def test_expert_keeps_a_card_that_the_opponent_is_known_to_want() -> None:
    blind = Expert(weights=dataclasses.replace(PUBLISHED, held=0.0, near=0.0, open=0.0))
    state = play(wanted("8c 9c"), "stock")
    assert act(blind, state) == "discard Tc"
    assert act(Expert(), state) not in ("discard Tc", "discard Jh")
    assert act(expert_k5(), state) != "discard Tc"


def test_expert_throws_a_dead_card_before_a_live_one() -> None:
    # The other queens and the cards beside the king are gone or not: all else is alike.
    state = play(dealt("4c 5c 6c 9d 9h 9s As Ad Kc Qd", "Ah", "2h"), "pass", "pass", "stock")
    for dead in ("Kd Kh Jc Qc", "Qc Qs Jd Kd"):
        seen = cards.parse(dead) | cards.parse("Ah")
        card = "Kc" if dead[0] == "K" else "Qd"
        told = {"seen": np.array([seen]), "turn": np.array([8], dtype=np.uint8)}
        assert act(Expert(), state, **told) == f"discard {card}"


def test_expert_keeps_what_may_be_melded() -> None:
    state = dealt("4c 5c 6c 2h 2s 9d Th Jh 8s Kc", "Ac", "3d")
    assert act(Expert(), play(state, "pass", "pass", "stock")) == "discard Kc"


# When they knock.


def after_turns(turns: int) -> dict[str, NDArray[np.uint8]]:
    """What a view tells after so many turns of each player."""
    return {"turn": np.array([2 * turns], dtype=np.uint8)}


def ready(hand: str, draw: str) -> engine.State:
    return play(dealt(hand, "Kh", draw), "pass", "pass", "stock")


def loose() -> engine.State:
    """Deadwood 10 after throwing the queen, and no card gives gin."""
    return ready("4c 5c 6c 9d 9h 9s As Ad 2h 6s", "Qs")


@pytest.mark.parametrize(("agent", "last"), [(Expert(), 3), (expert_k5(), 5), (Expert(8), 8)])
def test_expert_knocks_in_its_first_turns(agent: Agent, last: int) -> None:
    for turns in range(12):
        word = act(agent, loose(), **after_turns(turns))
        assert (word == "knock Qs") == (turns < last)


def test_patient_never_knocks_with_deadwood_and_always_with_gin() -> None:
    for turns in range(12):
        assert act(Patient(), loose(), **after_turns(turns)).startswith("discard")
    for agent in (Patient(), Expert(), Adaptive()):
        gin = ready("4c 5c 6c 9d 9h 9s As Ad Ac 2h", "7c")
        assert act(agent, gin, **after_turns(11)) == "knock 2h"


def test_adaptive_knocks_with_the_same_hand_early_and_not_late() -> None:
    words = [act(Adaptive(), loose(), **after_turns(turns)) for turns in range(12)]
    knocks = [word == "knock Qs" for word in words]
    assert knocks[0]
    assert not knocks[-1]
    assert knocks == sorted(knocks, reverse=True)


def test_adaptive_waits_with_gin_at_hand() -> None:
    near = ready("4c 5c 6c 7c Td Jd Qd 2h 3h 3s", "Kc")
    assert act(Adaptive(), near) == "discard Kc"
    assert act(Expert(), near) == "knock Kc"


def test_adaptive_heeds_what_the_opponent_takes_and_throws() -> None:
    told = after_turns(6)

    def thrown(text: str) -> NDArray[np.uint32]:
        return np.array([*cards.parse_list(text), 255], dtype=np.uint8).view(np.uint32)

    high, low = thrown("Jd Tc Js"), thrown("3d 4c 3s")
    assert act(Adaptive(), loose(), opponent_recent=high, **told) == "knock Qs"
    assert act(Adaptive(), loose(), opponent_recent=low, **told) != "knock Qs"
    took = np.array([cards.parse("7d 7h 7s")])
    knows = {"opponent_known": took, "seen": took | cards.parse("Kh")}
    assert act(Adaptive(), loose(), opponent_recent=high, **knows, **told) != "knock Qs"


def test_adaptive_counts_what_it_lacks_in_the_game() -> None:
    def standing(own: int, other: int) -> Standing:
        one = np.zeros((1, 1), np.int32)
        return Standing(
            rules=Rules(),
            games_to_win=1,
            totals=np.array([[[own]], [[other]]], np.int32),
            boxes=np.array([one, one]),
            column_open=np.ones((1, 1), np.bool_),
            games=np.zeros((2, 1), np.int16),
            rounds=np.array([5], np.int32),
        )

    lasts = []
    for own in (0, 74, 97):
        game = standing(own, 50)
        knocks = [
            act(Adaptive(), loose(), game=game, **after_turns(turns)) == "knock Qs"
            for turns in range(25)
        ]
        lasts.append(sum(knocks))
    start, at_74, at_97 = lasts
    assert at_74 < start < at_97
    view = dataclasses.replace(observation.view(loose()), game=standing(30, 60))
    left = to_go(view)
    assert left is not None
    assert left.tolist() == [70]
    assert to_go(observation.view(loose())) is None


def test_each_beats_simple() -> None:
    for name in AGENTS:
        decks, choices = np.random.default_rng(8), np.random.default_rng(9)
        played = arena.play(Rules(), (AGENTS[name](), Simple()), 250, decks, choices)
        assert played.hands.gains(0).mean() > 0, name


# What they reckon with.


def hands_of(size: int, count: int, seed: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Random hands, and the cards that are unseen beside ten others."""
    decks = engine.shuffle(Rules(), np.random.default_rng(seed), count)
    hands, seen = (
        np.bitwise_or.reduce(cards.BIT[decks[:, part]], axis=1)
        for part in (slice(size), slice(size, size + 10))
    )
    return hands, discards.unseen(Rules(), hands, seen)


def good_hands(count: int, seed: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    hands, unseen = hands_of(10, 40 * count, seed)
    best = np.argsort(melds.deadwood(hands), kind="stable")[:count]
    return hands[best], unseen[best]


def test_shown_sets_leave_the_least_deadwood() -> None:
    for hands in (hands_of(10, 3000, 1)[0], good_hands(3000, 2)[0], hands_of(11, 3000, 3)[0]):
        rest = hands & ~discards.shown_sets(hands)
        left = cards.points(rest & ~melds.run_cards(rest))
        assert np.array_equal(left, melds.deadwood(hands))


@pytest.mark.parametrize(("good", "exact"), [(False, 0.85), (True, 0.65)])
def test_savings_are_nearly_what_the_best_discard_saves(good: bool, exact: float) -> None:
    hands, unseen = good_hands(400, 4) if good else hands_of(10, 400, 5)
    saved = discards.savings(hands, discards.shown_sets(hands), unseen)
    there = discards.by_place(unseen) == 1
    assert (saved[~there] == 0).all()
    lane, place = there.nonzero()
    drawn = np.uint64(1) << place.astype(np.uint64)
    after = melds.deadwood_after_discard(hands[lane] | drawn).min(axis=1)
    best = np.zeros_like(saved)
    best[lane, place] = melds.deadwood(hands)[lane] - after
    sums = [np.sort(each, axis=1)[:, -7:].astype(int).sum(axis=1) for each in (saved, best)]
    assert np.mean(sums[0] == sums[1]) > exact
    assert (saved <= best).all()


def test_savings_by_example() -> None:
    hand = np.array([cards.parse("4c 5c 6c 9d 9h Jh Qh 2s 2d 2c")])
    deck = np.array([cards.deck_set(13, 4)])
    saved = discards.savings(hand, discards.shown_sets(hand), deck & ~hand)[0]
    by_card = {
        name: int(saved[card // 13 * 16 + card % 13])
        for name in ("9s", "Th", "7c", "2h", "Ah", "8h", "Kd", "9d")
        for card in [cards.parse_card(name)]
    }
    # Deadwood 38: nines 18, jack and queen 20.
    assert by_card == {
        "9s": 28,  # a set of nines, and a ten is thrown
        "Th": 38,  # a run of four, and the other nine is thrown: gin
        "7c": 10,  # joins the run
        "2h": 10,  # joins the set
        "Ah": 9,  # lies in place of a ten
        "8h": 2,
        "Kd": 0,
        "9d": 0,  # held already
    }


def test_dangers_count_the_melds_that_a_card_completes() -> None:
    rng = np.random.default_rng(7)
    for _ in range(40):
        mixed = rng.permutation(52)
        unseen, known = {*mixed[:25].tolist()}, {*mixed[25:28].tolist()}
        bits = [np.array([cards.from_ids(sorted(each))]) for each in (unseen, known)]
        counts = discards.dangers(*bits)
        for card in range(52):
            suit, rank = divmod(card, 13)
            three = [s * 13 + rank for s in range(4) if s != suit]
            pairs = [(three[0], three[1]), (three[0], three[2]), (three[1], three[2])]
            for low in range(max(0, rank - 2), min(rank, 10) + 1):
                a, b = (suit * 13 + r for r in range(low, low + 3) if r != rank)
                pairs.append((a, b))
            held = sum({a, b} <= known for a, b in pairs)
            near = sum(len({a, b} & known) == 1 and len({a, b} & unseen) == 1 for a, b in pairs)
            hidden = sum({a, b} <= unseen for a, b in pairs)
            found = [int(each[0, suit * 16 + rank]) for each in counts]
            assert found == [held, near, hidden], cards.name(card)


def test_what_was_taken_this_turn_is_not_thrown() -> None:
    state = play(dealt("4c 5c 9d 9h Ks Qd 2h 7s 8d Jc", "6c"), "take")
    for make in AGENTS.values():
        assert act(make(), state) != "discard 6c"


def test_big_gin_is_declared() -> None:
    state = dealt("4c 5c 6c 9d 9h 9s As 2s 3s 4s", "7c")
    state.rules = preset("big_gin")
    play(state, "take")
    for make in AGENTS.values():
        assert act(make(), state) == "big-gin"
