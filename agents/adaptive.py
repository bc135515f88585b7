"""Expert that asks at each chance to knock what knocking now is worth beside waiting for gin.

Worth the more the earlier it is, the dearer the cards that the opponent throws (whoever throws low
ones has little left) and the fewer he was seen to take; worth the less the more cards would give
gin. So with the same deadwood it knocks at once, late, or never. In a game it counts what its side
lacks too: a few points, and it knocks with anything; 15 to 30, and it waits, as gin wins.

The worth in points is a linear fit to self-play's hands against simple, expert and others, in which
one chance to knock was decided by a coin; the score's part comes from the same hands and from the
chance to win a game to 100 with each score (docs/LOG.md). The discards are expert_k5's. That early
knockers are best met by patience was found in the EAAI 2021 Gin Rummy challenge,
http://cs.gettysburg.edu/projects/gin/.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agents import discards
from agents.expert import SEARCHED, Expert, Weights, own_turn
from ginenv import cards
from ginenv.observation import View

_RECENT = 3
"""Discards of the opponent that are looked at."""
_POINTS_OR_NONE = np.append(cards.POINTS, np.full(256 - cards.NUM_CARDS, 10, dtype=np.uint8))
"""Before he has thrown so many he is taken for one who throws tens."""


@dataclass(frozen=True, slots=True)
class Worth:
    """Points that a knock gains over waiting, each beside all the others."""

    knock: float = 1.5
    turn: float = -1.0
    """Each own turn."""
    deadwood: float = -1.2
    """Each point of his own."""
    gin_card: float = -4.0
    """Each unseen card that would give gin."""
    taken: float = -2.7
    """Each card in the other hand that was seen to be taken."""
    thrown: float = 0.7
    """Each point of the opponent's last three discards."""
    to_go: tuple[float, ...] = (3, 9, 15, 26, 34, 42, 52, 70)
    """Points to go in the game, ascending: where the score's part is given. Between them it runs
    straight, and it stays as it is before the first and after the last."""
    by_score: tuple[float, ...] = (11.0, 4.0, 0.0, -5.4, 1.3, 1.3, -1.3, 0.0)


FITTED = Worth()


class Adaptive(Expert):
    """Knocks when that is worth more than to wait."""

    def __init__(self, worth: Worth = FITTED, weights: Weights = SEARCHED) -> None:
        super().__init__(weights=weights)
        self.worth = worth

    def _knocks(
        self, view: View, lanes: NDArray[np.intp], kept: discards.Sets, deadwood: NDArray[np.uint8]
    ) -> NDArray[np.bool_]:
        worth = self.worth
        unseen = discards.unseen(view.rules, view.hand[lanes], view.seen[lanes])
        saved = discards.savings(kept, discards.shown_sets(kept), unseen)
        recent = np.ascontiguousarray(view.opponent_recent[lanes]).view(np.uint8).reshape(-1, 4)
        total = (
            worth.knock
            + worth.turn * own_turn(view)[lanes]
            + worth.deadwood * deadwood
            + worth.gin_card * (saved >= deadwood[:, None]).sum(axis=1)
            + worth.taken * np.bitwise_count(view.opponent_known[lanes])
            + worth.thrown * _POINTS_OR_NONE[recent[:, :_RECENT]].sum(axis=1)
        )
        left = to_go(view)
        if left is not None:
            total += np.interp(left[lanes], worth.to_go, worth.by_score)
        return total > 0


def to_go(view: View) -> NDArray[np.int32] | None:
    """Points that his side lacks in the game, [B]; None of a single hand."""
    if view.game is None:
        return None
    own: NDArray[np.int32] = view.game.to_go[0]
    return own
