"""Whole hands under every preset and under many mixtures of hand-level rules: the engine on many
lanes at once, the reference beside each lane. At every decision the legal actions, the mover and
both hands have to be the same, and at the end the whole result."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from reference import ReferenceHand, card_id, deadwood_after, ids, least_deadwood, name
from styles import Style

from ginenv import actions, cards, engine
from ginenv.rules import PRESETS, Rules, preset

SPADES = 3
ENDS = ("knock", "gin", "big_gin", "undercut", "tie", "dead")
PRESET_LANES = 96
MIXTURES = 72
MIXTURE_LANES = 48


STYLES = (
    Style(closes=1.0, waits_for=10, thinks=True, takes=0.5),
    Style(closes=0.3, waits_for=10, thinks=True, takes=0.5),
    Style(closes=0.8, waits_for=0, thinks=True, takes=0.5),
    Style(closes=1.0, waits_for=-1, thinks=True, takes=0.5),
    Style(closes=0.0, waits_for=10, thinks=True, takes=0.5),
    Style(closes=1.0, waits_for=10, thinks=False, takes=0.3),
    Style(closes=0.1, waits_for=10, thinks=False, takes=0.5),
    Style(closes=0.0, waits_for=10, thinks=False, takes=0.1),
    Style(closes=0.02, waits_for=10, thinks=False, takes=0.97),
)


def choose(hand: ReferenceHand, style: Style, rng: random.Random) -> str:
    """A legal word in this style."""
    words = sorted(hand.legal())
    own = hand.hands[hand.mover]
    closing = [word for word in words if word == "big-gin" or word.startswith("knock ")]
    others = [word for word in words if word not in closing]
    ready = [
        word
        for word in closing
        if word == "big-gin" or deadwood_after(own, card_id(word.split()[1])) <= style.waits_for
    ]
    if not others or (ready and rng.random() < style.closes):
        return rng.choice(ready or closing)
    if "take" in others:
        if hand.phase == "last offer":
            return rng.choice(others)
        take = rng.random() < style.takes
        if style.thinks:
            grown = own | {hand.pile[-1]}
            take = min(deadwood_after(grown, card) for card in own) < least_deadwood(own)
        if take:
            return "take"
        others.remove("take")
    if style.thinks and others[0].startswith("discard "):
        left = {word: deadwood_after(own, card_id(word.split()[1])) for word in others}
        others = [word for word in others if left[word] == min(left.values())]
    return rng.choice(others)


def expected_mask(hands: Sequence[ReferenceHand]) -> np.ndarray:
    mask = np.zeros((len(hands), actions.NUM_ACTIONS), dtype=np.uint8)
    for lane, hand in enumerate(hands):
        mask[lane, [actions.parse(word) for word in hand.legal()]] = 1
    return mask


def note(seen: Counter[str], hand: ReferenceHand) -> None:
    """What this ended hand was a test of."""
    result = hand.result()
    kind = result["kind"]
    seen[kind] += 1
    rules = hand.rules
    if kind == "dead":
        at_limit = hand.discards == rules.turn_limit
        at_floor = len(hand.stock) <= rules.stock_floor
        seen["dead by the turn limit"] += at_limit
        seen["dead by the stock floor"] += at_floor
        seen["dead by both"] += at_limit and at_floor
        return
    if kind in ("knock", "undercut", "tie"):
        seen["lay-offs"] += bool(result["layoffs"])
        seen["equal deadwood"] += result["deadwood"][0] == result["deadwood"][1]
    upcard = rules.spade_upcard_doubles and hand.upcard // 13 == SPADES
    top = rules.spade_knock_doubles and bool(hand.pile) and hand.pile[-1] // 13 == SPADES
    seen["times two"] += upcard != top
    seen["times four"] += upcard and top
    seen["closed over an empty pile"] += rules.spade_knock_doubles and not hand.pile
    seen["gin against no deadwood"] += kind == "gin" and result["deadwood"] == [0, 0]


def play_out(
    rules: Rules, decks: Sequence[Sequence[int]], dealers: Sequence[int], rng: random.Random
) -> Counter[str]:
    """Plays each lane to its end in both, comparing all the way; what was seen on the way."""
    lanes = range(len(decks))
    # Every other lane has two players of one style.
    styles = [(STYLES[lane % len(STYLES)], rng.choice(STYLES)) for lane in lanes]
    styles = [(one, other if lane % 2 else one) for lane, (one, other) in enumerate(styles)]
    state = engine.deal(rules, np.array(decks, dtype=np.uint8), np.array(dealers))
    hands = [ReferenceHand(rules, decks[lane], dealers[lane]) for lane in lanes]
    played: list[list[str]] = [[] for _ in lanes]
    seen: Counter[str] = Counter()

    def where(lane: int) -> str:
        deck = " ".join(map(name, decks[lane]))
        return f"{rules}\ndealer {dealers[lane]}, deck {deck}\nplayed {', '.join(played[lane])}"

    while True:
        mask, expected = actions.mask(engine.legal(state)), expected_mask(hands)
        for lane in np.flatnonzero((mask != expected).any(axis=1)):
            words = {actions.format(int(a)) for a in np.flatnonzero(mask[lane])}
            assert words == hands[lane].legal(), where(lane)
        assert state.over.tolist() == [hand.over for hand in hands]
        going = [lane for lane in lanes if not hands[lane].over]
        if not going:
            break
        # A lane that is over is given actions too: it must not mind them.
        chosen = np.array([rng.randrange(actions.NUM_ACTIONS) for _ in lanes])
        for lane in going:
            hand = hands[lane]
            assert state.mover[lane] == hand.mover, where(lane)
            sets = [cards.from_ids(sorted(cards_held)) for cards_held in hand.hands]
            assert state.hands[lane].tolist() == sets, where(lane)
            word = choose(hand, styles[lane][hand.mover], rng)
            seen["a last discard that nobody can close with"] += (
                hand.phase == "last offer" and "take" not in hand.legal()
            )
            seen[f"{hand.phase}: {word.split()[0]}"] += 1
            played[lane].append(word)
            chosen[lane] = actions.parse(word)
            hand.step(word)
        engine.step(state, chosen)
    for lane in lanes:
        assert engine.result(state, lane) == hands[lane].result(), where(lane)
        note(seen, hands[lane])
    return seen


def random_decks(rules: Rules, count: int, rng: random.Random) -> list[list[int]]:
    deck = [suit * 13 + rank for suit in range(rules.num_suits) for rank in range(rules.num_ranks)]
    return [rng.sample(deck, len(deck)) for _ in range(count)]


@cache
def play_preset(preset_name: str) -> Counter[str]:
    rng = random.Random(f"preset {preset_name}")
    rules = preset(preset_name)
    decks = random_decks(rules, PRESET_LANES, rng)
    return play_out(rules, decks, [lane // 2 % 2 for lane in range(PRESET_LANES)], rng)


@pytest.mark.parametrize("preset_name", sorted(PRESETS))
def test_hands_of_the_preset(preset_name: str) -> None:
    seen = play_preset(preset_name)
    assert seen["dead"]
    assert seen["gin"]
    assert bool(seen["knock"]) == (preset(preset_name).knock_limit > 0)
    assert bool(seen["second offer: pass"]) == (preset(preset_name).first_upcard == "offer")


def test_the_presets_reach_every_end() -> None:
    seen = sum(map(play_preset, sorted(PRESETS)), Counter())
    needed = ["knock", "gin", "big_gin", "undercut", "dead", "lay-offs", "times two"]
    needed += ["dead by the turn limit", "dead by the stock floor", "refused: stock"]
    assert [what for what in needed if not seen[what]] == []
    assert not seen["tie"]


def mixture(number: int) -> dict[str, Any]:
    """Hand-level fields drawn at random; every third mixture has the whole deck."""
    rng = random.Random(f"mixture {number}")
    while True:
        whole = number % 3 == 0
        ranks = 13 if whole else rng.randint(3, 13)
        suits = 4 if whole else rng.randint(1, 4)
        size = rng.choice([10, 10, 7]) if whole else rng.randint(3, 10)
        stock = ranks * suits - 2 * size - 1
        if stock >= 1:
            break
    return {
        "num_ranks": ranks,
        "num_suits": suits,
        "hand_size": size,
        "knock_limit": rng.choice([0, 1, 3, 5, 8, 10, 10]),
        "oklahoma": rng.random() < 0.3,
        "oklahoma_ace": rng.choice([0, 1]),
        "spade_upcard_doubles": rng.random() < 0.5,
        "spade_knock_doubles": rng.random() < 0.5,
        "gin_bonus": rng.choice([0, 20, 25, 1000]),
        "big_gin_bonus": rng.choice([None, 0, 31, 1000]),
        "undercut_bonus": rng.choice([0, 10, 25, 1000]),
        "first_upcard": rng.choice(["offer", "open"]),
        "stock_floor": rng.choice([0, min(2, stock - 1), rng.randrange(stock), stock - 1]),
        "last_discard": rng.choice(["dead", "may_knock"]),
        "tie": rng.choice(["undercut", "draw"]),
        "turn_limit": rng.choice([1, 2, 5, 13, 40, 100, 100, 200]),
    }


@cache
def play_mixture(number: int) -> Counter[str]:
    rng = random.Random(f"hands of mixture {number}")
    rules = preset("classic", **mixture(number))
    decks = random_decks(rules, MIXTURE_LANES, rng)
    return play_out(rules, decks, [lane // 2 % 2 for lane in range(MIXTURE_LANES)], rng)


@pytest.mark.parametrize("number", range(MIXTURES))
def test_hands_of_mixed_rules(number: int) -> None:
    seen = play_mixture(number)
    assert sum(seen[kind] for kind in ENDS) == MIXTURE_LANES


def test_mixed_rules_reach_every_end_and_every_turn() -> None:
    seen = sum(map(play_mixture, range(MIXTURES)), Counter())
    needed = ["knock", "gin", "big_gin", "undercut", "tie", "dead", "lay-offs", "equal deadwood"]
    needed += ["times two", "times four", "closed over an empty pile", "gin against no deadwood"]
    needed += ["dead by the turn limit", "dead by the stock floor", "dead by both"]
    needed += ["first offer: take", "second offer: take", "second offer: pass", "refused: stock"]
    needed += ["last offer: take", "last offer: pass", "close: knock", "close: big-gin"]
    needed += ["a last discard that nobody can close with"]
    assert [what for what in needed if not seen[what]] == []


# From one deal, how many action sequences there are of length 1, 2, 3 ..., as chess engines count
# them: a rule that is read differently anywhere in the tree moves a number. Fields, deck, numbers.
TREES: dict[str, tuple[dict[str, Any], str, list[int]]] = {
    "two suits, three turns": (
        {"num_ranks": 4, "num_suits": 2, "hand_size": 3, "stock_floor": 0, "turn_limit": 3},
        "Ad 2c 3c 4d Ac 2d 4c 3d",
        [2, 8, 13, 56, 60, 142, 118, 0],
    ),
    "three suits, big gin, last discard, draws": (
        {
            "num_ranks": 5,
            "num_suits": 3,
            "hand_size": 4,
            "stock_floor": 3,
            "last_discard": "may_knock",
            "big_gin_bonus": 31,
            "tie": "draw",
        },
        "2c 4d 3c 4h Ac 5c 5d 3h 4c Ah 2d 3d 5h Ad 2h",
        [2, 8, 15, 53, 138, 582, 1_128, 4_529, 10_645, 39_261, 71_736],
    ),
    "four suits, oklahoma, spades double, open": (
        {
            "num_ranks": 5,
            "num_suits": 4,
            "hand_size": 5,
            "oklahoma": True,
            "spade_upcard_doubles": True,
            "spade_knock_doubles": True,
            "first_upcard": "open",
        },
        "Ac 4d 2c 4h 5c As 3c Ad 5s 3h 4s 4c Ah 2d 3d 5h 2h 5d 2s 3s",
        [2, 12, 22, 139, 242, 1_496, 2_662, 16_121, 29_282, 175_376],
    ),
    "the whole deck": (
        {},
        "As 2s 4s 5s 9s Ts Kh Ah Qh 6h 3d 9h 7d 4d Jc Kd 8c 3c 2c 6c Qs 5d 9c 8d 7s 8s "
        "Js Ks 2h 3h 4h 5h 7h 8h Th Jh Ad 2d 6d 9d Td Jd Qd Ac 4c 5c 7c Tc Qc Kc 3s 6s",
        [2, 12, 31, 241, 652, 5_061, 13_692, 106_281],
    ),
}


def tree_of(title: str) -> tuple[Rules, list[int], list[int]]:
    fields, deck, numbers = TREES[title]
    return preset("classic", **fields), ids(deck), numbers


def count_reference(hand: ReferenceHand, depth: int) -> int:
    """Action sequences of this length from here."""
    words = hand.legal()
    if depth == 1:
        return len(words)
    total = 0
    for word in words:
        after = hand.copy()
        after.step(word)
        total += count_reference(after, depth - 1)
    return total


def grow_engine(rules: Rules, deck: list[int], depth: int) -> list[np.ndarray]:
    """All sequences of each length from 0 to the depth, one a row, each replayed from the deal."""
    levels = [np.zeros((1, 0), dtype=np.int64)]
    for _ in range(depth):
        paths = levels[-1]
        mask = actions.mask(engine.legal(replay(rules, deck, paths)))
        lanes, chosen = np.nonzero(mask)
        levels.append(np.column_stack([paths[lanes], chosen]))
    return levels


def replay(rules: Rules, deck: list[int], paths: np.ndarray) -> engine.State:
    count = len(paths)
    decks = np.tile(np.array(deck, dtype=np.uint8), (count, 1))
    state = engine.deal(rules, decks, np.ones(count, dtype=np.uint8))
    for chosen in paths.T:
        engine.step(state, chosen)
    return state


@pytest.mark.parametrize("title", sorted(TREES))
def test_the_number_of_action_sequences_of_each_length(title: str) -> None:
    rules, deck, numbers = tree_of(title)
    depths = range(1, len(numbers) + 1)
    assert [len(level) for level in grow_engine(rules, deck, len(numbers))[1:]] == numbers
    assert [count_reference(ReferenceHand(rules, deck, 1), depth) for depth in depths] == numbers


@pytest.mark.parametrize(
    ("title", "depth"),
    [
        ("two suits, three turns", 8),
        ("three suits, big gin, last discard, draws", 9),
        ("four suits, oklahoma, spades double, open", 8),
    ],
)
def test_every_end_within_a_small_tree(title: str, depth: int) -> None:
    """All knocks, gins and dead hands that can follow the deal within so many actions."""
    rules, deck, _ = tree_of(title)
    seen: Counter[str] = Counter()
    for paths in grow_engine(rules, deck, depth)[1:]:
        state = replay(rules, deck, paths)
        for lane in np.flatnonzero(state.over):
            hand = ReferenceHand(rules, deck, 1)
            for action in paths[lane]:
                hand.step(actions.format(int(action)))
            assert engine.result(state, lane) == hand.result(), paths[lane]
            note(seen, hand)
    assert sum(seen[kind] for kind in ENDS) > 100


def test_actions_on_a_lane_that_is_over_change_nothing() -> None:
    """Not even the state's fields, whatever is chosen there and whatever other lanes do."""
    rng = random.Random(5)
    rules = preset("big_gin", stock_floor=18, last_discard="may_knock")
    decks = random_decks(rules, 64, rng)
    state = engine.deal(rules, np.array(decks, dtype=np.uint8), np.arange(64) % 2)
    frozen: dict[int, dict[str, Any]] = {}
    while len(frozen) < 64:
        legal = actions.mask(engine.legal(state))
        assert not legal[state.over].any()
        chosen = [
            rng.choice(np.flatnonzero(row)) if row.any() else rng.randrange(108) for row in legal
        ]
        engine.step(state, np.array(chosen))
        for lane in range(64):
            if lane in frozen:
                assert fields_of(state, lane) == frozen[lane]
            elif state.over[lane]:
                frozen[lane] = fields_of(state, lane)
    before = [engine.result(state, lane) for lane in range(64)]
    for action in range(actions.NUM_ACTIONS):
        engine.step(state, np.full(64, action))
    assert [fields_of(state, lane) for lane in range(64)] == [frozen[lane] for lane in range(64)]
    assert [engine.result(state, lane) for lane in range(64)] == before


