"""The level of the winner of the EAAI 2021 Gin Rummy challenge, from what was published of it.

It takes the upcard only if that ends in a meld and lowers its deadwood. It throws the loose card,
among those within a few points of the dearest, that leaves the least of three things together:
deadwood; deadwood after the next draws that help most, which counts less as the hand goes on; and
danger, what the opponent could do with the card. It knocks in its first turns only; after them it
waits for gin, and takes the knocks of the impatient as undercuts.

Source: Todd Neller and others, the Gin Rummy undergraduate research challenge of EAAI 2021,
http://cs.gettysburg.edu/projects/gin/. The ideas are from there; the weights are this project's,
by duplicate deals (docs/LOG.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agents import discards
from ginenv import actions, cards, engine, melds
from ginenv.actions import Legal
from ginenv.observation import View

_NEVER = 255
"""Deadwood after throwing what was taken this turn, which may not be."""
_AT_ONCE = 1536
"""Lanes; more do not stay in a core's cache with all that is worked out for their discards."""
_PLACE = np.arange(cards.NUM_CARDS) // cards.NUM_RANKS * 16 + np.arange(52) % cards.NUM_RANKS


@dataclass(frozen=True, slots=True)
class Weights:
    """What the cost of a discard is made of."""

    deadwood: float = 1.0
    """A point of deadwood that stays."""
    promise: float = 1.0
    """A point of deadwood after a helpful draw, in the first turn."""
    decay: float = 0.9
    """What the weight of promise is multiplied by from turn to turn."""
    draws: int = 7
    """How many draws, the most helpful ones, make up the promise."""
    fading: float = 1.0
    """How much each of these counts beside the one before it; 1: all alike."""
    margin: int = 5
    """How many points less than the dearest loose card one may have that is considered."""
    held: float = 20.0
    """Danger: the card is known to complete a meld for the opponent."""
    near: float = 2.0
    """Danger: each meld that it completes if he has one unseen card beside one he was seen to
    take."""
    open: float = 0.5
    """Danger: each meld that it completes if he has two unseen cards. A dead card has none."""

    def of_draws(self) -> NDArray[np.float32]:
        """The weights of the draws, the most helpful one last; their sum is 1."""
        weights = self.fading ** np.arange(self.draws)[::-1]
        return (weights / weights.sum()).astype(np.float32)


PUBLISHED = Weights()
SEARCHED = Weights(deadwood=0.4, promise=9.0, draws=12, fading=0.55, open=0.8)
"""Found by a random search over these numbers, against simple and against expert with three windows
of knocks (none, 1 to 3, 1 to 5)."""


