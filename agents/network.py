"""The networks: suits alike, so that renaming suits renames the answer and changes nothing else.

Each suit's cards go through the same weights; suits hear of one another through their mean. So
the 24 relabelings of suits need no data of their own.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from agents.ppo_config import NetworkConfig
from ginenv import actions, cards, observation

ACTOR_PLANES = len(observation.BIT_PLANES) + 1
"""Card planes of an observation: the bits, and the deadwood after each discard."""
SCALARS = len(observation.FLAGS) + len(observation.SCALARS)

_DEADWOOD_AFTER = observation.LAYOUT["deadwood_after"]
_BITS_END = len(observation.BIT_PLANES) * cards.NUM_CARDS
# What brings each kind of number to about 1; flags and bits stay as they are.
_SCALES = {
    "deadwood_after": 20,
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
}


def _scale() -> Tensor:
    scale = np.ones(observation.SIZE, dtype=np.float32)
    for name, value in _SCALES.items():
        scale[observation.LAYOUT[name]] = 1 / value
    return torch.from_numpy(scale)


class SuitNetwork(nn.Module):
    """Planes of cards and single numbers in, numbers per card and single numbers out."""

    def __init__(
        self, config: NetworkConfig, planes: int, scalars: int, per_card: int, single: int
    ) -> None:
        super().__init__()
        width = config.width
        self.per_card = per_card
        self.own = nn.Linear(planes * cards.NUM_RANKS, width, bias=False)
        self.others = nn.Linear(planes * cards.NUM_RANKS, width, bias=False)
        self.scalars = nn.Linear(scalars, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(config.layers))
        self.within = nn.ModuleList(nn.Linear(width, width) for _ in range(config.layers))
        self.across = nn.ModuleList(
            nn.Linear(width, width, bias=False) for _ in range(config.layers)
        )
        self.last_norm = nn.LayerNorm(width)
        self.card_head = nn.Linear(width, per_card * cards.NUM_RANKS) if per_card else None
        self.single_head = nn.Linear(width, single)

    def forward(self, planes: Tensor, scalars: Tensor) -> tuple[Tensor | None, Tensor]:
        """planes [B, planes, 4, 13], scalars [B, scalars] -> [B, per_card * 52], [B, single].

        Outputs per card are in the order of card ids, one kind after another; None without any.
        """
        suits = planes.transpose(1, 2).flatten(2)
        common = self.others(suits.mean(1)) + self.scalars(scalars)
        hidden = functional.relu(self.own(suits) + common.unsqueeze(1))
        for norm, within, across in zip(self.norms, self.within, self.across, strict=True):
            x = norm(hidden)
            hidden = hidden + functional.relu(within(x) + across(x.mean(1)).unsqueeze(1))
        x = self.last_norm(hidden)
        single = self.single_head(x.mean(1))
        if self.card_head is None:
            return None, single
        per_card = self.card_head(x).unflatten(2, (self.per_card, cards.NUM_RANKS))
        return per_card.transpose(1, 2).flatten(1), single


class Actor(nn.Module):
    """Observation -> logits of the 108 actions. Starts uniform: its heads start at zero."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        others = actions.NUM_ACTIONS - actions.STOCK
        self.body = SuitNetwork(config, ACTOR_PLANES, SCALARS, per_card=2, single=others)
        self.register_buffer("scale", _scale(), persistent=False)
        assert self.body.card_head is not None
        for head in (self.body.card_head, self.body.single_head):
            nn.init.zeros_(head.weight)
            nn.init.zeros_(head.bias)

    def forward(self, observations: Tensor) -> Tensor:
        """uint8 [B, observation.SIZE] -> float32 [B, 108], not masked."""
        per_card, single = self.body(*_split(observations, self.scale))
        return torch.cat([per_card, single], dim=1).float()


class Critic(nn.Module):
    """Observation and the hidden hand -> value in reward units, for training only."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.body = SuitNetwork(config, ACTOR_PLANES + 1, SCALARS, per_card=0, single=1)
        self.register_buffer("scale", _scale(), persistent=False)

    def forward(self, observations: Tensor, hidden_hands: Tensor) -> Tensor:
        """uint8 [B, observation.SIZE] and uint8 [B, 52] -> float32 [B], from the mover's view."""
        planes, scalars = _split(observations, self.scale)
        hidden = hidden_hands.to(planes.dtype).unflatten(1, (1, cards.NUM_SUITS, cards.NUM_RANKS))
        _, value = self.body(torch.cat([planes, hidden], dim=1), scalars)
        return value.float().squeeze(1)


def _split(observations: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    """Scaled card planes [B, ACTOR_PLANES, 4, 13] and single numbers [B, SCALARS]."""
    x = observations * scale
    card_columns = torch.cat([x[:, :_BITS_END], x[:, _DEADWOOD_AFTER]], dim=1)
    planes = card_columns.unflatten(1, (ACTOR_PLANES, cards.NUM_SUITS, cards.NUM_RANKS))
    scalars = torch.cat(
        [x[:, _BITS_END : _DEADWOOD_AFTER.start], x[:, _DEADWOOD_AFTER.stop :]], dim=1
    )
    return planes, scalars


def masked_log_probs(logits: Tensor, masks: Tensor) -> Tensor:
    """Log probabilities over the legal actions; a large negative number at the others.

    Finite everywhere, so that entropies and divergences never meet 0 x infinity.
    """
    return torch.log_softmax(logits.masked_fill(masks == 0, -1e9), dim=1)
