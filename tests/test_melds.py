"""Melds, deadwood, the knocker's arrangement and lay-offs: the fast functions against
``reference``, which tries everything. Seeds are fixed; half of the hands are rich in melds,
because in plain random hands the hard choices between melds hardly occur."""

from __future__ import annotations

import random

import numpy as np
import pytest
import reference
from reference import SUITS, card_id, is_meld

from ginenv import actions, cards, engine, melds
from ginenv.rules import preset

DECK = range(52)
NOT_IN_HAND = 128
NUM_HANDS = 6_000
NUM_KNOCKS = 2_500


def rich_hand(rng: random.Random, size: int, pool: list[int]) -> list[int]:
    """Cards of the pool, most of them in or next to random sets and runs."""
    hand: set[int] = set()
    free = set(pool)
    while len(hand) < size:
        draw = rng.random()
        if draw < 0.4:
            rank = rng.randrange(13)
            suits = rng.sample(range(4), rng.choice([3, 3, 4]))
            hand.update({suit * 13 + rank for suit in suits} & free)
        elif draw < 0.8:
            length = rng.randint(3, 6)
            low = rng.randrange(4) * 13 + rng.randrange(14 - length)
            hand.update(set(range(low, low + length)) & free)
        else:
            hand.add(rng.choice(pool))
    return rng.sample(sorted(hand), size)


def many_hands(seed: int, size: int) -> list[list[int]]:
    """Random hands and, as many again, rich ones."""
    rng = random.Random(seed)
    plain = [rng.sample(DECK, size) for _ in range(NUM_HANDS)]
    return plain + [rich_hand(rng, size, list(DECK)) for _ in range(NUM_HANDS)]


def as_sets(hands: list[list[int]]) -> np.ndarray:
    return np.array([cards.from_ids(hand) for hand in hands], dtype=np.uint64)


def ids_of(card_set: int | np.uint64) -> list[int]:
    return cards.to_ids(card_set)


def as_tuples(sets: np.uint64, runs: np.uint64) -> list[tuple[int, ...]]:
    """The melds that a fast answer stands for, as the reference writes them."""
    return [tuple(ids_of(meld)) for meld in melds.split(int(sets), int(runs))]


@pytest.mark.parametrize("size", [10, 11])
def test_least_deadwood_is_that_of_the_best_of_all_arrangements(size: int) -> None:
    hands = many_hands(100 + size, size)
    fast = melds.deadwood(as_sets(hands))
    slow = np.array([reference.least_deadwood(hand) for hand in hands])
    wrong = np.flatnonzero(fast != slow)
    assert not len(wrong), reference.names(hands[wrong[0]])


