"""Policy files: a trained actor as safetensors, with what it is good for in the header."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from agents import prospects
from agents.features import Deck, features
from agents.network import Actor, Critic, masked_log_probs
from agents.ppo_config import NetworkConfig
from ginenv import actions, cards
from ginenv.actions import Legal
from ginenv.files import whole_file
from ginenv.observation import View
from ginenv.rules import DECK_FIELDS, HAND_FIELDS, Rules

FORMAT = "ginenv-policy/1"
_CRITIC = "critic."
LEAST_PROBABILITY = 0.01
"""Rarer choices are dropped in play: they are what is left of exploring."""
_ROWS = 1024
"""Positions looked at together: of many more the network's numbers leave the processor's cache."""


class PolicyFileError(ValueError):
    """A file that is no policy, or none for these rules or this version."""


def save_policy(
    path: Path,
    actor: Actor,
    header: dict[str, Any],
    critic: tuple[Critic, float] | None = None,
) -> None:
    """Write a policy file whole.

    ``header`` holds at least ``rules``: those trained on, each with every field by name.
    ``critic``: with the points of one unit of its values. It shows what hands are
    worth (:mod:`agents.watch`) and other runs begin with it; it has no part in how the policy
    plays.
    """
    metadata = {
        "format": FORMAT,
        "layout": prospects.LAYOUT_VERSION,
        "network": json.dumps(asdict(actor.body.size)),
        **({"belief": json.dumps(asdict(actor.belief.body.size))} if actor.belief else {}),
        **{name: json.dumps(value) for name, value in header.items()},
    }
    tensors = {name: weight.contiguous() for name, weight in actor.state_dict().items()}
    if critic is not None:
        network, scale = critic
        metadata["critic"] = json.dumps({"network": asdict(network.body.size), "scale": scale})
        tensors |= {_CRITIC + k: weight.contiguous() for k, weight in network.state_dict().items()}
    with whole_file(path) as file:
        file.write(save(tensors, metadata=metadata))


def read_header(path: Path) -> dict[str, Any]:
    """The header of a policy file. Raises PolicyFileError that names the file and the fault."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = dict(file.metadata() or {})
    except (SafetensorError, OSError) as error:
        raise PolicyFileError(f"{path}: not a safetensors file ({error})") from None
    if metadata.get("format") != FORMAT:
        raise PolicyFileError(f"{path}: format is {metadata.get('format')!r}, not {FORMAT!r}")
    if metadata.get("layout") != prospects.LAYOUT_VERSION:
        raise PolicyFileError(
            f"{path}: trained on observation layout {metadata.get('layout')!r}, "
            f"this version has {prospects.LAYOUT_VERSION!r}"
        )
    plain = ("format", "layout")
    try:
        header = {k: v if k in plain else json.loads(v) for k, v in metadata.items()}
    except json.JSONDecodeError as error:
        raise PolicyFileError(f"{path}: damaged header ({error})") from None
    rules = header.get("rules")
    every = rules if isinstance(rules, list) and rules else [None]
    if not all(isinstance(part, dict) for part in (*every, header.get("network"))):
        raise PolicyFileError(f"{path}: damaged header (rules or network)")
    return header


def belief_size(header: dict[str, Any]) -> NetworkConfig | None:
    """Of the policy that has this header."""
    return NetworkConfig(**header["belief"]) if header.get("belief") else None


