"""The yardstick of the EAAI 2021 Gin Rummy challenge, from its published description.

It takes the upcard only if that becomes part of a meld, throws a card that leaves the least
deadwood (ties at random) and knocks as soon as it may. Source: Todd Neller's undergraduate
research challenge, http://cs.gettysburg.edu/projects/gin/, "SimpleGinRummyPlayer". One thing is
left out: that player never repeats a pair of draw and discard; here the turn limit ends such
loops.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ginenv import actions, cards, engine, melds
from ginenv.actions import Legal
from ginenv.observation import View


class Simple:
    """Melds greedily, knocks at once."""

    def act(self, view: View, legal: Legal, generator: np.random.Generator) -> NDArray[np.intp]:
        """See :class:`agents.Agent`."""
        chosen = np.empty(len(view), dtype=np.intp)
        throwing = engine.DISCARDING.take(view.phase)
        throws = throwing.nonzero()[0]
        chosen[throws] = self._throw(view.hand[throws], legal.take(throws), generator)
        draws = (~throwing).nonzero()[0]
        chosen[draws] = self._draw(view.hand[draws], view.upcard_set[draws], legal.others[draws])
        return chosen

    def _draw(
        self, hand: NDArray[np.uint64], upcard: NDArray[np.uint64], others: NDArray[np.uint8]
    ) -> NDArray[np.intp]:
        melded = (melds.meldable_cards(hand | upcard) & upcard) != 0
        take = (others & actions.OTHER_TAKE) != 0
        can_pass = (others & actions.OTHER_PASS) != 0
        refuse = np.where(can_pass, actions.PASS, actions.STOCK)
        return np.where(take & melded, actions.TAKE, refuse)

    def _throw(
        self, hand: NDArray[np.uint64], legal: Legal, generator: np.random.Generator
    ) -> NDArray[np.intp]:
        after = melds.deadwood_after_discard(hand).astype(np.float32)
        playable = cards.bits(legal.discards | legal.knocks)
        after[playable == 0] = np.inf
        card = (after + generator.random(after.shape, dtype=np.float32)).argmin(axis=1)
        knocks = (cards.BIT[card] & legal.knocks) != 0
        chosen = card + np.where(knocks, actions.KNOCK, actions.DISCARD)
        return np.where(legal.others & actions.OTHER_BIG_GIN, actions.BIG_GIN, chosen)

    def probabilities(self, view: View, legal: Legal) -> NDArray[np.float64]:
        """How likely each action is, [B, 108]: even among the discards that leave least."""
        chances = np.zeros((len(view), actions.NUM_ACTIONS))
        throwing = engine.DISCARDING.take(view.phase)
        throws, draws = throwing.nonzero()[0], (~throwing).nonzero()[0]
        drawn = self._draw(view.hand[draws], view.upcard_set[draws], legal.others[draws])
        chances[draws, drawn] = 1
        if len(throws):
            chances[throws] = self._throws(view.hand[throws], legal.take(throws))
        return chances

    def _throws(self, hand: NDArray[np.uint64], legal: Legal) -> NDArray[np.float64]:
        after = melds.deadwood_after_discard(hand).astype(np.float64)
        after[cards.bits(legal.discards | legal.knocks) == 0] = np.inf
        least = after == after.min(axis=1, keepdims=True)
        knocks = least & (cards.bits(legal.knocks) == 1)
        others = np.zeros((len(hand), actions.NUM_ACTIONS - actions.STOCK))
        likely = np.concatenate([least & ~knocks, knocks, others], axis=1)
        big_gin = (legal.others & actions.OTHER_BIG_GIN) != 0
        likely[big_gin] = np.arange(actions.NUM_ACTIONS) == actions.BIG_GIN
        return likely / likely.sum(axis=1, keepdims=True)
