"""What a rollout keeps of the decisions that are then learnt from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from agents.features import PLANES, SCALARS, Deck, Features
from ginenv import actions, cards


@dataclass(slots=True)
class Rollout:
    """T decisions on each of B lanes, by whichever seat was on move."""

    seen: Features
    """What the networks read: suits [suits, T, B, .], mean and scalars [T, B, .]."""
    hidden: Tensor
    """The other hand, uint8 [T, B, 52], for the critic alone."""
    masks: Tensor
    """uint8 [T, B, 108]."""
    chosen: Tensor
    """int64 [T, B]."""
    own: Tensor
    """Whether the policy chose it, bool [T, B]: not a teacher, nor an opponent."""
    log_probs: Tensor
    """Of all actions, by the policy, float32 [T, B, 108]."""
    values: Tensor
    """From the mover's view, float32 [T + 1, B]."""
    movers: Tensor
    """Seats, int64 [T + 1, B]."""
    rewards: Tensor
    """To the mover, float32 [T, B], when his action ended the hand: see ``agents.selfplay``."""
    tried: Tensor
    """What actions that were played out gain over their mean, float32 [T, B, 108]; else 0."""
    dones: Tensor
    """Whether the action ended the hand, bool [T, B]."""

    @classmethod
    def empty(
        cls, steps: int, lanes: int, deck: Deck, dtype: torch.dtype, device: torch.device
    ) -> Self:
        """To be filled; ``dtype``: that of what the networks read."""

        def new(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.empty(shape, dtype=dtype, device=device)

        inputs = PLANES * deck.ranks
        return cls(
            seen=Features(
                new(deck.suits, steps, lanes, inputs, dtype=dtype),
                new(steps, lanes, inputs, dtype=dtype),
                new(steps, lanes, SCALARS, dtype=dtype),
            ),
            hidden=new(steps, lanes, cards.NUM_CARDS, dtype=torch.uint8),
            masks=new(steps, lanes, actions.NUM_ACTIONS, dtype=torch.uint8),
            chosen=new(steps, lanes, dtype=torch.int64),
            own=torch.ones((steps, lanes), dtype=torch.bool, device=device),
            log_probs=new(steps, lanes, actions.NUM_ACTIONS),
            values=new(steps + 1, lanes),
            movers=new(steps + 1, lanes, dtype=torch.int64),
            rewards=new(steps, lanes),
            tried=torch.zeros((steps, lanes, actions.NUM_ACTIONS), device=device),
            dones=new(steps, lanes, dtype=torch.bool),
        )

    def keep(self, t: int, seen: Features) -> None:
        """What was read at the t-th decision."""
        self.seen.suits[:, t] = seen.suits
        self.seen.mean[t], self.seen.scalars[t] = seen.mean, seen.scalars

    def decisions(self) -> dict[str, Tensor]:
        """What is learnt from, time and lanes in one axis: the second of ``suits``, else the first.

        T * B decisions; nothing is copied.
        """
        return {
            "suits": self.seen.suits.flatten(1, 2),
            "mean": self.seen.mean.flatten(0, 1),
            "scalars": self.seen.scalars.flatten(0, 1),
            "hidden": self.hidden.flatten(0, 1),
            "masks": self.masks.flatten(0, 1),
            "chosen": self.chosen.flatten(),
            "own": self.own.flatten(),
            "old": self.log_probs.flatten(0, 1),
        }


def take(batch: dict[str, Tensor], rows: Tensor) -> dict[str, Tensor]:
    """Some of the decisions. (Torch's indexing by brackets takes several times as long.)"""
    return {name: x.index_select(int(name == "suits"), rows) for name, x in batch.items()}
