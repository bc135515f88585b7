"""What a trained policy reads: the observation, and what the hand could become.

A network can find out what a draw would make of ten cards only from very many hands, and who waits
for gin without knowing it throws the wrong cards. So it is told, for each discard and for the hand
as it stands, how many unseen cards would help and by how much, and what the opponent could make of
a card. All follows from what the player sees (:class:`ginenv.observation.View`); the savings are
those of :func:`agents.discards.savings`, which looks at melds as they lie.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents import discards
from ginenv import cards, engine, melds, observation
from ginenv.observation import View

LAYOUT_VERSION = "ginenv-prospects/1"
"""Changes whenever LAYOUT or what stands in it does: a policy is good for one layout only."""

PLANES = ("gin", "helpful", "very_helpful", "promise", "draw", "held", "near", "open")
"""Card planes of 52 numbers, by card id. Of a discard: the unseen cards that would give gin after
it; those that would save a point or more; ten or more; the promise of the best draws, 8 to a point.
Of a draw, before it: the points it saves. Of any card: see :class:`agents.discards.Dangers`.

Before the draw, discards are those from the hand with the upcard, as if it were taken."""

NUMBERS = (
    *("stands_gin", "stands_helpful", "stands_very_helpful", "stands_promise"),
    *("least", "least_gin", "least_promise", "most_gin"),
)
"""Single numbers: the same of the ten cards before a draw, 0 while he discards; then the least
deadwood that a discard leaves, what that discard has in ``gin`` and ``promise``, and the most that
any has in ``gin``."""

LAYOUT = observation.GAME_LAYOUT | {
    **{
        name: slice(start, start + cards.NUM_CARDS)
        for name, start in zip(
            PLANES,
            range(observation.GAME_SIZE, observation.GAME_SIZE + 52 * len(PLANES), 52),
            strict=True,
        )
    },
    **{
        name: slice(start, start + 1)
        for start, name in enumerate(NUMBERS, observation.GAME_SIZE + 52 * len(PLANES))
    },
}
"""Where each part is. While a player may draw, ``deadwood_after`` holds what stands in it while he
discards, of the hand with the upcard."""

SIZE = LAYOUT[NUMBERS[-1]].stop

_DEADWOOD_AFTER = LAYOUT["deadwood_after"]
_FIRST, _FIRST_NUMBER = observation.GAME_SIZE, LAYOUT[NUMBERS[0]].start
_FADING = 0.55
"""How much each of the best draws counts beside the one before it in ``promise``."""
_STEPS = 8
_VERY_HELPFUL = 10
_SAVED = (*range(1, 11), *range(12, 31, 2))
"""Savings at which draws are counted for the promise; more than the last counts as that."""
_ALL_GIN = 16
"""Stands for "any card" where a hand without deadwood waits for one."""
_AT_ONCE = 1024
"""Lanes; with all that is worked out for their discards they stay in a core's cache."""


def encode(known: View) -> NDArray[np.uint8]:
    """What the networks read, uint8 [B, SIZE], laid out as LAYOUT says."""
    out = np.zeros((len(known), SIZE), np.uint8)
    out[:, :_FIRST] = observation.encode_game(known)
    for start in range(0, len(known), _AT_ONCE):
        _add(known, out, slice(start, start + _AT_ONCE))
    return out


