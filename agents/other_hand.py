"""What is worth knowing of the other hand, as chances that a network can learn to name.

In training the hand lies open to whoever teaches: these are its answers. In play they are believed,
not known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents import discards
from ginenv import cards, melds

PLANES = ("holds", "melds")
"""Of each card: that it is in the other hand; that it makes a meld with two cards of it."""

LIMITS = (0, 5, 10, 15, 20, 25, 30, 40)
"""Then: that the hand's deadwood, as it lies, is at most so many points."""

SIZE = len(PLANES) * cards.NUM_CARDS + len(LIMITS)


def describe(hands: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """All that is so, 0 or 1: hands [B, 52] by card id -> [B, SIZE], PLANES and then LIMITS."""
    padded = np.zeros((len(hands), cards.NUM_SUITS, discards.PLACES // cards.NUM_SUITS), np.uint8)
    padded[:, :, : cards.NUM_RANKS] = hands.reshape(-1, cards.NUM_SUITS, cards.NUM_RANKS)
    sets = np.packbits(padded.reshape(len(hands), -1), axis=1, bitorder="little").view(np.uint64)
    sets = sets.reshape(-1)
    completed = discards.completed(sets).reshape(padded.shape)[:, :, : cards.NUM_RANKS]
    within = melds.deadwood(sets)[:, None] <= np.array(LIMITS)
    parts = hands, completed.reshape(len(hands), -1) > 0, within
    return np.concatenate(parts, axis=1, dtype=np.uint8, casting="unsafe")
