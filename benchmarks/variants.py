"""What ablations change in the trainer, settings or a part taken away; and how runs are kept.

For benchmarks/small_games.py and benchmarks/ablations.py.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn

from agents import features, prospects
from agents.features import FULL, Deck, Features
from agents.network import Critic
from agents.ppo import Trainer
from agents.ppo_config import NetworkConfig
from ginenv import actions, cards, observation
from ginenv.files import whole_file

NEVER = 1e9
"""As the magnet's time constant: it stays uniform."""


class PlainActor(nn.Module):
    """A perceptron on the same features: knows nothing of suits being alike."""

    belief = None

    def __init__(self, config: NetworkConfig, deck: Deck, belief: NetworkConfig | None) -> None:
        super().__init__()
        assert belief is None
        width = 4 * config.width
        self.deck = deck
        cells = deck.suits * features.PLANES * deck.ranks
        self.first = nn.Linear(cells + features.SCALARS, width)
        self.inner = nn.ModuleList(nn.Linear(width, width) for _ in range(config.layers))
        self.head = nn.Linear(width, actions.NUM_ACTIONS + cards.NUM_CARDS)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, seen: Features) -> tuple[Tensor, Tensor]:
        """As :class:`agents.network.Actor`; in float32."""
        x = torch.cat([seen.suits.transpose(0, 1).flatten(1), seen.scalars], dim=1).float()
        x = self.first(x).relu()
        for layer in self.inner:
            x = x + layer(x).relu()
        out = self.head(x)
        return out[:, : actions.NUM_ACTIONS], out[:, actions.NUM_ACTIONS :]


def _relabeled(step: Callable[..., Any]) -> Callable[..., Any]:
    """A gradient step on the minibatch with the deck's suits renamed at random."""

    def renamed(trainer: Trainer, batch: dict[str, Tensor], judged: dict[str, Tensor]) -> Any:
        assert judged is batch  # nothing is played out
        count = trainer.rules[0].num_suits
        order = torch.arange(cards.NUM_SUITS)
        order[:count] = torch.randperm(count, generator=trainer.generator)
        ids = (order[:, None] * cards.NUM_RANKS + torch.arange(cards.NUM_RANKS)).flatten()
        moved = torch.cat([ids, ids + 52, torch.arange(104, 108)])
        batch = dict(batch, suits=batch["suits"][order[:count]], hidden=batch["hidden"][:, ids])
        for name in ("masks", "old", "magnet"):
            batch[name] = batch[name][:, moved]
        batch["chosen"] = moved.argsort()[batch["chosen"]]
        return step(trainer, batch, batch)

    return renamed


def _blind(forward: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda critic, seen, hidden: forward(critic, seen, torch.zeros_like(hidden))


def _without(
    planes: slice,
    numbers: slice,
    observations: Tensor,
    dtype: torch.dtype = torch.float32,
    deck: Deck = FULL,
) -> Features:
    """Features in which some planes and single numbers are 0."""
    seen = features.features(observations, dtype, deck)
    for part in (seen.suits, seen.mean):
        part.unflatten(-1, (features.PLANES, deck.ranks))[..., planes, :] = 0
    seen.scalars[:, numbers] = 0
    return seen


_DEADWOOD = len(observation.BIT_PLANES)
WITHOUT = {
    "without deadwood after discards": (slice(_DEADWOOD, _DEADWOOD + 1), slice(0)),
    "without prospects": (slice(_DEADWOOD + 1, None), slice(-len(prospects.NUMBERS), None)),
}
"""Planes and numbers that a variant does not tell the networks."""


def patches(variant: str) -> contextlib.ExitStack:
    """What a variant takes away, for as long as the context lasts."""
    stack = contextlib.ExitStack()
    if variant == "critic without the hidden hand":
        stack.enter_context(mock.patch.object(Critic, "forward", _blind(Critic.forward)))
    if variant.startswith("perceptron"):
        stack.enter_context(mock.patch("agents.ppo.Actor", PlainActor))
    if variant == "perceptron, suits renamed":
        step = _relabeled(Trainer._gradient_step)
        stack.enter_context(mock.patch.object(Trainer, "_gradient_step", step))
    if variant in WITHOUT:
        for module in ("agents.ppo", "agents.policy"):
            told = functools.partial(_without, *WITHOUT[variant])
            stack.enter_context(mock.patch(f"{module}.features", told))
    return stack


VARIANTS: dict[str, dict[str, Any]] = {
    "recipe": {},
    "temperature .2 -> .01": {"temperature_start": 0.2, "temperature_end": 0.01},
    "temperature .5, constant": {"temperature_end": 0.5},
    "uniform magnet, .5 -> .025": {"magnet_time": NEVER},
    "plain PPO": {"temperature_start": 0, "temperature_end": 0},
    "plain PPO, entropy .05": {
        "temperature_start": 0.05,
        "temperature_end": 0.05,
        "magnet_time": NEVER,
    },
    "critic without the hidden hand": {},
    "without the guess": {"guess_weight": 0},
    "guess of 50 times the weight": {"guess_weight": 5},
    "belief of its own": {"belief": NetworkConfig(width=32, layers=2)},
    "perceptron": {},
    "perceptron, suits renamed": {},
    **{variant: {} for variant in WITHOUT},
}
"""Settings that each changes; see also :func:`patches`."""


def kept(file: Path, asked: dict[str, int | None]) -> list[dict[str, Any]]:
    """The runs in the file, if there is one; ``asked``: the options that must be theirs too.

    Raises ValueError for runs of which something else was asked: they don't compare.
    """
    runs: list[dict[str, Any]] = json.loads(file.read_text()) if file.exists() else []
    for each in runs:
        theirs = each.get("asked")
        for name, value in asked.items():
            had = theirs.get(name, "another") if isinstance(theirs, dict) else "another"
            if had != value:
                raise ValueError(
                    f"--{name} {value}: runs in {file} have {had}; give another --json"
                )
    return runs


def write(file: Path, runs: list[dict[str, Any]]) -> None:
    """All runs so far, a line each."""
    with whole_file(file) as out:
        out.write(b"[\n" + ",\n".join(map(json.dumps, runs)).encode() + b"\n]\n")
