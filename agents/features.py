"""What the networks read of an observation: the cards suit by suit, and single numbers."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as functional
from torch import Tensor

from agents import prospects
from ginenv import cards, observation
from ginenv.rules import Rules

PLANES = len(observation.BIT_PLANES) + 1 + len(prospects.PLANES)
"""Card planes: an observation's bits, the deadwood after each discard, the prospects."""

_BITS = len(observation.BIT_PLANES)
_BITS_END = _BITS * cards.NUM_CARDS
_DEADWOOD_AFTER = observation.LAYOUT["deadwood_after"]
_PROSPECTS = slice(prospects.LAYOUT[prospects.PLANES[0]].start, prospects.LAYOUT["open"].stop)
_PLANE_SCALES = {
    "deadwood_after": 20,
    "gin": 4,
    "helpful": 20,
    "very_helpful": 5,
    "promise": 80,
    "draw": 10,
    "held": 1,
    "near": 2,
    "open": 4,
}
# What brings each kind of number to about 1; flags are 0 or 1 already.
_SCALES = {
    "stock_left": 31,
    "draws_left": 31,
    "turn": 30,
    "turns_left": 100,
    "deadwood": 50,
    "knock_limit": 10,
    "pile_size": 20,
    "opponent_unknown": 10,
    "gin_bonus": 25,
    "undercut_bonus": 25,
    "big_gin_bonus": 25,
    "stock_floor": 2,
    "target": 100,
    "game_bonus": 100,
    "shutout_bonus": 100,
    "box_bonus": 20,
    "partners_bonus": 25,
    "games_to_win": 2,
    "rounds": 20,
    "stands_gin": 4,
    "stands_helpful": 20,
    "stands_very_helpful": 5,
    "stands_promise": 80,
    "least": 20,
    "least_gin": 4,
    "least_promise": 80,
    "most_gin": 4,
}
_SCALES_BY_KIND = {"total": 100, "to": 50, "boxes": 5}
"""Of the score's entries, by the second word of the name (``own_to_go``)."""


def _numbers() -> Tensor:
    """What makes the single numbers of the entries, float [entries, SCALARS].

    A row for each entry that belongs to no card plane; a column for each number. Two entries make
    one number of the score where the second counts 256.
    """
    names = [
        name
        for name, place in prospects.LAYOUT.items()
        if place.start >= _BITS_END and name not in _PLANE_SCALES
    ]
    entries = prospects.SIZE - _BITS_END - len(_PLANE_SCALES) * cards.NUM_CARDS
    table, row = torch.zeros(entries, len(names)), 0
    for column, name in enumerate(names):
        words = name.split("_")
        kind = words[1] if len(words) > 1 else ""
        scale = _SCALES.get(name, _SCALES_BY_KIND.get(kind, 1))
        place = prospects.LAYOUT[name]
        for digit in range(place.stop - place.start):
            table[row, column] = 256**digit / scale
            row += 1
    assert row == entries
    return table


_NUMBERS = _numbers()
SCALARS = _NUMBERS.shape[1]


class Deck(NamedTuple):
    """The cards that networks are made for: of a short deck they neither read nor name others."""

    suits: int = cards.NUM_SUITS
    ranks: int = cards.NUM_RANKS

    @staticmethod
    def of(rules: Rules) -> Deck:
        """That of the rules."""
        return Deck(rules.num_suits, rules.num_ranks)

    def pick(self, by_card: Tensor) -> Tensor:
        """Card planes [B, n * 52] -> a view of them, [suits, B, n, ranks]."""
        planes = by_card.unflatten(1, (-1, cards.NUM_SUITS, cards.NUM_RANKS))
        return planes[:, :, : self.suits, : self.ranks].permute(2, 0, 1, 3)

    def spread(self, by_suit: Tensor) -> Tensor:
        """[suits, B, n, ranks] -> [B, n * 52], 0 for cards that the deck has not."""
        planes = by_suit.permute(1, 2, 0, 3)
        lacking = (0, cards.NUM_RANKS - self.ranks, 0, cards.NUM_SUITS - self.suits)
        return functional.pad(planes, lacking).flatten(1)


FULL = Deck()


class Features(NamedTuple):
    """What was seen as the networks take it. They compute in its dtype."""

    suits: Tensor
    """The cards suit by suit, float [suits, B, PLANES * ranks]."""
    mean: Tensor
    """Their mean over suits, float [B, PLANES * ranks]."""
    scalars: Tensor
    """Flags and scaled numbers, float [B, SCALARS]."""


def features(
    observations: Tensor, dtype: torch.dtype = torch.float32, deck: Deck = FULL
) -> Features:
    """uint8 [B, prospects.SIZE] -> what both networks read, computed once for both."""
    size = (deck.suits, len(observations), PLANES, deck.ranks)
    suits = torch.empty(size, dtype=dtype, device=observations.device)
    # Planes and ranks of a suit side by side, suits apart.
    for part, at in ((slice(_BITS_END), 0), (_DEADWOOD_AFTER, _BITS), (_PROSPECTS, _BITS + 1)):
        planes = deck.pick(observations[:, part])
        suits[:, :, at : at + planes.shape[2]] = planes
    suits[:, :, _BITS:] *= _PER_PLANE.to(observations.device, dtype)
    ends = (
        observations[:, _BITS_END : _DEADWOOD_AFTER.start],
        observations[:, _DEADWOOD_AFTER.stop : _PROSPECTS.start],
        observations[:, _PROSPECTS.stop :],
    )
    scalars = torch.cat(ends, dim=1).float() @ _NUMBERS.to(observations.device)
    flat = suits.flatten(2)
    return Features(flat, suit_mean(flat), scalars.to(dtype))


_PER_PLANE = torch.tensor([[1 / scale] for scale in _PLANE_SCALES.values()])


def suit_sum(suits: Tensor) -> Tensor:
    """Over the first, short axis: additions, which are quicker than torch's own sum."""
    total, *others = suits.unbind(0)
    for other in others:
        total = total + other
    return total


def suit_mean(suits: Tensor) -> Tensor:
    """Over the first axis."""
    return suit_sum(suits) * (1 / len(suits))
