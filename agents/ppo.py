"""Masked PPO by self-play, from top to bottom.

The mover's policy gradient is clipped as in PPO (Schulman et al. 2017, arXiv 1707.06347) and
pulled towards a magnet, a slow average of the actor itself, as in magnetic mirror descent
(Sokota et al. 2022, arXiv 2206.05825): in a game with hidden information plain self-play can
cycle, the pull makes it settle. Its weight, the temperature, falls from high to low over the run.
Both seats are the current policy. The critic also sees the hidden hand, in training only.
"""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from agents.network import Actor, Critic, Features, features, masked_log_probs
from agents.ppo_config import PPOConfig
from ginenv import actions, cards, engine, match, observation, scoring

_DOMAIN = 0x7472_6169_6E  # "train"


@dataclass(slots=True)
class Rollout:
    """T decisions on each of B lanes, by whichever seat was on move."""

    observations: Tensor
    """uint8 [T, B, observation.SIZE]."""
    hidden: Tensor
    """The other hand, uint8 [T, B, 52], for the critic alone."""
    masks: Tensor
    """uint8 [T, B, 108]."""
    chosen: Tensor
    """int64 [T, B]."""
    log_probs: Tensor
    """Of all actions, by the policy that chose, float32 [T, B, 108]."""
    values: Tensor
    """From the mover's view, float32 [T + 1, B]."""
    movers: Tensor
    """Seats, int64 [T + 1, B]."""
    rewards: Tensor
    """To the mover, float32 [T, B]: the hand's points / reward_scale when his action ended it."""
    dones: Tensor
    """Whether the action ended the hand, bool [T, B]."""


def advantages(
    rewards: Tensor, dones: Tensor, values: Tensor, movers: Tensor, trace: float
) -> Tensor:
    """Generalised advantages of a zero-sum game for two, float32 [T, B] (arXiv 1506.02438).

    ``values`` [T + 1, B] are each from the mover's view. What comes next counts with the opposite
    sign where the other seat moves next, and with the same one where the seat moves again, as a
    draw and its discard do. Nothing is carried over the end of a hand. No discount.
    """
    result = torch.empty_like(rewards)
    carry = torch.zeros_like(rewards[0])
    for t in reversed(range(len(rewards))):
        same = movers[t + 1] == movers[t]
        sign = torch.where(same, 1.0, -1.0) * ~dones[t]
        error = rewards[t] + sign * values[t + 1] - values[t]
        carry = error + trace * sign * carry
        result[t] = carry
    return result


@dataclass(slots=True)
class HandCounts:
    """What happened to the hands that ended in a rollout."""

    kinds: np.ndarray[Any, np.dtype[np.int64]] = field(
        default_factory=lambda: np.zeros(len(scoring.KINDS), dtype=np.int64)
    )
    turns: int = 0
    points: int = 0
    knock_deadwood: int = 0