class Expert:
    """Knocks in its own turns up to ``last_knock``, and after them waits for gin."""

    def __init__(self, last_knock: int = 3, weights: Weights = PUBLISHED) -> None:
        self.last_knock = last_knock
        self.weights = weights
        self._draws = weights.of_draws()

    def act(self, view: View, legal: Legal, generator: np.random.Generator) -> NDArray[np.intp]:
        """See :class:`agents.Agent`."""
        chosen = np.empty(len(view), dtype=np.intp)
        throwing = engine.DISCARDING.take(view.phase)
        throws, draws = throwing.nonzero()[0], (~throwing).nonzero()[0]
        for start in range(0, len(throws), _AT_ONCE):
            some = throws[start : start + _AT_ONCE]
            chosen[some] = self._throw(view, some, legal.take(some))
        if len(draws):
            chosen[draws] = self._draw(view, draws, legal.others[draws])
        return chosen

    def _draw(
        self, view: View, lanes: NDArray[np.intp], others: NDArray[np.uint8]
    ) -> NDArray[np.intp]:
        hand, upcard = view.hand[lanes], view.upcard[lanes]
        bit = cards.BIT_OR_NONE[upcard]
        can_pass = (others & actions.OTHER_PASS) != 0
        chosen = np.where(can_pass, actions.PASS, actions.STOCK)
        may = ((others & actions.OTHER_TAKE) != 0) & (melds.meldable_cards(hand | bit) & bit != 0)
        some = may.nonzero()[0]
        if len(some):
            # Who takes the last discard of a hand must knock: for that it has to be gin.
            last = can_pass[some] & (view.turn[lanes[some]] > 0)
            takes = _helps(hand[some], upcard[some], last)
            chosen[some[takes]] = actions.TAKE
        return chosen

    def _throw(self, view: View, lanes: NDArray[np.intp], legal: Legal) -> NDArray[np.intp]:
        hand = view.hand[lanes]
        deadwood, after = melds.deadwood_and_after_discard(hand)
        drawn = view.drawn[lanes]
        taken = (cards.BIT_OR_NONE[drawn] & view.seen[lanes]).nonzero()[0]
        after[taken, drawn[taken]] = _NEVER
        best = after.argmin(axis=1)
        least = after[np.arange(len(best)), best]
        bit = cards.BIT[best]
        must = legal.discards == 0
        may = (bit & legal.knocks) != 0
        ends = may & (must | (least == 0))
        asked = (may & ~ends).nonzero()[0]
        if len(asked):
            kept = hand[asked] ^ bit[asked]
            ends[asked] = self._knocks(view, lanes[asked], kept, least[asked])
        chosen = best + actions.KNOCK
        goes_on = (~(ends | must)).nonzero()[0]
        if len(goes_on):
            at = (deadwood[goes_on], after[goes_on], least[goes_on])
            chosen[goes_on] = self._discard(view, lanes[goes_on], *at)
        return np.where(legal.others & actions.OTHER_BIG_GIN, actions.BIG_GIN, chosen)

    def _knocks(
        self, view: View, lanes: NDArray[np.intp], kept: discards.Sets, deadwood: NDArray[np.uint8]
    ) -> NDArray[np.bool_]:
        """Whether to knock on these lanes, with ``deadwood`` above 0 in ``kept``."""
        return own_turn(view)[lanes] <= self.last_knock

    def _discard(
        self,
        view: View,
        lanes: NDArray[np.intp],
        deadwood: NDArray[np.uint8],
        after: NDArray[np.uint8],
        least: NDArray[np.uint8],
    ) -> NDArray[np.intp]:
        """The card to throw: ``after`` each of them, [B, 52], this deadwood stays."""
        weights = self.weights
        # No melded card is considered, as throwing it leaves more than there is now.
        limit = np.minimum(least + np.uint8(weights.margin), np.maximum(deadwood, least))
        row, card = (after <= limit[:, None]).nonzero()
        hand, known = view.hand[lanes], view.opponent_known[lanes]
        unseen = discards.unseen(view.rules, hand, view.seen[lanes])
        bit, left = cards.BIT[card], after[row, card].astype(np.float32)

        sets = discards.shown_sets(hand)
        saved = discards.savings(hand[row] ^ bit, sets[row] & ~bit, unseen[row]).astype(np.int16)
        saved.sort(axis=1)
        promised = saved[:, -weights.draws :] @ self._draws
        promise = weights.promise * weights.decay ** (own_turn(view)[lanes] - 1.0)
        cost = weights.deadwood * left + promise[row] * (left - promised)

        at = row * discards.PLACES + _PLACE[card]
        held, near, open_ = (each.reshape(-1)[at] for each in discards.dangers(unseen, known))
        cost += weights.held * (held > 0) + weights.near * near + weights.open * open_

        table = np.full(after.shape, np.inf, dtype=np.float32)
        table[row, card] = cost
        return table.argmin(axis=1)


def expert_k5() -> Expert:
    """Expert that knocks up to its turn 5 and throws more for what a hand could become."""
    return Expert(last_knock=5, weights=SEARCHED)


def own_turn(view: View) -> NDArray[np.uint8]:
    """Which of his own turns it is, from 1, [B]."""
    return view.turn // 2 + 1


def _helps(
    hands: discards.Sets, upcard: NDArray[np.uint8], gin_only: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Whether the upcard ends in a meld and lowers the deadwood (or gives gin), [B]."""
    bit = cards.BIT[upcard]
    lanes = np.arange(len(hands))
    after = melds.deadwood_after_discard(hands | bit)
    after[lanes, upcard] = _NEVER
    best = after.argmin(axis=1)
    least = after[lanes, best]
    # In a meld if the hand is worse without it than by its own points.
    without = melds.deadwood(hands & ~cards.BIT[best])
    helps = (least < melds.deadwood(hands)) & (least < without + cards.POINTS[upcard])
    return helps & (~gin_only | (least == 0))
