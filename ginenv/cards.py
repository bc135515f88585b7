"""Cards and card sets.

A card is an id 0..51, ``suit * 13 + rank`` (suits ``c d h s``, ranks ``A 2 .. T J Q K``), written
as two characters: ``Td``. A set of cards is one uint64, bit ``suit * 16 + rank``: each suit has
16 bits of which 13 are used, so that ``sets.view(np.uint16)`` gives the four suits as table
indices, and a shift by one rank never runs into the next suit.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

RANKS = "A23456789TJQK"
SUITS = "cdhs"
NUM_RANKS = 13
NUM_SUITS = 4
NUM_CARDS = 52
NO_CARD = 255
"""The id that stands for "no card" in uint8 fields."""

POINTS: NDArray[np.uint8] = np.tile(
    np.minimum(np.arange(1, NUM_RANKS + 1), 10).astype(np.uint8), NUM_SUITS
)
"""Points of each card, uint8 [52]: ace 1, number cards their number, T J Q K 10."""

BIT: NDArray[np.uint64] = np.uint64(1) << np.array(
    [suit * 16 + rank for suit in range(NUM_SUITS) for rank in range(NUM_RANKS)], dtype=np.uint64
)
"""The card set that holds just one card, uint64 [52]."""

BIT_OR_NONE: NDArray[np.uint64] = np.append(BIT, np.zeros(256 - NUM_CARDS, dtype=np.uint64))
"""The same for every uint8, NO_CARD among them: what is no card has the empty set, [256]."""

SUIT_MASK = (1 << NUM_RANKS) - 1

_SUIT_POINTS: NDArray[np.uint8] = np.array(
    [sum(int(POINTS[r]) for r in range(NUM_RANKS) if mask >> r & 1) for mask in range(1 << 13)],
    dtype=np.uint8,
)
# Constants are arrays without axes: numpy takes them up faster than its scalars.
_SUM_BYTES = np.array(0x01010101, dtype=np.uint32)
_ODD_SUITS = np.array(SUIT_MASK << 16 | SUIT_MASK << 48, dtype=np.uint64)
_UPPER_HALF = np.array((1 << 64) - (1 << 32), dtype=np.uint64)
_THREE, _SIX = (np.array(n, dtype=np.uint64) for n in (3, 6))


def name(card: int) -> str:
    """A card in two characters. Raises ValueError outside 0..51.

    >>> name(22)
    'Td'
    """
    if not 0 <= card < NUM_CARDS:
        raise ValueError(f"card id {card} is outside 0..51")
    return RANKS[card % NUM_RANKS] + SUITS[card // NUM_RANKS]


def parse_card(text: str) -> int:
    """The id of a card. Raises ValueError naming what is wrong.

    >>> parse_card("Td")
    22
    """
    if len(text) != 2 or text[0] not in RANKS or text[1] not in SUITS:
        raise ValueError(
            f"{text!r} is not a card: write a rank of {RANKS} and a suit of {SUITS}, as in 'Td'"
        )
    return SUITS.index(text[1]) * NUM_RANKS + RANKS.index(text[0])


def parse_list(text: str | Iterable[str | int]) -> NDArray[np.uint8]:
    """Cards in the order given, uint8 [n], from ``"As Td"``, a list of names or a list of ids.

    Raises ValueError that names a card which is unknown or there twice, TypeError for what is
    neither a name nor a whole number.
    """
    items = text.split() if isinstance(text, str) else list(text)
    ids: list[int] = []
    for item in items:
        if isinstance(item, str):
            card = parse_card(item)
        else:
            card = operator.index(item)
            name(card)  # checks the range
        if card in ids:
            raise ValueError(f"{name(card)} is there twice")
        ids.append(card)
    return np.array(ids, dtype=np.uint8)


def parse(text: str | Iterable[str | int]) -> np.uint64:
    """The card set of ``"As Td"`` (or of a list). Raises ValueError as :func:`parse_list` does."""
    return from_ids(parse_list(text).tolist())


def from_ids(ids: Sequence[int]) -> np.uint64:
    """The card set of some card ids."""
    bits = 0
    for card in ids:
        bits |= 1 << (card // NUM_RANKS * 16 + card % NUM_RANKS)
    return np.uint64(bits)


def to_ids(card_set: int | np.uint64) -> list[int]:
    """The ids in a card set, ascending."""
    bits = int(card_set)
    ids = []
    while bits:
        index = (bits & -bits).bit_length() - 1
        ids.append(index // 16 * NUM_RANKS + index % 16)
        bits &= bits - 1
    return ids


def format(card_set: int | np.uint64) -> str:  # noqa: A001 - the pair of parse
    """The cards of a set as text, ascending by id: ``"Td As"``."""
    return " ".join(name(card) for card in to_ids(card_set))


def deck_set(num_ranks: int, num_suits: int) -> np.uint64:
    """All cards of a deck whose ranks go from the ace up and suits are ``c d h s`` in order."""
    return np.uint64(sum(((1 << num_ranks) - 1) << (16 * suit) for suit in range(num_suits)))


def points(sets: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Points of the cards of each set, uint64 [B] -> uint8 [B].

    Exact for up to 255 points, so for any 25 cards.
    """
    return suit_sum(_SUIT_POINTS, np.ascontiguousarray(sets, dtype=np.uint64))


def suit_sum(table: NDArray[np.uint8], sets: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Sum over the suits of ``table[suit's 13 bits]``, uint64 [B] -> uint8 [B] (modulo 256).

    ``sets`` must lie side by side in memory.
    """
    parts = table.take(sets.view(np.uint16), mode="clip").view(np.uint32)
    # One multiplication adds the four bytes up into the top one.
    parts *= _SUM_BYTES
    return parts.view(np.uint8)[3::4]


def pack(sets: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Bit ``suit * 16 + rank`` -> bit ``suit * 13 + rank``: bit i is card id i. uint64 [...]."""
    # Each second suit joins the one below it, then the upper half joins the lower one.
    moved = sets & _ODD_SUITS
    packed = sets ^ moved
    moved >>= _THREE
    packed |= moved
    moved = packed & _UPPER_HALF
    packed ^= moved
    moved >>= _SIX
    packed |= moved
    return packed


def pack_one(card_set: int) -> int:
    """:func:`pack` for one set: several times as quick as an array of one."""
    mask = SUIT_MASK
    return (
        card_set & mask
        | card_set >> 3 & mask << 13
        | card_set >> 6 & mask << 26
        | card_set >> 9 & mask << 39
    )


def bits(sets: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """1 for each card of a set, by card id: uint64 [B] -> uint8 [B, 52]."""
    unpacked = np.unpackbits(np.ascontiguousarray(sets).view(np.uint8), bitorder="little")
    by_suit = unpacked.reshape(-1, NUM_SUITS, 16)[:, :, :NUM_RANKS]
    return by_suit.reshape(-1, NUM_CARDS)