def fields_of(state: engine.State, lane: int) -> dict[str, Any]:
    """One lane of every array of the state, as plain values."""
    columns = {field.name: getattr(state, field.name) for field in dataclasses.fields(state)}
    return {
        title: column[lane].tolist()
        for title, column in columns.items()
        if isinstance(column, np.ndarray)
    }


def test_a_last_discard_may_be_taken_for_big_gin_alone() -> None:
    """Six cards in two threes: whatever is thrown breaks a meld, so no knock can follow. With
    eleven cards a meld has four or more, and gin is always there besides big gin."""
    rules = preset("big_gin", hand_size=5, knock_limit=0, last_discard="may_knock", stock_floor=40)
    first, second = ids("2c 4d 6h 8s Td"), ids("Kc Kd Kh Qs Js")
    dealt = [card for pair in zip(first, second, strict=True) for card in pair]
    deck = [*dealt, *ids("9c Ts")]
    deck += [card for card in range(52) if card not in deck]
    hand = ReferenceHand(rules, deck, 1)
    state = engine.deal(rules, np.array([deck], dtype=np.uint8), np.array([1]))
    for word in ("pass", "pass", "stock", "discard Ts", "take", "big-gin"):
        if word in ("take", "big-gin"):
            assert hand.legal() == ({"take", "pass"} if word == "take" else {"big-gin"})
        assert (actions.mask(engine.legal(state)) == expected_mask([hand])).all()
        hand.step(word)
        engine.step(state, np.array([actions.parse(word)]))
    assert engine.result(state, 0) == hand.result()
    assert (hand.result()["kind"], hand.result()["points"]) == ("big_gin", 31 + 30)


def test_what_the_reference_refuses() -> None:
    """The reference is a judge only if it turns down what is not legal."""
    rules = preset("classic")
    deck = tree_of("the whole deck")[1]
    hand = ReferenceHand(rules, deck, dealer=1)
    for word in ("stock", "discard As", "knock As", "big-gin", "nonsense"):
        with pytest.raises(ValueError, match="not legal"):
            hand.step(word)
    with pytest.raises(ValueError, match="not over"):
        hand.result()
    hand.step("take")
    assert "discard Qs" not in hand.legal()
    assert len(hand.legal()) == 10
