"""Like simple, with two of its gaps closed; for those who want to see what they are worth.

Of the discards that leave the least deadwood it throws the highest rank, and it takes an upcard
that lets it knock at once. The rest is simple's, after Todd Neller's description for the EAAI 2021
Gin Rummy challenge, http://cs.gettysburg.edu/projects/gin/.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ginenv import actions, cards, engine, melds
from ginenv.actions import Legal
from ginenv.observation import View

_RANK = np.arange(cards.NUM_CARDS, dtype=np.float32) % cards.NUM_RANKS / cards.NUM_RANKS
"""Less than a point of deadwood, so that it only decides among equals."""


class Knocker:
    """Melds greedily, knocks at once, and draws for it."""

    def act(self, view: View, legal: Legal, generator: np.random.Generator) -> NDArray[np.intp]:
        """See :class:`agents.Agent`."""
        chosen = np.empty(len(view), dtype=np.intp)
        throwing = engine.DISCARDING.take(view.phase)
        throws, draws = throwing.nonzero()[0], (~throwing).nonzero()[0]
        chosen[throws] = self._throw(view.hand[throws], legal.take(throws))
        chosen[draws] = self._draw(view, draws, legal.others[draws])
        return chosen

    def _draw(
        self, view: View, lanes: NDArray[np.intp], others: NDArray[np.uint8]
    ) -> NDArray[np.intp]:
        can_take = (others & actions.OTHER_TAKE) != 0
        can_pass = (others & actions.OTHER_PASS) != 0
        chosen = np.where(can_pass, actions.PASS, actions.STOCK)
        upcard = view.upcard_set[lanes]
        hands = view.hand[lanes] | upcard
        takes = (melds.meldable_cards(hands) & upcard) != 0
        left = (can_take & ~takes).nonzero()[0]
        ends = melds.discards_within(hands[left], view.knock_limit[lanes[left]]) & ~upcard[left]
        takes[left] = ends != 0
        chosen[can_take & takes] = actions.TAKE
        return chosen

    def _throw(self, hand: NDArray[np.uint64], legal: Legal) -> NDArray[np.intp]:
        cost = melds.deadwood_after_discard(hand) - _RANK
        cost[cards.bits(legal.discards | legal.knocks) == 0] = np.inf
        card = cost.argmin(axis=1)
        knocks = (cards.BIT[card] & legal.knocks) != 0
        chosen = card + np.where(knocks, actions.KNOCK, actions.DISCARD)
        return np.where(legal.others & actions.OTHER_BIG_GIN, actions.BIG_GIN, chosen)