class Policy:
    """Plays as a trained actor does, sampling from its probabilities."""

    def __init__(
        self, actor: Actor, in_games: bool = True, dtype: torch.dtype = torch.float32
    ) -> None:
        self.actor = actor
        self.in_games = in_games
        """Whether it has learned what a score means; else it is shown each hand as a single one."""
        self.dtype = dtype
        """What its networks compute in."""

    @staticmethod
    def load(path: Path, rules: Rules) -> Policy:
        """The policy of a file, to play by ``rules``.

        Raises PolicyFileError for another layout, another deck or a damaged file; warns of rules
        that it was not trained on.
        """
        header = read_header(path)
        every = header["rules"]
        for field in DECK_FIELDS:
            if every[0].get(field) != getattr(rules, field):
                raise PolicyFileError(
                    f"{path}: trained with {field}={every[0].get(field)}, "
                    f"these rules have {field}={getattr(rules, field)}"
                )
        _warn_of_new_rules(path, every, rules)
        try:
            actor = Actor(NetworkConfig(**header["network"]), Deck.of(rules), belief_size(header))
            actor.load_state_dict(_weights(path, critic=False))
        except (ValueError, TypeError, RuntimeError, SafetensorError) as error:
            raise _damaged(path, error) from None
        return Policy(actor, in_games="game" in header.get("episodes", ["game"]))

    def act(self, view: View, legal: Legal, generator: np.random.Generator) -> NDArray[np.intp]:
        """See :class:`agents.Agent`."""
        total = self.probabilities(view, legal).cumsum(axis=1)
        mark = generator.random((len(total), 1)) * total[:, -1:]
        # The first action whose sum passes the mark: never one of probability 0.
        return (total > mark).argmax(axis=1)

    def probabilities(self, view: View, legal: Legal) -> NDArray[np.float32]:
        """How likely each action is, [B, 108], rare ones dropped."""
        masks = torch.from_numpy(actions.mask(legal))
        view = view if self.in_games else replace(view, game=None)
        seen = torch.from_numpy(prospects.encode(view))
        with torch.no_grad():
            parts = zip(seen.split(_ROWS), masks.split(_ROWS), strict=True)
            likely = torch.cat([self._likely(*part) for part in parts]).numpy()
        keep = (likely >= LEAST_PROBABILITY) | (likely == likely.max(axis=1, keepdims=True))
        likely = np.where(keep, likely, np.float32(0))
        return likely / likely.sum(axis=1, keepdims=True)

    def _likely(self, seen: Tensor, masks: Tensor) -> Tensor:
        logits, _ = self.actor(features(seen, self.dtype, self.actor.deck))
        # exp takes many times as long where nothing is left of the result; what is, is dropped.
        return masked_log_probs(logits, masks).clamp(min=-80).exp()


@dataclass(frozen=True)
class Judge:
    """What a hand is worth, by a trained critic."""

    critic: Critic
    scale: float
    """Points of one unit of the critic's."""
    dtype: torch.dtype = torch.float32
    """What the critic computes in."""

    def points(self, view: View, hidden: NDArray[np.uint64]) -> NDArray[np.float32]:
        """What hands played singly are worth in points to the seats of ``view``, float32 [B].

        ``hidden``: the other hands, card sets [B].
        """
        return self.worth(view, hidden) * np.float32(self.scale)

    def worth(self, view: View, hidden: NDArray[np.uint64]) -> NDArray[np.float32]:
        """The same in the critic's units: of a game too, what it was taught to count there."""
        device = next(self.critic.parameters()).device
        seen = torch.from_numpy(prospects.encode(view)).to(device)
        other = torch.from_numpy(cards.bits(hidden)).to(device)
        with torch.no_grad():
            parts = zip(seen.split(_ROWS), other.split(_ROWS), strict=True)
            values = [self._values(*part) for part in parts]
            worth: NDArray[np.float32] = torch.cat(values).cpu().numpy()
        return worth

    def _values(self, seen: Tensor, hidden: Tensor) -> Tensor:
        values: Tensor = self.critic(features(seen, self.dtype, self.critic.deck), hidden)
        return values


def load_critic(path: Path) -> tuple[Critic, float] | None:
    """The critic in a policy file and the points of one unit of its values; None without one.

    Raises PolicyFileError for a damaged file.
    """
    header = read_header(path)
    told = header.get("critic")
    if told is None:
        return None
    try:
        deck = Deck(*(header["rules"][0][field] for field in ("num_suits", "num_ranks")))
        critic = Critic(NetworkConfig(**told["network"]), deck)
        critic.load_state_dict(_weights(path, critic=True))
        return critic, float(told["scale"])
    except (ValueError, TypeError, KeyError, RuntimeError, SafetensorError) as error:
        raise _damaged(path, error) from None


def _weights(path: Path, critic: bool) -> dict[str, Tensor]:
    """The tensors of the critic by their names in it, or those of the actor."""
    start = len(_CRITIC) if critic else 0
    with safe_open(path, framework="pt") as file:
        return {
            name[start:]: file.get_tensor(name)
            for name in file.keys()  # noqa: SIM118
            if name.startswith(_CRITIC) == critic
        }


def _damaged(path: Path, error: Exception) -> PolicyFileError:
    reason = " ".join(str(error).split())[:200]
    return PolicyFileError(f"{path}: damaged policy file ({reason})")


def _warn_of_new_rules(path: Path, every: list[dict[str, Any]], rules: Rules) -> None:
    """Warn of what a policy that was trained on ``every`` one of these rules has never met."""
    new = [[f for f in HAND_FIELDS if each.get(f) != getattr(rules, f)] for each in every]
    fewest = min(new, key=len)
    if fewest:
        trained = every[new.index(fewest)]
        fields = ", ".join(
            f"{name}={getattr(rules, name)} (trained on {trained.get(name)})" for name in fewest
        )
        warnings.warn(f"{path}: never trained on {fields}", stacklevel=3)
