"""The uniform random agent: every legal action alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ginenv import actions
from ginenv.actions import Legal
# from ginenv.observation import View

_C = {
    name: np.array(value, dtype=np.uint64)
    for name, value in {
        "1": 1, "2": 2, "4": 4, "8": 8, "63": 63, "255": 255,
        "55": 0x5555555555555555, "33": 0x3333333333333333, "0f": 0x0F0F0F0F0F0F0F0F,
        "01": 0x0101010101010101, "80": 0x8080808080808080,
    }.items()
}
_NTH_BIT = np.zeros((256, 8), dtype=np.uint8)
for _byte in range(256):
    _set = [bit for bit in range(8) if _byte >> bit & 1]
    _NTH_BIT[_byte, : len(_set)] = _set


def select_bit(words: NDArray[np.uint64], nth: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Index of the set bit with ``nth`` set bits below it, uint64 [B] each.

    Bytes are counted side by side in one word (Vigna, "Broadword implementation of rank/select
    queries", 2008).
    """
    pairs = words - ((words >> _C["1"]) & _C["55"])
    nibbles = (pairs & _C["33"]) + ((pairs >> _C["2"]) & _C["33"])
    below = ((nibbles + (nibbles >> _C["4"])) & _C["0f"]) * _C["01"]  # byte i: bits up to it
    full = (((nth * _C["01"]) | _C["80"]) - below) & _C["80"]  # bytes wholly below the bit
    shift = np.bitwise_count(full).astype(np.uint64) * _C["8"]
    inside = nth - (((below << _C["8"]) >> shift) & _C["255"])
    byte = (words >> shift) & _C["255"]
    return shift + _NTH_BIT.reshape(-1).take((byte * _C["8"] + inside).view(np.int64))


def choose(words: NDArray[np.uint64], generator: np.random.Generator) -> NDArray[np.intp]:
    """A uniformly random one of each lane's legal actions, [B]; 0 where a lane has none.

    ``words`` as :func:`ginenv.actions.words` gives them, uint64 [B, 2].
    """
    counts = np.bitwise_count(words)
    low, high = counts[:, 0], counts[:, 1]
    nth = (generator.random(len(words), dtype=np.float32) * (low + high)).astype(np.uint8)
    nth = np.minimum(nth, low + high - 1)  # float32 can round up to the count itself
    in_high = nth >= low
    word = np.where(in_high, words[:, 1], words[:, 0])
    nth -= low * in_high
    index = select_bit(word, nth.astype(np.uint64)).view(np.intp)
    return index + (in_high << np.int64(6))


class Random:
    """Chooses uniformly among the legal actions."""

    name = "random"

    def act(
        self, view: object, legal: Legal, generator: np.random.Generator
    ) -> NDArray[np.intp]:
        return choose(actions.words(legal), generator)
