"""The networks: suits alike, so that renaming suits renames the answer and changes nothing else.

Each suit's cards go through the same weights; suits hear of one another through their mean. So
the 24 relabelings of suits need no data of their own. Suits are the first axis of what is
computed: adding them up is then quick.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from agents.ppo_config import NetworkConfig
from ginenv import actions, cards, observation

PLANES = len(observation.BIT_PLANES) + 1
"""Card planes of an observation: the bits, and the deadwood after each discard."""

_BITS_END = len(observation.BIT_PLANES) * cards.NUM_CARDS
_DEADWOOD_AFTER = observation.LAYOUT["deadwood_after"]
_DEADWOOD_SCALE = 20
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
}
_SCALES_BY_KIND = {"total": 100, "to": 50, "boxes": 5}
"""Of the score's entries, by the second word of the name (``own_to_go``)."""


def _numbers() -> Tensor:
    """What makes the single numbers of a game observation's entries, float [entries, SCALARS].

    A row for each entry that belongs to no card plane; a column for each number. Two entries make
    one number of the score where the second counts 256.
    """
    names = [
        name
        for name, place in observation.GAME_LAYOUT.items()
        if place.start >= _BITS_END and name != "deadwood_after"
    ]
    entries = observation.GAME_SIZE - _BITS_END - cards.NUM_CARDS
    table, row = torch.zeros(entries, len(names)), 0
    for column, name in enumerate(names):
        words = name.split("_")
        kind = words[1] if len(words) > 1 else ""
        scale = _SCALES.get(name, _SCALES_BY_KIND.get(kind, 1))
        place = observation.GAME_LAYOUT[name]
        for digit in range(place.stop - place.start):
            table[row, column] = 256**digit / scale
            row += 1
    assert row == entries
    return table


_NUMBERS = _numbers()
SCALARS = _NUMBERS.shape[1]


class Features(NamedTuple):
    """An observation as the networks take it."""

    suits: Tensor
    """The cards suit by suit, float [4, B, PLANES * 13]."""
    scalars: Tensor
    """Flags and scaled numbers, float [B, SCALARS]."""


def features(observations: Tensor, dtype: torch.dtype = torch.float32) -> Features:
    """uint8 [B, GAME_SIZE] -> what both networks read, computed once for both."""
    lanes = len(observations)
    shape = (lanes, -1, cards.NUM_SUITS, cards.NUM_RANKS)
    # Planes and ranks of a suit side by side, suits apart.
    bits = observations[:, :_BITS_END].view(shape).permute(2, 0, 1, 3)
    after = observations[:, _DEADWOOD_AFTER].view(shape).permute(2, 0, 1, 3)
    suits = torch.empty((cards.NUM_SUITS, lanes, PLANES, cards.NUM_RANKS), dtype=dtype)
    suits[:, :, :-1] = bits
    torch.div(after, _DEADWOOD_SCALE, out=suits[:, :, -1:])
    ends = (observations[:, _BITS_END : _DEADWOOD_AFTER.start], observations[:, _REST:])
    scalars = torch.cat(ends, dim=1).float() @ _NUMBERS
    return Features(suits.flatten(2), scalars.to(dtype))


_REST = _DEADWOOD_AFTER.stop


def _mean(suits: Tensor) -> Tensor:
    """Over the first axis of four: additions, which are quicker than torch's own mean."""
    first, second, third, fourth = suits.unbind(0)
    return (first + second + (third + fourth)) * 0.25


class SuitNetwork(nn.Module):
    """Cards by suit and single numbers in, numbers per card and single numbers out."""

    def __init__(self, config: NetworkConfig, planes: int, per_card: int, single: int) -> None:
        super().__init__()
        width = config.width
        self.own = nn.Linear(planes * cards.NUM_RANKS, width, bias=False)
        self.others = nn.Linear(planes * cards.NUM_RANKS, width, bias=False)
        self.scalars = nn.Linear(SCALARS, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(config.layers))
        self.within = nn.ModuleList(nn.Linear(width, width) for _ in range(config.layers))
        self.across = nn.ModuleList(
            nn.Linear(width, width, bias=False) for _ in range(config.layers)
        )
        self.last_norm = nn.LayerNorm(width)
        self.card_head = nn.Linear(width, per_card * cards.NUM_RANKS) if per_card else None
        self.single_head = nn.Linear(width, single)

    def forward(self, suits: Tensor, scalars: Tensor) -> tuple[Tensor | None, Tensor]:
        """suits [4, B, planes * 13], scalars [B, SCALARS] -> [B, per_card * 52], [B, single].

        Outputs per card are in the order of card ids, one kind after another; None without any.
        """
        common = self.others(_mean(suits)) + self.scalars(scalars)
        hidden = functional.relu(self.own(suits) + common)
        for norm, within, across in zip(self.norms, self.within, self.across, strict=True):
            x = norm(hidden)
            hidden = hidden + functional.relu(within(x) + across(_mean(x)))
        x = self.last_norm(hidden)
        single = self.single_head(_mean(x))
        if self.card_head is None:
            return None, single
        per_card = self.card_head(x).unflatten(2, (-1, cards.NUM_RANKS))
        return per_card.permute(1, 2, 0, 3).flatten(1), single


class Actor(nn.Module):
    """Features -> logits of the 108 actions, and of where the unseen cards are.

    Starts uniform: its heads start at zero.
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        others = actions.NUM_ACTIONS - actions.STOCK
        self.body = SuitNetwork(config, PLANES, per_card=3, single=others)
        assert self.body.card_head is not None
        for head in (self.body.card_head, self.body.single_head):
            nn.init.zeros_(head.weight)
            nn.init.zeros_(head.bias)

    def forward(self, seen: Features) -> tuple[Tensor, Tensor]:
        """float32 [B, 108], not masked; float32 [B, 52]: that the other hand holds the card."""
        per_card, single = self.body(*seen)
        logits = torch.cat([per_card[:, : actions.STOCK], single], dim=1)
        return logits.float(), per_card[:, actions.STOCK :].float()


class Critic(nn.Module):
    """Features and the hidden hand -> value in reward units, for training only."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.body = SuitNetwork(config, PLANES + 1, per_card=0, single=1)

    def forward(self, seen: Features, hidden_hands: Tensor) -> Tensor:
        """hidden_hands uint8 [B, 52] -> float32 [B], from the mover's view."""
        hidden = hidden_hands.to(seen.suits.dtype).unflatten(1, (cards.NUM_SUITS, -1))
        _, value = self.body(torch.cat([seen.suits, hidden.transpose(0, 1)], dim=2), seen.scalars)
        return value.float().squeeze(1)


def masked_log_probs(logits: Tensor, masks: Tensor) -> Tensor:
    """Log probabilities over the legal actions; a large negative number at the others.

    Finite everywhere, so that entropies and divergences never meet 0 x infinity.
    """
    return torch.log_softmax(logits.masked_fill(masks == 0, -1e9), dim=1)
