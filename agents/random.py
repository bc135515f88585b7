"""The uniform random agent: every legal action alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ginenv import actions
from ginenv.actions import Legal
from ginenv.observation import View

_8, _255 = (np.array(n, dtype=np.uint64) for n in (8, 255))
_EACH_BYTE, _TOP_BITS = (np.array(int(byte * 8, 16), dtype=np.uint64) for byte in ("01", "80"))


def _nth_bits() -> NDArray[np.uint64]:
    """Entry ``byte * 8 + n``: which bit of the byte has n set bits below it."""
    table = np.zeros((256, 8), dtype=np.uint64)
    for byte in range(256):
        set_bits = [bit for bit in range(8) if byte >> bit & 1]
        table[byte, : len(set_bits)] = set_bits
    return table.reshape(-1)


_NTH_BIT = _nth_bits()


def select_bit(words: NDArray[np.uint64], nth: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Index of the set bit with ``nth`` set bits below it, uint64 [B] each.

    Counts the bytes of a word side by side (Vigna, "Broadword implementation of rank/select
    queries", 2008).
    """
    up_to = np.bitwise_count(words.view(np.uint8)).view(np.uint64) * _EACH_BYTE
    passed = (((nth * _EACH_BYTE) | _TOP_BITS) - up_to) & _TOP_BITS
    shift = np.bitwise_count(passed).astype(np.uint64) * _8
    inside = nth - (((up_to << _8) >> shift) & _255)
    byte = (words >> shift) & _255
    return shift + _NTH_BIT[(byte * _8 + inside).view(np.intp)]


def choose(words: NDArray[np.uint64], generator: np.random.Generator) -> NDArray[np.intp]:
    """A uniformly random one of each lane's legal actions, [B].

    ``words`` as :func:`ginenv.actions.words` gives them, uint64 [B, 2]. Where a lane has no legal
    action the answer is some action id without meaning.
    """
    counts = np.bitwise_count(words)
    low = counts[:, 0]
    total = low + counts[:, 1]
    nth = (generator.random(len(words), dtype=np.float32) * total).astype(np.uint8)
    nth = np.minimum(nth, total - 1)  # a float32 just below 1 can round up to the total
    in_high = nth >= low
    word = words.reshape(-1)[np.arange(0, 2 * len(words), 2) + in_high]
    nth -= low * in_high
    index = select_bit(word, nth.astype(np.uint64)).view(np.intp) + (in_high << np.int64(6))
    return np.minimum(index, actions.NUM_ACTIONS - 1)


class Random:
    """Chooses uniformly among the legal actions."""

    def act(self, view: View, legal: Legal, generator: np.random.Generator) -> NDArray[np.intp]:
        """See :class:`agents.Agent`."""
        return choose(actions.words(legal), generator)

    def probabilities(self, view: View, legal: Legal) -> NDArray[np.float64]:
        """How likely each action is, [B, 108]."""
        mask = actions.mask(legal).astype(np.float64)
        return mask / mask.sum(axis=1, keepdims=True)