@pytest.mark.parametrize("size", [3, 4, 5, 6, 7, 8, 9])
def test_least_deadwood_of_short_hands(size: int) -> None:
    hands = many_hands(200 + size, size)[:: NUM_HANDS // 250]
    fast = melds.deadwood(as_sets(hands))
    assert fast.tolist() == [reference.least_deadwood(hand) for hand in hands]


def test_deadwood_after_each_discard_of_eleven_cards() -> None:
    hands = many_hands(311, 11)
    fast = melds.deadwood_after_discard(as_sets(hands))
    assert fast.shape == (len(hands), 52)
    for hand, row in zip(hands, fast, strict=True):
        slow = {card: reference.deadwood_after(hand, card) for card in hand}
        assert {card: int(row[card]) for card in hand} == slow, reference.names(hand)
        assert (row >= NOT_IN_HAND).sum() == 41, reference.names(hand)


@pytest.mark.parametrize("size", [3, 4, 5, 8, 10])
def test_deadwood_after_each_discard_of_short_hands(size: int) -> None:
    hands = many_hands(320 + size, size)[:: NUM_HANDS // 150]
    fast = melds.deadwood_after_discard(as_sets(hands))
    for hand, row in zip(hands, fast, strict=True):
        slow = {card: reference.deadwood_after(hand, card) for card in hand}
        assert {card: int(row[card]) for card in DECK if row[card] < NOT_IN_HAND} == slow


def test_discards_do_without_the_card_rather_than_subtract_it() -> None:
    """The reference's own short cut: what is left of the eleven is arranged anew."""
    for hand in many_hands(331, 11)[:: NUM_HANDS // 300]:
        for card in hand:
            rest = set(hand) - {card}
            assert reference.deadwood_after(hand, card) == reference.least_deadwood(rest)


def test_cards_in_a_row_of_two_suits_or_round_the_corner_are_no_meld() -> None:
    hands = ["Qc Kc Ad", "Qs Ks As", "Kc Ac 2c", "Kc Ad 2d", "Ac Ad", "Ac Ad Ah As", "Qc Kc Jc"]
    expected = [21, 21, 13, 13, 2, 0, 0]
    assert melds.deadwood(np.array([cards.parse(h) for h in hands])).tolist() == expected
    assert [reference.least_deadwood(reference.ids(hand)) for hand in hands] == expected


def test_a_batch_of_none_and_of_one() -> None:
    one = np.array([cards.parse("Ac 2c 3c Kd")])
    assert melds.deadwood(one).tolist() == [10]
    assert melds.deadwood(one[:0]).shape == (0,)
    assert melds.deadwood_after_discard(one[:0]).shape == (0, 52)


Knock = tuple[list[int], int, list[int], list[int]]
"""The knocker's eleven, the card he throws, the defender's ten, the face-up cards."""


def many_knocks(seed: int, count: int, deadwood: range) -> list[Knock]:
    """Knocks with such deadwood against defenders of four kinds: random; rich in melds; holding
    many cards that fit the knocker's melds; both of the last."""
    rng = random.Random(seed)
    knocks: list[Knock] = []
    while len(knocks) < count:
        eleven = rich_hand(rng, 11, list(DECK))
        throws = [c for c in eleven if reference.deadwood_after(eleven, c) in deadwood]
        if not throws:
            continue
        rest = [card for card in DECK if card not in eleven]
        kind = len(knocks) % 4
        defender = rich_hand(rng, 10, rest) if kind in (1, 3) else rng.sample(rest, 10)
        if kind >= 2:
            shown = reference.best_arrangements(eleven)[0]
            fits = sorted(reference.could_be_laid_off(shown, rest))
            chosen = dict.fromkeys([*rng.sample(fits, min(len(fits), 5)), *defender])
            defender = list(chosen)[:10]
        pile = [card for card in rest if card not in defender]
        pile = rng.sample(pile, rng.choice([0, 1, 5, 20]))
        knocks.append((eleven, rng.choice(throws), defender, pile))
    return knocks


def test_the_knocker_shows_the_melds_onto_which_least_could_be_laid_off() -> None:
    knocks = many_knocks(401, NUM_KNOCKS, range(11))
    tens = [[card for card in eleven if card != thrown] for eleven, thrown, _, _ in knocks]
    maybe = [
        [card for card in DECK if card not in eleven and card not in pile]
        for eleven, _, _, pile in knocks
    ]
    sets, runs = melds.knocker_arrangement(as_sets(tens), as_sets(maybe))
    choices = 0
    for lane, ten in enumerate(tens):
        slow = list(reference.knocker_arrangement(ten, maybe[lane]))
        assert as_tuples(sets[lane], runs[lane]) == slow, (
            f"{reference.names(ten)}; maybe {reference.names(maybe[lane])}"
        )
        choices += len(reference.best_arrangements(ten)) > 1
    assert choices > 200


def test_what_may_be_in_the_defenders_hand_decides_between_equal_arrangements() -> None:
    """The 3x3 grid: three sets or three runs, whichever leaves fewer points to lay off."""
    ten = reference.ids("5s 6s 7s 5h 6h 7h 5d 6d 7d Ac")
    unseen = set(DECK) - set(ten)
    beside_runs = {card_id(rank + suit) for rank in "48" for suit in "dhs"}
    as_sets_of = [tuple(reference.ids(f"{rank}d {rank}h {rank}s")) for rank in "567"]
    as_runs_of = [tuple(reference.ids(f"5{suit} 6{suit} 7{suit}")) for suit in "dhs"]
    for maybe, shown in ((unseen, as_sets_of), (unseen - beside_runs, as_runs_of)):
        sets, runs = melds.knocker_arrangement(as_sets([ten]), as_sets([sorted(maybe)]))
        assert as_tuples(sets[0], runs[0]) == shown


def test_melds_are_told_apart_from_the_cards_in_sets_and_in_runs() -> None:
    """Long runs are written as the order has it: three, three and the rest."""
    parse = cards.parse
    assert melds.split(0, 0) == []
    run = int(parse("2h 3h 4h 5h 6h 7h 8h 9h Th Jh"))
    parts = [cards.format(meld) for meld in melds.split(0, run)]
    assert parts == ["2h 3h 4h", "5h 6h 7h", "8h 9h Th Jh"]
    sets = int(parse("Ac Ad As Kc Kd Kh Ks"))
    parts = [cards.format(meld) for meld in melds.split(sets, int(parse("Jc Qc Tc")))]
    assert parts == ["Ac Ad As", "Tc Jc Qc", "Kc Kd Kh Ks"]


def test_lay_offs_and_own_melds_are_chosen_together() -> None:
    knocks = many_knocks(402, NUM_KNOCKS, range(1, 11))
    shown, set_cards, run_cards, defenders = [], [], [], []
    for eleven, thrown, defender, pile in knocks:
        ten = [card for card in eleven if card != thrown]
        maybe = [card for card in DECK if card not in eleven and card not in pile]
        arrangement = reference.knocker_arrangement(ten, maybe)
        same_rank = [meld for meld in arrangement if len({card % 13 for card in meld}) == 1]
        in_runs = [meld for meld in arrangement if meld not in same_rank]
        shown.append(arrangement)
        set_cards.append([card for meld in same_rank for card in meld])
        run_cards.append([card for meld in in_runs for card in meld])
        defenders.append(defender)
    fast = melds.lay_off(as_sets(defenders), as_sets(set_cards), as_sets(run_cards))
    chains = broken = 0
    for lane, (defender, melds_shown) in enumerate(zip(defenders, shown, strict=True)):
        own, laid_off, left = reference.lay_off(defender, melds_shown)
        answer = (
            as_tuples(fast.sets[lane], fast.runs[lane]),
            ids_of(fast.layoffs[lane]),
            ids_of(fast.left[lane]),
        )
        assert answer == (list(own), laid_off, left), (
            f"{reference.names(defender)} against {[reference.names(m) for m in melds_shown]}"
        )
        chains += len(laid_off) > 2
        alone = reference.lay_off(defender, ())[2]
        broken += not set(left) <= set(alone)
    assert chains > 100, "too few knocks with several lay-offs to be a test"
    assert broken > 5, "too few defenders who break up a meld of theirs to be a test"


def test_nothing_is_laid_off_on_no_melds() -> None:
    defenders = many_hands(410, 10)[:: NUM_HANDS // 250]
    none = np.zeros(len(defenders), dtype=np.uint64)
    fast = melds.lay_off(as_sets(defenders), none, none)
    assert not fast.layoffs.any()
    for lane, hand in enumerate(defenders):
        own, _, left = reference.lay_off(hand, ())
        assert (as_tuples(fast.sets[lane], fast.runs[lane]), ids_of(fast.left[lane])) == (
            list(own),
            left,
        )


def test_the_references_own_melds_are_melds() -> None:
    """Sets of one rank, runs of one suit; 44 sets of three, 13 of four, and 66 runs a suit."""
    found = reference.melds_in(DECK)
    assert len(found) == len(set(found)) == 13 * 5 + 66 * len(SUITS)
    assert all(is_meld(meld) for meld in found)


@pytest.mark.parametrize("limit", [0, 10])
def test_knocks_end_the_hand_in_the_engine_as_in_the_reference(limit: int) -> None:
    """Dealt and played: melds, lay-offs, deadwoods and points of each knock, gin and undercut."""
    rules = preset("classic", knock_limit=limit, spade_knock_doubles=True)
    knocks = many_knocks(420 + limit, 2_000 if limit else 300, range(limit + 1))
    rng = random.Random(7)
    decks, dealers, throws = [], [], []
    for lane, (eleven, thrown, defender, pile) in enumerate(knocks):
        drawn = rng.choice(eleven)
        ten = [card for card in eleven if card != drawn]
        others = [card for card in DECK if card not in eleven and card not in defender]
        upcard = pile[0] if pile else others[-1]
        rest = [card for card in others if card != upcard]
        rng.shuffle(rest)
        dealt = [card for pair in zip(ten, defender, strict=True) for card in pair]
        decks.append([*dealt, upcard, drawn, *rest])
        dealers.append(lane % 2)
        throws.append(f"knock {reference.name(thrown)}")
    state = engine.deal(rules, np.array(decks, dtype=np.uint8), np.array(dealers))
    for word in ("pass", "pass", "stock"):
        engine.step(state, np.full(len(decks), actions.parse(word)))
    engine.step(state, np.array([actions.parse(word) for word in throws]))
    assert state.over.all()
    kinds = set()
    for lane, deck in enumerate(decks):
        hand = reference.ReferenceHand(rules, deck, dealers[lane])
        for word in ("pass", "pass", "stock", throws[lane]):
            hand.step(word)
        assert engine.result(state, lane) == hand.result(), " ".join(map(reference.name, deck))
        kinds.add(hand.result()["kind"])
    assert kinds == ({"gin", "knock", "undercut"} if limit else {"gin"})


def test_hands_may_lie_apart_in_memory_or_be_plain_numbers() -> None:
    rows = [[cards.parse("Ac 2c 3c Kd"), 0], [cards.parse("9s 9h"), 0]]
    pairs = np.array(rows, dtype=np.uint64)
    assert melds.deadwood(pairs[:, 0]).tolist() == [10, 18]
    assert melds.deadwood([int(hand) for hand in pairs[:, 0]]).tolist() == [10, 18]
    after = melds.deadwood_after_discard(pairs[:, 0])
    assert after[0, cards.parse_card("Kd")] == 0
    assert after[1, cards.parse_card("9s")] == 9
    assert cards.points(pairs[:, 0]).tolist() == [16, 18]
    assert cards.bits(pairs[:, 0]).sum(axis=1).tolist() == [4, 2]
    assert melds.deadwood(np.array([], dtype=np.uint64)).tolist() == []
