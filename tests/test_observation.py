"""What a player may see: all of it right, none of it more than he can know."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from test_cases import CASES, EngineHand

from agents import prospects
from agents.random import choose
from ginenv import actions, cards, engine, melds, observation
from ginenv.engine import State
from ginenv.observation import FLAGS, LAYOUT, SCALARS, SIZE
from ginenv.rules import Rules, preset

RULES = {
    "classic": preset(),
    "oklahoma": preset("oklahoma", spade_knock_doubles=True),
    "cardcouch": preset("cardcouch", last_discard="may_knock", tie="draw"),
    "big_gin": preset("big_gin", gin_bonus=300, turn_limit=17),
    "small": preset(num_ranks=5, num_suits=3, hand_size=4, stock_floor=0, knock_limit=6),
}


def part(encoded: np.ndarray, name: str) -> list[int]:
    return encoded[LAYOUT[name]].tolist()


def held(encoded: np.ndarray, name: str) -> set[int]:
    """The ids of the cards in a plane of bits."""
    values = part(encoded, name)
    assert set(values) <= {0, 1}
    return {card for card, value in enumerate(values) if value}


def choose_some(state: State, rng: np.random.Generator) -> np.ndarray:
    """Random legal actions; half of the knocks are left for later, so that hands last."""
    legal = engine.legal(state)
    words = actions.words(legal)
    chosen = choose(words, rng)
    late = (chosen >= actions.KNOCK) & (chosen < actions.STOCK) & (rng.random(len(chosen)) < 0.5)
    some = late & (legal.discards != 0)
    chosen[some] -= actions.KNOCK
    return chosen


def test_the_table_in_the_docs_is_the_layout() -> None:
    text = (Path(__file__).parent.parent / "docs" / "OBSERVATION.md").read_text()
    found = {}
    for first, last, name in re.findall(r"^\| (\d+)(?:-(\d+))? \| `(\w+)` \|", text, re.MULTILINE):
        found[name] = slice(int(first), int(last or first) + 1)
    assert found == prospects.LAYOUT
    assert found.items() >= observation.GAME_LAYOUT.items()
    assert found.items() >= LAYOUT.items()
    assert f"has {SIZE} entries, `{observation.LAYOUT_VERSION}`" in text
    assert f"{observation.GAME_SIZE} entries in all, `{observation.GAME_LAYOUT_VERSION}`" in text
    assert f"{prospects.SIZE:,} in all, `{prospects.LAYOUT_VERSION}`" in text
    assert LAYOUT["stock_floor"].stop == SIZE


class Follower:
    """What the two seats know, kept from public actions in the plainest way."""

    def __init__(self, rules: Rules, deck: list[int], dealer: int) -> None:
        self.rules, self.dealer, self.mover = rules, dealer, 1 - dealer
        size = rules.hand_size
        self.hands = {1 - dealer: set(deck[0 : 2 * size : 2]), dealer: set(deck[1 : 2 * size : 2])}
        self.upcard = deck[2 * size]
        self.pile, self.stock = [self.upcard], deck[2 * size + 1 :]
        self.known: dict[int, set[int]] = {0: set(), 1: set()}
        self.discards: dict[int, list[int]] = {0: [], 1: []}
        self.refused: dict[int, set[int]] = {0: set(), 1: set()}
        self.drawn: int | None = None
        self.taken = False
        self.turn = 0

    def step(self, word: str) -> None:
        me = self.mover
        if word in ("pass", "stock"):
            self.refused[me].add(self.pile[-1])
        if word == "pass":
            self.mover = 1 - me
        elif word == "stock":
            self.drawn, self.taken = self.stock.pop(0), False
            self.hands[me].add(self.drawn)
        elif word == "take":
            self.drawn, self.taken = self.pile.pop(), True
            self.hands[me].add(self.drawn)
            self.known[me].add(self.drawn)
        elif word.startswith("discard"):
            card = cards.parse_card(word.split()[1])
            self.hands[me].remove(card)
            self.known[me].discard(card)
            self.discards[me].append(card)
            self.pile.append(card)
            self.drawn, self.turn, self.mover = None, self.turn + 1, 1 - me

    def check(self, encoded: np.ndarray, seat: int, phase: int, limit: int) -> None:
        other, moves = 1 - seat, self.mover == seat
        thrown = self.discards[other]
        last = [{card} for card in reversed(thrown)] + [set(), set(), set()]
        expected = {
            "hand": self.hands[seat],
            "drawn": {self.drawn} if moves and self.drawn is not None else set(),
            "upcard": set(self.pile[-1:]),
            "buried": set(self.pile[:-1]),
            "opponent_known": self.known[other],
            "own_known": self.known[seat],
            "own_discards": set(self.discards[seat]),
            "opponent_discards": set(thrown),
            "opponent_refused": self.refused[other],
            "opponent_last_discard": last[0],
            "opponent_second_last_discard": last[1],
            "opponent_third_last_discard": last[2],
        }
        assert {name: held(encoded, name) for name in expected} == expected
        rules, stock = self.rules, len(self.stock)
        flags = {
            "to_move": moves,
            "is_dealer": seat == self.dealer,
            "upcard_doubles": rules.spade_upcard_doubles and self.upcard >= 39,
            "drawn_from_pile": moves and self.drawn is not None and self.taken,
            "big_gin_played": rules.big_gin_bonus is not None,
            "spade_knock_doubles": rules.spade_knock_doubles,
            "tie_draws": rules.tie == "draw",
            "last_discard_may_knock": rules.last_discard == "may_knock",
            "upcard_open": rules.first_upcard == "open",
        }
        flags |= {name: FLAGS.index(name) == phase for name in FLAGS[: engine.OVER]}
        assert {name: bool(part(encoded, name)[0]) for name in FLAGS} == flags
        own = np.array([cards.from_ids(sorted(self.hands[seat]))])
        numbers = {
            "stock_left": stock,
            "draws_left": stock - rules.stock_floor,
            "turn": self.turn,
            "turns_left": rules.turn_limit - self.turn,
            "deadwood": int(melds.deadwood(own)[0]),
            "knock_limit": limit,
            "pile_size": len(self.pile),
            "opponent_unknown": len(self.hands[other]) - len(self.known[other]),
            "gin_bonus": min(255, rules.gin_bonus),
            "undercut_bonus": rules.undercut_bonus,
            "big_gin_bonus": rules.big_gin_bonus or 0,
            "stock_floor": rules.stock_floor,
        }
        assert {name: part(encoded, name)[0] for name in SCALARS} == numbers
        after = [0] * 52
        if moves and self.drawn is not None:
            for card in self.hands[seat]:
                rest = np.array([cards.from_ids(sorted(self.hands[seat] - {card}))])
                after[card] = 1 + int(melds.deadwood(rest)[0])
        assert part(encoded, "deadwood_after") == after


@pytest.mark.parametrize("name", RULES)
def test_every_entry_is_what_its_seat_can_know(name: str) -> None:
    rules, rng = RULES[name], np.random.default_rng(3)
    decks, dealers = engine.shuffle(rules, rng, 12), rng.integers(0, 2, 12)
    state = engine.deal(rules, decks, dealers)
    followers = [
        Follower(rules, deck.tolist(), int(dealer))
        for deck, dealer in zip(decks, dealers, strict=True)
    ]
    while not state.over.all():
        for seat in (0, 1):
            encoded = observation.encode(observation.view(state, np.full(12, seat)))
            assert encoded.dtype == np.uint8
            assert encoded.shape == (12, SIZE)
            for lane in (~state.over).nonzero()[0]:
                followers[lane].check(
                    encoded[lane], seat, int(state.phase[lane]), int(state.knock_limit[lane])
                )
        by_mover = observation.encode(observation.view(state))
        named = observation.encode(observation.view(state, state.mover))
        assert np.array_equal(by_mover, named)
        chosen = choose_some(state, rng)
        for lane in (~state.over).nonzero()[0]:
            followers[lane].step(actions.format(int(chosen[lane])))
        engine.step(state, chosen)


@pytest.mark.parametrize("name", RULES)
def test_a_lane_alone_is_told_what_it_is_told_among_others(name: str) -> None:
    rules, rng = RULES[name], np.random.default_rng(5)
    state = engine.deal(rules, engine.shuffle(rules, rng, 30), rng.integers(0, 2, 30))
    while not state.over.all():
        mask = actions.mask(engine.legal(state))
        for seats in (None, np.zeros(30, dtype=int), np.ones(30, dtype=int)):
            together = observation.encode(observation.view(state, seats))
            for lane in range(30):
                one = state.take(np.array([lane]))
                seat = None if seats is None else seats[lane : lane + 1]
                alone = observation.encode(observation.view(one, seat))
                assert np.array_equal(alone[0], together[lane])
                assert np.array_equal(actions.mask(engine.legal(one))[0], mask[lane])
        engine.step(state, choose_some(state, rng))


def hide_otherwise(state: State, seat: int, rng: np.random.Generator) -> State:
    """The same hands with all that ``seat`` cannot know dealt anew."""
    other = state.copy()
    for lane in range(len(state)):
        hidden = int(state.hands[lane, 1 - seat])
        known = hidden & int(state.seen[lane])
        at = int(state.stock_next[lane])
        drawn = int(state.drawn[lane])
        unknown = cards.to_ids(hidden & ~known) + state.deck[lane, at:].tolist()
        mixed = rng.permutation(unknown).tolist()
        count = (hidden & ~known).bit_count()
        other.hands[lane, 1 - seat] = cards.from_ids(mixed[:count]) | np.uint64(known)
        other.deck[lane, at:] = mixed[count:]
        # What the other has drawn is one of his unknown cards, and any of them will do.
        if state.mover[lane] != seat and drawn != cards.NO_CARD and not known >> _bit(drawn) & 1:
            other.drawn[lane] = mixed[0]
    return other


def _bit(card: int) -> int:
    return card // 13 * 16 + card % 13


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("seat", [0, 1])
def test_what_a_seat_cannot_see_changes_nothing_that_it_gets(name: str, seat: int) -> None:
    rules, rng = RULES[name], np.random.default_rng(4)
    lanes = 40
    state = engine.deal(rules, engine.shuffle(rules, rng, lanes), rng.integers(0, 2, lanes))
    seats, changed = np.full(lanes, seat), 0
    while not state.over.all():
        twin = hide_otherwise(state, seat, rng)
        changed += int((twin.hands != state.hands).any(axis=1).sum())
        views = [observation.view(one, seats) for one in (state, twin)]
        for field in dataclasses.fields(views[0]):
            if field.name not in ("rules", "game"):
                first, second = (getattr(view, field.name) for view in views)
                live = ~state.over
                assert np.array_equal(first[live], second[live]), field.name
        live = ~state.over
        assert np.array_equal(*(observation.encode(view)[live] for view in views))
        moves = live & (state.mover == seat)
        masks = [actions.mask(engine.legal(one)) for one in (state, twin)]
        assert np.array_equal(masks[0][moves], masks[1][moves])
        engine.step(state, choose_some(state, rng))
    assert changed > lanes


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case["id"])
        for case in CASES
        if case["kind"] == "flow" and case["action"].startswith("observe(")
    ],
)
def test_a_seat_that_waits_has_its_own_view_and_a_zero_mask(case: dict) -> None:  # type: ignore[type-arg]
    from ginenv import gin_rummy_v0

    shown = re.match(r"observe\((player_[01])\) while (player_[01]) is to move$", case["action"])
    assert shown is not None
    assert set(case["expected"]) == {"player_1_view_has", "mask"}
    watcher, mover = shown.groups()
    hands = case["hands"]
    dealer = int(hands["dealer"][-1])
    own = {seat: cards.parse_list(hands[f"player_{seat}"]).tolist() for seat in (0, 1)}
    deck = [card for pair in zip(own[1 - dealer], own[dealer], strict=True) for card in pair]
    deck += [cards.parse_card(hands["upcard"]), *cards.parse_list(hands["stock_top_first"])]
    deck += [card for card in range(52) if card not in deck]
    env = gin_rummy_v0.env()
    env.reset(options={"deck": deck, "dealer": dealer})
    assert env.agent_selection == mover
    seen = env.observe(watcher)
    assert held(seen["observation"], "hand") == set(own[int(watcher[-1])])
    everything = {c for name in observation.BIT_PLANES for c in held(seen["observation"], name)}
    assert not everything & set(own[int(mover[-1])])
    assert not seen["action_mask"].any()
    assert EngineHand(preset(), deck, dealer).mover == int(mover[-1])
