"""The settings of a training run, with their meaning and their defaults."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ginenv.rules import Rules, preset


@dataclass(frozen=True)
class NetworkConfig:
    """Size of a network."""

    width: int = 128
    """Features per suit."""
    layers: int = 3
    """Residual layers."""

    def __post_init__(self) -> None:
        if self.width < 1 or self.layers < 0:
            raise ValueError(
                f"width={self.width}, layers={self.layers}: must be at least 1 and at least 0"
            )


@dataclass(kw_only=True)
class PPOConfig:
    """All settings of a training run."""

    name: str = "run"
    """The run is written to runs/<name>."""
    rules: str = "classic"
    """Preset of the rules trained on."""
    rule_fields: dict[str, Any] = field(default_factory=dict)
    """Rules that differ from the preset, as a mapping."""
    seed: int = 0
    """Of the decks, the first weights, all choices and the order of minibatches."""
    decisions: int = 100_000_000
    """Decisions of both seats to train on, all in all. Temperature, learning rate and magnet run
    over this total: going on with a greater one raises them again."""
    lanes: int = 1024
    """Hands played at once."""
    steps: int = 64
    """Decisions on each lane between two updates."""
    minibatch: int = 4096
    """Decisions in a gradient step."""
    epochs: int = 2
    """Passes over the decisions of an iteration."""
    actor: NetworkConfig = field(default_factory=NetworkConfig)
    """Size of the policy's network."""
    critic: NetworkConfig = field(default_factory=NetworkConfig)
    """Size of the value's network."""
    learning_rate: float = 3e-4
    """Adam's at the start; falls linearly to 5 % of it."""
    trace: float = 0.9
    """Lambda of the advantages: how far they look beyond the critic's next word."""
    clip: float = 0.2
    """How far a probability ratio may leave 1 before it stops paying."""
    temperature_start: float = 0.5
    """Weight of the pull to the magnet at the start, in standard deviations of the advantage."""
    temperature_end: float = 0.025
    """The same at the end; linear between."""
    magnet_time: float = 0.1
    """Time constant of the magnet's average, as a share of the run."""
    old_weight: float = 0.1
    """Weight of the divergence from the policy that chose."""
    value_weight: float = 0.5
    """Weight of the critic's squared error."""
    max_gradient: float = 0.5
    """The gradients of each network are scaled down to this norm."""
    reward_scale: float = 20.0
    """Points that make a reward of 1: about their standard deviation a hand."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the networks' products: bfloat16 where the processor multiplies it, else float32."""
    threads: int = 1
    """Torch's threads. On a busy machine two can be far slower than one."""
    evaluate_every: int = 1_000_000
    """Decisions between evaluations."""
    evaluate_deals: int = 300
    """Deals of an evaluation against each opponent, each played twice."""
    snapshot_seconds: float = 120.0
    """Seconds between snapshots of the training state."""

    def __post_init__(self) -> None:
        for name in (
            *("decisions", "lanes", "steps", "minibatch", "epochs", "threads", "evaluate_every"),
            *("learning_rate", "clip", "magnet_time", "max_gradient", "reward_scale"),
            "snapshot_seconds",
        ):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name}={getattr(self, name)}: must be greater than 0")
        for name in ("seed", "temperature_start", "temperature_end", "old_weight", "value_weight"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}={getattr(self, name)}: must be 0 or more")
        if not 0 <= self.trace <= 1:
            raise ValueError(f"trace={self.trace}: must be 0 to 1")
        if self.minibatch > self.lanes * self.steps:
            raise ValueError(
                f"minibatch={self.minibatch}: must be at most lanes x steps = "
                f"{self.lanes * self.steps}"
            )
        if self.evaluate_deals < 2:
            raise ValueError(f"evaluate_deals={self.evaluate_deals}: must be 2 or more")
        if not self.name or "/" in self.name or self.name.startswith("."):
            raise ValueError(f"name={self.name!r}: must be the name of a folder")
        if self.make_rules().seating != "heads_up":
            raise ValueError(f"rules={self.rules}: hands are trained heads up")

    def make_rules(self) -> Rules:
        """The rules trained on. Raises RulesError."""
        return preset(self.rules, **self.rule_fields)
