"""The 108 actions, their words, and sets of legal ones.

0..51 discard the card, 52..103 knock by discarding it face down (gin is a knock that leaves 0),
104 draw from the stock, 105 take the top of the pile, 106 pass, 107 big gin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ginenv import cards

DISCARD = 0
KNOCK = 52
STOCK = 104
TAKE = 105
PASS = 106
BIG_GIN = 107
NUM_ACTIONS = 108

_WORDS = {"stock": STOCK, "take": TAKE, "pass": PASS, "big-gin": BIG_GIN}
_NAMES = {action: word for word, action in _WORDS.items()}
_CARD_WORDS = {"discard": DISCARD, "knock": KNOCK}

_FIRST_KNOCK, _KNOCKS_LEFT, _FIRST_OTHER = (
    np.array(n, dtype=np.uint64) for n in (KNOCK, 64 - KNOCK, STOCK - 64)
)


OTHER_STOCK = 1
OTHER_TAKE = 2
OTHER_PASS = 4
OTHER_BIG_GIN = 8


class Legal(NamedTuple):
    """The legal actions of B lanes as bit sets: nothing else is legal, a finished lane has none."""

    discards: NDArray[np.uint64]
    """Cards that may be discarded, uint64 [B]."""
    knocks: NDArray[np.uint64]
    """Cards that may be thrown to knock (gin included), uint64 [B]."""
    others: NDArray[np.uint8]
    """OTHER_STOCK | OTHER_TAKE | OTHER_PASS | OTHER_BIG_GIN, uint8 [B]."""

    def take(self, lanes: NDArray[np.intp]) -> Legal:
        """Those of some lanes."""
        return Legal(self.discards[lanes], self.knocks[lanes], self.others[lanes])


def parse(text: str) -> int:
    """The id of an action in words. Raises ValueError that says what would be right.

    >>> parse("knock Kd")
    77
    """
    words = text.split()
    if len(words) == 1 and words[0] in _WORDS:
        return _WORDS[words[0]]
    if len(words) == 2 and words[0] in _CARD_WORDS:
        return _CARD_WORDS[words[0]] + cards.parse_card(words[1])
    raise ValueError(
        f"{text!r} is not an action: write 'pass', 'take', 'stock', 'big-gin', "
        "'discard Kd' or 'knock Kd'"
    )


def format(action: int) -> str:  # noqa: A001 - the pair of parse
    """An action in words. Raises ValueError outside 0..107.

    >>> format(77)
    'knock Kd'
    """
    if not 0 <= action < NUM_ACTIONS:
        raise ValueError(f"action {action} is outside 0..{NUM_ACTIONS - 1}")
    if action >= STOCK:
        return _NAMES[action]
    word = "discard" if action < KNOCK else "knock"
    return f"{word} {cards.name(action % KNOCK)}"


def words(legal: Legal) -> NDArray[np.uint64]:
    """The legal actions as one string of bits, bit i for action i: uint64 [B, 2]."""
    packed = np.empty((len(legal.others), 2), dtype=np.uint64)
    packed[:, 0] = cards.pack(legal.discards)
    np.left_shift(legal.others, _FIRST_OTHER, out=packed[:, 1])
    lanes = (legal.knocks != 0).nonzero()[0]
    if len(lanes):
        # 52 discards and the first 12 knocks fill the first word.
        knocks = cards.pack(legal.knocks[lanes])
        packed[lanes, 0] |= knocks << _FIRST_KNOCK
        packed[lanes, 1] |= knocks >> _KNOCKS_LEFT
    return packed


def mask(legal: Legal) -> NDArray[np.uint8]:
    """1 for each legal action and 0 for the others, uint8 [B, 108]."""
    if len(legal.others) != 1:
        return unpack(words(legal))
    # One lane is quicker without arrays of one.
    discards, knocks, others = (column.item() for column in legal)
    string = cards.pack_one(discards) | cards.pack_one(knocks) << KNOCK | others << STOCK
    return unpack(np.frombuffer(string.to_bytes(16, "little"), dtype=np.uint64).reshape(1, 2))


def unpack(packed: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """The mask that :func:`words` holds, uint64 [B, 2] -> uint8 [B, 108]."""
    bits = packed.view(np.uint8)
    return np.unpackbits(bits, axis=1, count=NUM_ACTIONS, bitorder="little")


def contains(packed: NDArray[np.uint64], chosen: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether each lane's action is among those of ``packed`` [B, 2] (see :func:`words`)."""
    inside = (chosen >= 0) & (chosen < NUM_ACTIONS)
    index = np.where(inside, chosen, 0).astype(np.uint64)
    word = packed[np.arange(len(packed)), (index >> np.uint64(6)).astype(np.intp)]
    return inside & ((word >> (index & np.uint64(63))) & np.uint64(1)).astype(np.bool_)