class Trainer:
    """The networks, the lanes they play on, and the steps of the algorithm."""

    def __init__(self, config: PPOConfig) -> None:
        torch.set_num_threads(config.threads)
        self.config = config
        self.rules = config.make_rules()
        # A domain of its own: evaluations with the same seed must not be played on decks that
        # were trained on.
        deck_seed, torch_seed = np.random.SeedSequence([_DOMAIN, config.seed]).spawn(2)
        self.decks = np.random.default_rng(deck_seed)
        self.generator = torch.Generator().manual_seed(int(torch_seed.generate_state(1)[0]))
        with torch.random.fork_rng():  # layers draw their first weights from torch's own one
            torch.manual_seed(int(torch_seed.generate_state(2)[1]))
            self.actor = Actor(config.actor)
            self.critic = Critic(config.critic)
        self.magnet = copy.deepcopy(self.actor).requires_grad_(False)
        weights = [*self.actor.parameters(), *self.critic.parameters()]
        self.optimizer = torch.optim.Adam(weights, lr=config.learning_rate, eps=1e-5)
        self.state = self._deal(config.lanes)
        self.decisions = 0
        self.bfloat16 = config.precision == "bfloat16" or (
            config.precision == "auto" and _multiplies_bfloat16()
        )
        self.seconds = {"engine": 0.0, "network": 0.0, "update": 0.0}

    @property
    def done(self) -> bool:
        """Whether all decisions of the run have been trained on."""
        return self.decisions >= self.config.decisions

    @property
    def temperature(self) -> float:
        """Weight of the pull to the magnet now."""
        config = self.config
        part = min(1.0, self.decisions / config.decisions)
        return config.temperature_start + part * (config.temperature_end - config.temperature_start)

    @property
    def learning_rate(self) -> float:
        """Adam's rate now."""
        part = min(1.0, self.decisions / self.config.decisions)
        return self.config.learning_rate * (1 - 0.95 * part)

    def state_dict(self) -> dict[str, Any]:
        """All that the run needs to go on as if never stopped: tensors, numbers and texts."""
        lanes = {
            name: torch.from_numpy(getattr(self.state, name).copy()) for name in engine.COLUMNS
        }
        return {
            "actor": self.actor.state_dict(),
            "critic": self.critic.state_dict(),
            "magnet": self.magnet.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "decisions": self.decisions,
            "lanes": lanes,
            "decks": self.decks.bit_generator.state,
            "generator": self.generator.get_state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what :meth:`state_dict` gave, under the same settings."""
        self.actor.load_state_dict(state["actor"])
        self.critic.load_state_dict(state["critic"])
        self.magnet.load_state_dict(state["magnet"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.decisions = state["decisions"]
        for name, column in state["lanes"].items():
            setattr(self.state, name, column.numpy().copy())
        self.decks.bit_generator.state = state["decks"]
        self.generator.set_state(state["generator"])

    def iterate(self) -> dict[str, float]:
        """Play, learn, move the magnet; figures of the iteration by TensorBoard tag."""
        rollout, counts = self.collect()
        start = time.perf_counter()
        figures = self.update(rollout)
        self.seconds["update"] += time.perf_counter() - start
        self.decisions += rollout.chosen.numel()
        self._move_magnet(rollout.chosen.numel())
        return figures | _hand_figures(counts)

    def collect(self) -> tuple[Rollout, HandCounts]:
        """Play ``steps`` decisions on every lane with the current policy in both seats."""
        config, shape = self.config, (self.config.steps, self.config.lanes)
        rollout = Rollout(
            observations=torch.empty((*shape, observation.SIZE), dtype=torch.uint8),
            hidden=torch.empty((*shape, cards.NUM_CARDS), dtype=torch.uint8),
            masks=torch.empty((*shape, actions.NUM_ACTIONS), dtype=torch.uint8),
            chosen=torch.empty(shape, dtype=torch.int64),
            log_probs=torch.empty((*shape, actions.NUM_ACTIONS)),
            values=torch.empty((config.steps + 1, config.lanes)),
            movers=torch.empty((config.steps + 1, config.lanes), dtype=torch.int64),
            rewards=torch.empty(shape),
            dones=torch.empty(shape, dtype=torch.bool),
        )
        counts = HandCounts()
        for t in range(config.steps + 1):
            start = time.perf_counter()
            seen, hidden, masks = self._look()
            rollout.movers[t] = torch.from_numpy(self.state.mover)
            middle = time.perf_counter()
            with torch.no_grad(), self._autocast():
                read = self._features(seen)
                rollout.values[t] = self.critic(read, hidden)
                if t < config.steps:
                    log_probs = masked_log_probs(self.actor(read), masks)
                    chosen = self._sample(log_probs)
            end = time.perf_counter()
            if t < config.steps:
                rollout.observations[t], rollout.hidden[t], rollout.masks[t] = seen, hidden, masks
                rollout.log_probs[t], rollout.chosen[t] = log_probs, chosen
                rollout.rewards[t], rollout.dones[t] = self._step(chosen, counts)
            self.seconds["engine"] += middle - start + time.perf_counter() - end
            self.seconds["network"] += end - middle
        return rollout, counts

    def _look(self) -> tuple[Tensor, Tensor, Tensor]:
        """The movers' observations, the hands hidden from them, their masks."""
        state = self.state
        seen = observation.encode(observation.view(state))
        hidden = state.hands[np.arange(len(state)), 1 - state.mover]
        masks = actions.mask(engine.legal(state))
        return (
            torch.from_numpy(seen),
            torch.from_numpy(cards.bits(hidden)),
            torch.from_numpy(masks),
        )

    def _sample(self, log_probs: Tensor) -> Tensor:
        """One action a row, by Gumbel noise (no action that is masked can win)."""
        uniform = torch.rand(log_probs.shape, generator=self.generator).clamp_(min=1e-20)
        return (log_probs - (-uniform.log()).log()).argmax(dim=1)

    def _step(self, chosen: Tensor, counts: HandCounts) -> tuple[Tensor, Tensor]:
        """Play the actions, deal ended lanes again; the movers' rewards and what has ended."""
        state = self.state
        movers = state.mover.copy()
        engine.step(state, chosen.numpy())
        over = state.over
        ended = over.nonzero()[0]
        rewards = np.zeros(len(state), dtype=np.float32)
        if len(ended):
            winner, points = state.winner[ended], state.points[ended]
            sign = np.where(winner < 0, 0, np.where(winner == movers[ended], 1, -1))
            rewards[ended] = sign * points / self.config.reward_scale
            kinds = np.bincount(state.kind[ended], minlength=len(scoring.KINDS))
            counts.kinds += kinds
            counts.turns += int(state.turn[ended].sum()) + int(kinds[: scoring.DEAD].sum())
            counts.points += int(points.sum())
            counts.knock_deadwood += int(state.deadwood[ended, movers[ended]].sum())
            state.put(ended, self._deal(len(ended)))
        return torch.from_numpy(rewards), torch.from_numpy(over)

    def _deal(self, lanes: int) -> engine.State:
        decks = engine.shuffle(self.rules, self.decks, lanes)
        return engine.deal(self.rules, decks, match.cut(self.rules, self.decks, lanes))

    def update(self, rollout: Rollout) -> dict[str, float]:
        """``epochs`` passes of gradient steps over a rollout; mean figures by tag."""
        config = self.config
        gains = advantages(
            rollout.rewards, rollout.dones, rollout.values, rollout.movers, config.trace
        )
        returns = (gains + rollout.values[:-1]).flatten()
        normal = ((gains - gains.mean()) / (gains.std() + 1e-8)).flatten()
        batch = {
            "observations": rollout.observations.flatten(0, 1),
            "hidden": rollout.hidden.flatten(0, 1),
            "masks": rollout.masks.flatten(0, 1),
            "chosen": rollout.chosen.flatten(),
            "old": rollout.log_probs.flatten(0, 1),
            "gains": normal,
            "returns": returns,
        }
        batch["magnet"] = self._magnet_log_probs(batch["observations"], batch["masks"])
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate
        sums: dict[str, float] = {}
        passes = 0
        for _ in range(config.epochs):
            order = torch.randperm(len(returns), generator=self.generator)
            for rows in order.split(config.minibatch):
                figures = self._gradient_step({name: x[rows] for name, x in batch.items()})
                passes += 1
                for name, value in figures.items():
                    sums[name] = sums.get(name, 0.0) + value
        spread = returns.var()
        error = (returns - rollout.values[:-1].flatten()).var()
        return {name: value / passes for name, value in sums.items()} | {
            "loss/explained_variance": float(1 - error / spread),
            "loss/advantage_sd": float(gains.std()),
            "schedule/temperature": self.temperature,
            "schedule/learning_rate": self.learning_rate,
        }

    def _gradient_step(self, batch: dict[str, Tensor]) -> dict[str, float]:
        with self._autocast():
            read = self._features(batch["observations"])
            log_probs = masked_log_probs(self.actor(read), batch["masks"])
            values = self.critic(read, batch["hidden"])
        losses, figures = self.losses(log_probs, values, batch)
        self.optimizer.zero_grad()
        losses.backward()
        for name, network in (("actor", self.actor), ("critic", self.critic)):
            norm = clip_grad_norm_(network.parameters(), self.config.max_gradient)
            figures[f"loss/gradient_norm_{name}"] = float(norm)
        self.optimizer.step()
        return figures

    def losses(
        self, log_probs: Tensor, values: Tensor, batch: dict[str, Tensor]
    ) -> tuple[Tensor, dict[str, float]]:
        """The loss of a minibatch and its parts, from the mover's view, means over decisions."""
        config = self.config
        chosen = batch["chosen"].unsqueeze(1)
        log_ratio = (log_probs - batch["old"]).gather(1, chosen).squeeze(1)
        ratio, gains = log_ratio.exp(), batch["gains"]
        clipped = ratio.clamp(1 - config.clip, 1 + config.clip)
        policy = -torch.minimum(ratio * gains, clipped * gains).mean()
        probs = log_probs.exp()
        to_magnet = (probs * (log_probs - batch["magnet"])).sum(1).mean()
        to_old = (probs * (log_probs - batch["old"])).sum(1).mean()
        value = (values - batch["returns"]).square().mean()
        loss = (
            policy
            + self.temperature * to_magnet
            + config.old_weight * to_old
            + config.value_weight * value
        )
        return loss, {
            "loss/policy": policy.item(),
            "loss/value": value.item(),
            "policy/entropy": -(probs * log_probs).sum(1).mean().item(),
            "policy/kl_to_magnet": to_magnet.item(),
            "policy/kl_to_old": to_old.item(),
            "policy/clip_fraction": ((ratio - 1).abs() > config.clip).float().mean().item(),
            "policy/ratio_error": (ratio - 1).abs().max().item(),
        }

    def _magnet_log_probs(self, observations: Tensor, masks: Tensor) -> Tensor:
        with torch.no_grad(), self._autocast():
            parts = zip(
                observations.split(self.config.minibatch),
                masks.split(self.config.minibatch),
                strict=True,
            )
            return torch.cat(
                [masked_log_probs(self.magnet(self._features(x)), mask) for x, mask in parts]
            )

    def _move_magnet(self, decisions: int) -> None:
        """Towards the actor, by as much as an average over ``magnet_time`` of the run asks."""
        span = self.config.magnet_time * self.config.decisions
        weight = 1 - float(np.exp(-decisions / span))
        with torch.no_grad():
            for slow, fast in zip(self.magnet.parameters(), self.actor.parameters(), strict=True):
                slow.lerp_(fast, weight)

    def _features(self, observations: Tensor) -> Features:
        return features(observations, torch.bfloat16 if self.bfloat16 else torch.float32)

    def _autocast(self) -> torch.autocast:
        return torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.bfloat16)


def _hand_figures(counts: HandCounts) -> dict[str, float]:
    """Rates of the hands that ended, by tag; nothing if none has."""
    hands = int(counts.kinds.sum())
    if not hands:
        return {}
    rates = {
        f"hands/{name}": int(counts.kinds[code]) / hands
        for code, name in enumerate(scoring.KINDS)
        if code not in (scoring.PLAYING, scoring.FORFEIT)
    }
    scored = hands - int(counts.kinds[scoring.DEAD])
    knocks = int(counts.kinds[[scoring.KNOCK, scoring.UNDERCUT, scoring.TIE]].sum())
    return rates | {
        "hands/turns_each": counts.turns / hands / 2,
        "hands/points_of_winner": counts.points / max(scored, 1),
        "hands/knock_deadwood": counts.knock_deadwood / max(knocks, 1),
    }


def _multiplies_bfloat16() -> bool:
    """Whether the processor has instructions for bfloat16 products, as far as torch tells."""
    names = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(getattr(torch.cpu, name, lambda: False)() for name in names)