def _add(known: View, out: NDArray[np.uint8], lanes: slice) -> None:
    hand, seen = known.hand[lanes], known.seen[lanes]
    throwing = engine.DISCARDING.take(known.phase[lanes])
    upcard = np.where(throwing, np.uint8(cards.NO_CARD), known.upcard[lanes])
    drawn = np.where(throwing, known.drawn[lanes], upcard)
    unseen = discards.unseen(known.rules, hand, seen)
    part = out[lanes]
    # A view of each part: planes [B, 8, 52], numbers [B, 8].
    planes = part[:, _FIRST:_FIRST_NUMBER].reshape(len(hand), len(PLANES), cards.NUM_CARDS)
    numbers = part[:, _FIRST_NUMBER:]

    held = hand | cards.BIT_OR_NONE.take(upcard)
    after = melds.deadwood_after_discard(held)
    # What was taken from the pile may not be thrown back at once.
    kept_back = cards.BIT_OR_NONE.take(drawn) & (seen | cards.BIT_OR_NONE.take(upcard))
    row, card = cards.bits(held & ~kept_back).nonzero()
    bit, left = cards.BIT.take(card), after[row, card]
    sets = discards.shown_sets(held)
    saved = discards.savings(held[row] ^ bit, sets[row] & ~bit, unseen[row])
    of_discards = _prospects(saved, left)
    for plane, values in enumerate(of_discards):
        planes[row, plane, card] = values
    waits = (~throwing).nonzero()[0]
    part[waits, _DEADWOOD_AFTER] = _one_more(after[waits])
    _best(numbers, row, left, of_discards)

    stands = hand[waits]
    drawable = unseen[waits] | cards.BIT_OR_NONE.take(upcard[waits])
    saved = discards.savings(stands, discards.shown_sets(stands), drawable)
    planes[waits, PLANES.index("draw")] = _by_card(saved)
    saved = saved * discards.by_place(unseen[waits])
    for column, values in enumerate(_prospects(saved, melds.deadwood(stands))):
        numbers[waits, column] = values

    first = PLANES.index("held")
    for plane, counts in enumerate(discards.dangers(unseen, known.opponent_known[lanes]), first):
        planes[:, plane] = _by_card(counts)


def _prospects(saved: NDArray[np.int8], left: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
    """``gin``, ``helpful``, ``very_helpful`` and ``promise`` of N hands that wait for a draw.

    ``saved`` [N, discards.PLACES] by each draw, ``left`` [N] their deadwood.
    """
    gin = _count(saved >= left.astype(np.int8)[:, None])
    counts = {points: _count(saved >= np.int8(points)) for points in _SAVED}
    promise, below = np.zeros(len(saved), np.float32), 0
    # The n-th best draw weighs (1 - f) f^(n-1), and n of them 1 - f^n.
    weight = (_STEPS * (1 - _FADING ** np.arange(discards.PLACES + 1))).astype(np.float32)
    for points in _SAVED:
        promise += weight.take(counts[points]) * np.float32(points - below)
        below = points
    gin = np.where(left == 0, np.uint8(_ALL_GIN), gin)
    return [gin, counts[1], counts[_VERY_HELPFUL], promise.astype(np.uint8)]


def _count(which: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """How many of each row, [N, 64] -> [N]."""
    return np.bitwise_count(np.packbits(which).view(np.uint64))


def _best(
    numbers: NDArray[np.uint8],
    row: NDArray[np.intp],
    left: NDArray[np.uint8],
    of_discards: list[NDArray[np.uint8]],
) -> None:
    """Write ``least`` and what follows it; rows ascend."""
    if not len(row):
        return
    gin, _, _, promise = of_discards
    first = np.flatnonzero(np.diff(row, prepend=-1))
    lanes, column = row[first], NUMBERS.index("least")
    # The smallest of deadwood x 256 + place among the lane's discards.
    place = np.arange(len(row)) - np.repeat(first, np.diff(first, append=len(row)))
    best = first + np.minimum.reduceat(left.astype(np.intp) * 256 + place, first) % 256
    numbers[lanes, column] = left[best]
    numbers[lanes, column + 1] = gin[best]
    numbers[lanes, column + 2] = promise[best]
    numbers[lanes, column + 3] = np.maximum.reduceat(gin, first)


def _one_more(after: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """1 + deadwood, 0 for cards not held."""
    return np.where(after < melds.NOT_HELD, after + np.uint8(1), np.uint8(0))


def _by_card(places: NDArray[np.int8]) -> NDArray[np.uint8]:
    """[B, discards.PLACES] -> [B, 52]."""
    ranks = discards.PLACES // cards.NUM_SUITS
    suits = places.view(np.uint8).reshape(len(places), cards.NUM_SUITS, ranks)
    return suits[:, :, : cards.NUM_RANKS].reshape(len(places), cards.NUM_CARDS)
