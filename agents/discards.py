"""What speaks for a discard and what against it, for many hands at once.

For: what the next draw could make of the ten cards that stay (:func:`savings`). Against: what the
opponent could make of the card thrown (:func:`dangers`). :mod:`agents.expert` weighs them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ginenv import cards, melds
from ginenv.rules import Rules

Sets = NDArray[np.uint64]

PLACES = 64
"""Places in a card set, ``suit * 16 + rank``; arrays by card have a column for each."""
_RANKS = 16
_NO = -100
"""Stands in tables of int8 for what cannot be: no saving makes up for it."""

_U1, _U2, _U16, _U32, _U48 = (np.array(n, dtype=np.uint64) for n in (1, 2, 16, 32, 48))
_SUIT = np.array(cards.SUIT_MASK, dtype=np.uint64)
_BYTE, _TWO_BYTES, _THREE_BYTES = (np.array(n, dtype=np.uint32) for n in (8, 16, 24))
_MASKS = np.arange(1 << cards.NUM_RANKS, dtype=np.uint64)
_POINTS = np.zeros(_RANKS, dtype=np.int8)
_POINTS[: cards.NUM_RANKS] = cards.POINTS[: cards.NUM_RANKS]


def _rows(table: NDArray[np.int_]) -> NDArray[np.complex128]:
    """Rows of 16 small numbers, as one item of 16 bytes each: numpy takes these quickest."""
    return np.ascontiguousarray(table, dtype=np.int8).view(np.complex128).reshape(-1)


def _dearest() -> NDArray[np.uint8]:
    """Points of the dearest card of a mask of ranks, 0 for none."""
    table = np.zeros(len(_MASKS), dtype=np.uint8)
    for rank in range(cards.NUM_RANKS):
        table[1 << rank : 2 << rank] = _POINTS[rank]
    return table


_DEAREST = _dearest()


def _run_tables() -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """What a drawn card melds in runs, by the cards held of its suit and by its rank.

    Points of the held cards that it melds; the same with the dearest card of the suit that is
    then left over. _NO where it joins no run.
    """
    left = cards.points(_MASKS & ~melds.run_cards(_MASKS)).astype(np.int_)
    melded = np.full((len(_MASKS), _RANKS), _NO)
    with_dearest = melded.copy()
    for rank in range(cards.NUM_RANKS):
        drawn = np.uint64(1 << rank)
        hands = _MASKS | drawn
        runs = melds.run_cards(hands)
        rows = ((runs & drawn != 0) & (_MASKS & drawn == 0)).nonzero()[0]
        rest = hands[rows] & ~runs[rows]
        melded[rows, rank] = left[rows] - cards.points(rest)
        with_dearest[rows, rank] = melded[rows, rank] + _DEAREST[rest.view(np.intp)]
    return _rows(melded), _rows(with_dearest)


def _set_tables() -> tuple[NDArray[np.complex128], ...]:
    """By a mask of ranks and a rank: 0 if the mask has it, else _NO; the same with the points of
    two such cards; the dearest of the mask but this one; how much the dearest costs more."""
    bits = 1 << np.arange(_RANKS)
    masks = _MASKS.view(np.intp)[:, None]
    there = np.where(masks & bits, 0, _NO)
    dearest = _DEAREST.astype(np.int_)
    cheaper = np.maximum(dearest[masks] - _POINTS, 0)
    tables = there, there + 2 * _POINTS.astype(np.int_), dearest[masks & ~bits], cheaper
    return tuple(map(_rows, tables))


_RUN_MELDED, _RUN_WITH_DEAREST = _run_tables()
_FOURTH_MELDED, _PAIR_MELDED, _DEAREST_BUT, _CHEAPER = _set_tables()
_SIXTEEN_TIMES = _rows(np.arange(11)[:, None].repeat(_RANKS, axis=1))


def unseen(rules: Rules, hands: Sets, seen: Sets) -> Sets:
    """The cards that are in the stock or, unknown, in the other hand: uint64 [B]."""
    left: Sets = cards.deck_set(rules.num_ranks, rules.num_suits) & ~(hands | seen)
    return left


def _next_suits(sets: Sets) -> tuple[Sets, Sets, Sets]:
    """Each card moved on by one, two and three suits, the last suits to the first."""
    return (
        (sets << _U16) | (sets >> _U48),
        (sets << _U32) | (sets >> _U32),
        (sets << _U48) | (sets >> _U16),
    )


def _ranks(sets: Sets) -> NDArray[np.intp]:
    """The ranks at which any suit has a card, as a mask."""
    folded = sets | (sets >> _U32)
    folded |= folded >> _U16
    folded &= _SUIT
    return folded.view(np.intp)


def by_place(sets: Sets) -> NDArray[np.int8]:
    """1 for each card of a set, [B, PLACES]."""
    bits = np.unpackbits(np.ascontiguousarray(sets).view(np.uint8), bitorder="little")
    return bits.view(np.int8).reshape(len(sets), PLACES)


def shown_sets(hands: Sets) -> Sets:
    """The cards in sets, in an arrangement of least deadwood: uint64 [B]."""
    threes = _in_threes(hands)
    count = np.bitwise_count(threes)
    # Nearly always there is one set of three, to show or not.
    shown = threes * (_left(hands ^ threes) < _left(hands))
    some = (count > 3).nonzero()[0]
    if len(some):
        owner, sets, rest = melds.set_choices(hands[some])
        first = np.searchsorted(owner, np.arange(len(some)))
        ranked = _left(rest) * np.intp(len(owner)) + np.arange(len(owner))
        shown[some] = sets[np.minimum.reduceat(ranked, first) % len(owner)]
    return shown


def _in_threes(sets: Sets) -> Sets:
    """The cards of which there are three or more of the rank."""
    one, two, three = _next_suits(sets)
    found: Sets = sets & ((one & two) | (one & three) | (two & three))
    return found


def _left(hands: Sets) -> NDArray[np.uint8]:
    """Points that runs leave, [B]."""
    return cards.points(hands & ~melds.run_cards(hands))


def savings(kept: Sets, sets: Sets, drawable: Sets) -> NDArray[np.int8]:
    """The deadwood that each draw saves ``kept``, the best discard thrown after it: [B, PLACES].

    ``kept`` are hands that wait for a draw, ``sets`` their cards in sets. A draw saves what it
    melds and the dearest card that is then left over. That melds could be laid otherwise with the
    new card is not looked at: summed over the seven best draws this is exact for nine random hands
    of ten and three good ones of four, mostly a little short for the rest, and many times as quick.
    """
    whole = _in_threes(sets)  # what was a set of three before the discard may be none
    rest = kept ^ whole
    loose = rest & ~melds.run_cards(rest)
    one, two, _ = _next_suits(loose)
    pairs, ranks = _ranks(loose & (one | two)), _ranks(loose)

    by_suit = rest.view(np.uint16)
    dearest = _DEAREST.take(loose.view(np.uint16), mode="clip").view(np.uint32)
    elsewhere = ((dearest << _BYTE) | (dearest >> _THREE_BYTES)).view(np.uint8)
    for up, down in ((_TWO_BYTES, _TWO_BYTES), (_THREE_BYTES, _BYTE)):
        np.maximum(elsewhere, ((dearest << up) | (dearest >> down)).view(np.uint8), out=elsewhere)
    in_run = _RUN_MELDED.take(by_suit, mode="clip").view(np.int8)
    in_run += _SIXTEEN_TIMES.take(elsewhere, mode="clip").view(np.int8)
    np.maximum(in_run, _RUN_WITH_DEAREST.take(by_suit, mode="clip").view(np.int8), out=in_run)
    in_set = _FOURTH_MELDED.take(_ranks(whole)).view(np.int8)
    np.maximum(in_set, _PAIR_MELDED.take(pairs).view(np.int8), out=in_set)
    in_set += _DEAREST_BUT.take(ranks).view(np.int8)
    # What joins nothing may stay for a dearer card.
    np.maximum(in_set, _CHEAPER.take(ranks).view(np.int8), out=in_set)
    saved = in_set.view(np.complex128).repeat(cards.NUM_SUITS).view(np.int8)
    np.maximum(saved, in_run, out=saved)
    saved *= by_place(drawable).reshape(-1)
    return saved.reshape(len(kept), PLACES)


class Dangers(NamedTuple):
    """Of the six melds of three that a card can complete with two others (three sets, three
    runs), those that the opponent could have the two others of: int8 [B, PLACES] each."""

    held: NDArray[np.int8]
    """He was seen to take both."""
    near: NDArray[np.int8]
    """He was seen to take one, and the other is unseen."""
    open: NDArray[np.int8]
    """Both are unseen."""


def dangers(hidden: Sets, known: Sets) -> Dangers:
    """What each card could do for an opponent who holds ``known``; ``hidden`` are unseen."""
    open_ = completed(hidden)
    held, near = np.zeros_like(open_), np.zeros_like(open_)
    some = (known != 0).nonzero()[0]
    if len(some):
        held[some] = completed(known[some])
        near[some] = completed(hidden[some] | known[some]) - open_[some] - held[some]
    return Dangers(held, near, open_)


def completed(sets: Sets) -> NDArray[np.int8]:
    """How many melds of three each card would make with two of these, [B, PLACES]."""
    one, two, three = _next_suits(sets)
    below, above = sets << _U1, sets >> _U1
    count = by_place(one & two)
    for pair in (
        one & three,
        two & three,
        below & above,
        below & (sets << _U2),
        above & (sets >> _U2),
    ):
        count += by_place(pair)
    return count
