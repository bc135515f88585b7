"""Masked PPO by self-play, from top to bottom.

The mover's policy gradient is clipped as in PPO (Schulman et al. 2017, arXiv 1707.06347) and
pulled towards a magnet, a slow average of the actor itself, as in magnetic mirror descent
(Sokota et al. 2022, arXiv 2206.05825): in a game with hidden information plain self-play can
cycle, the pull makes it settle. Its weight, the temperature, falls from high to low over the run.
Both seats are the current policy. The critic also sees the hidden hand, in training only; the
actor learns beside its choices to guess that hand.

Several ranks (processes) each play lanes of their own and add up their gradients.
"""

from __future__ import annotations

import copy
import io
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.distributed as distributed
import torch.nn.functional as functional
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from agents.network import Actor, Critic, Features, features, masked_log_probs
from agents.ppo_config import PPOConfig
from agents.selfplay import HandCounts, SelfPlay
from ginenv import actions, cards, observation, scoring

_DOMAIN = 0x7472_6169_6E  # "train"


@dataclass(slots=True)
class Rollout:
    """T decisions on each of B lanes, by whichever seat was on move."""

    observations: Tensor
    """uint8 [T, B, observation.GAME_SIZE]."""
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
    """To the mover, float32 [T, B], when his action ended the hand: see ``agents.selfplay``."""
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


class Trainer:
    """The networks, the lanes they play on, and the steps of the algorithm."""

    def __init__(self, config: PPOConfig, rank: int = 0) -> None:
        torch.set_num_threads(config.threads)
        self.config = config
        self.rank = rank
        self.rules = config.make_rules()
        self.decisions = 0
        # Weights are drawn alike in all ranks.
        with torch.random.fork_rng():  # layers draw their first weights from torch's own one
            torch.manual_seed(int(self._seeds(0).spawn(3)[2].generate_state(1)[0]))
            self.actor = Actor(config.actor)
            self.critic = Critic(config.critic)
        self.magnet = copy.deepcopy(self.actor).requires_grad_(False)
        self.weights = [*self.actor.parameters(), *self.critic.parameters()]
        self.optimizer = torch.optim.Adam(self.weights, lr=config.learning_rate, eps=1e-5)
        self._begin_lanes()
        self.bfloat16 = config.precision == "bfloat16" or (
            config.precision == "auto" and _multiplies_bfloat16()
        )
        self.seconds = {"engine": 0.0, "network": 0.0, "update": 0.0}

    def _seeds(self, rank: int) -> np.random.SeedSequence:
        # A domain of its own: evaluations with the same seed must not be played on decks that
        # were trained on.
        return np.random.SeedSequence([_DOMAIN, self.config.seed, rank, self.decisions])

    def _begin_lanes(self) -> None:
        """New lanes and generators, from the seed, the rank and the decisions done."""
        config = self.config
        deck_seed, torch_seed, _ = self._seeds(self.rank).spawn(3)
        decks = np.random.default_rng(deck_seed)
        self.lanes = SelfPlay(self.rules, config.episodes, config.lanes // config.ranks, decks)
        self.generator = torch.Generator().manual_seed(int(torch_seed.generate_state(1)[0]))

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
        """All that the run needs to go on as if never stopped: tensors, numbers and texts.

        Every rank must call it; what rank 0 gets is whole.
        """
        own = {"lanes": self.lanes.state_dict(), "generator": self.generator.get_state()}
        every = [own] if self.config.ranks == 1 else _gather(own, self.config.ranks)
        return {
            "actor": self.actor.state_dict(),
            "critic": self.critic.state_dict(),
            "magnet": self.magnet.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "decisions": self.decisions,
            "ranks": every,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what :meth:`state_dict` gave, under the same settings.

        Another number of ranks begins with new lanes.
        """
        self.actor.load_state_dict(state["actor"])
        self.critic.load_state_dict(state["critic"])
        self.magnet.load_state_dict(state["magnet"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.decisions = state["decisions"]
        if len(state["ranks"]) != self.config.ranks:
            self._begin_lanes()
            return
        own = state["ranks"][self.rank]
        self.lanes.load_state_dict(own["lanes"])
        self.generator.set_state(own["generator"])

    def iterate(self) -> dict[str, float]:
        """Play, learn, move the magnet; figures of the iteration by TensorBoard tag."""
        rollout, counts = self.collect()
        start = time.perf_counter()
        figures = self.update(rollout)
        self.seconds["update"] += time.perf_counter() - start
        done = rollout.chosen.numel() * self.config.ranks
        self.decisions += done
        self._move_magnet(done)
        self.lanes.new_chances()
        return figures | _hand_figures(counts)

    def collect(self) -> tuple[Rollout, HandCounts]:
        """Play ``steps`` decisions on every lane with the current policy in both seats."""
        config = self.config
        shape = (config.steps, config.lanes // config.ranks)
        more = (config.steps + 1, shape[1])
        rollout = Rollout(
            observations=torch.empty((*shape, observation.GAME_SIZE), dtype=torch.uint8),
            hidden=torch.empty((*shape, cards.NUM_CARDS), dtype=torch.uint8),
            masks=torch.empty((*shape, actions.NUM_ACTIONS), dtype=torch.uint8),
            chosen=torch.empty(shape, dtype=torch.int64),
            log_probs=torch.empty((*shape, actions.NUM_ACTIONS)),
            values=torch.empty(more),
            movers=torch.empty(more, dtype=torch.int64),
            rewards=torch.empty(shape),
            dones=torch.empty(shape, dtype=torch.bool),
        )
        counts = HandCounts()
        for t in range(config.steps + 1):
            start = time.perf_counter()
            seen, hidden, masks, movers = map(torch.from_numpy, self.lanes.look())
            rollout.movers[t] = movers
            middle = time.perf_counter()
            with torch.no_grad(), self._autocast():
                read = self._features(seen)
                rollout.values[t] = self.critic(read, hidden)
                if t < config.steps:
                    log_probs = masked_log_probs(self.actor(read)[0], masks)
                    chosen = self._sample(log_probs)
            end = time.perf_counter()
            if t < config.steps:
                rollout.observations[t], rollout.hidden[t], rollout.masks[t] = seen, hidden, masks
                rollout.log_probs[t], rollout.chosen[t] = log_probs, chosen
                paid, over = self.lanes.step(
                    chosen.numpy(), config.reward_scale, config.chance_scale, counts
                )
                rollout.rewards[t], rollout.dones[t] = map(torch.from_numpy, (paid, over))
            self.seconds["engine"] += middle - start + time.perf_counter() - end
            self.seconds["network"] += end - middle
        return rollout, counts

    def _sample(self, log_probs: Tensor) -> Tensor:
        """One action a row, by Gumbel noise (no action that is masked can win)."""
        uniform = torch.rand(log_probs.shape, generator=self.generator).clamp_(min=1e-20)
        return (log_probs - (-uniform.log()).log()).argmax(dim=1)

    def update(self, rollout: Rollout) -> dict[str, float]:
        """``epochs`` passes of gradient steps over a rollout; mean figures by tag."""
        config = self.config
        gains = advantages(
            rollout.rewards, rollout.dones, rollout.values, rollout.movers, config.trace
        )
        returns = (gains + rollout.values[:-1]).flatten()
        mean, deviation = self._moments(gains)
        normal = ((gains - mean) / (deviation + 1e-8)).flatten()
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
            for rows in order.split(config.minibatch // config.ranks):
                figures = self._gradient_step({name: x[rows] for name, x in batch.items()})
                passes += 1
                for name, value in figures.items():
                    sums[name] = sums.get(name, 0.0) + value
        spread = returns.var()
        error = (returns - rollout.values[:-1].flatten()).var()
        return {name: value / passes for name, value in sums.items()} | {
            "loss/explained_variance": float(1 - error / spread),
            "loss/advantage_sd": float(deviation),
            "schedule/temperature": self.temperature,
            "schedule/learning_rate": self.learning_rate,
        }

    def _moments(self, gains: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation over the decisions of all ranks."""
        sums = torch.stack([gains.sum(), gains.square().sum(), torch.tensor(float(gains.numel()))])
        if self.config.ranks > 1:
            distributed.all_reduce(sums)
        total, squares, count = sums
        mean = total / count
        return mean, (squares / count - mean.square()).clamp(min=0).sqrt()

    def _gradient_step(self, batch: dict[str, Tensor]) -> dict[str, float]:
        with self._autocast():
            read = self._features(batch["observations"])
            logits, guess = self.actor(read)
            log_probs = masked_log_probs(logits, batch["masks"])
            values = self.critic(read, batch["hidden"])
        losses, figures = self.losses(log_probs, values, guess, batch)
        self.optimizer.zero_grad()
        losses.backward()
        self._share_gradients()
        for name, network in (("actor", self.actor), ("critic", self.critic)):
            norm = clip_grad_norm_(network.parameters(), self.config.max_gradient)
            figures[f"loss/gradient_norm_{name}"] = float(norm)
        self.optimizer.step()
        return figures

    def _share_gradients(self) -> None:
        """The mean of the ranks' gradients, in one message."""
        if self.config.ranks == 1:
            return
        gradients = [weight.grad for weight in self.weights if weight.grad is not None]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        distributed.all_reduce(flat)
        flat /= self.config.ranks
        parts = flat.split([gradient.numel() for gradient in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))

    def losses(
        self, log_probs: Tensor, values: Tensor, guess: Tensor, batch: dict[str, Tensor]
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
        guessed = functional.binary_cross_entropy_with_logits(guess, batch["hidden"].float())
        loss = (
            policy
            + self.temperature * to_magnet
            + config.old_weight * to_old
            + config.value_weight * value
            + config.guess_weight * guessed
        )
        return loss, {
            "loss/policy": policy.item(),
            "loss/value": value.item(),
            "loss/guess": guessed.item(),
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
                [masked_log_probs(self.magnet(self._features(x))[0], mask) for x, mask in parts]
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


def _gather(own: Any, ranks: int) -> list[Any]:
    """What each rank has, in order."""
    # As a file in memory: torch cannot pickle all of its kinds of numbers.
    buffer = io.BytesIO()
    torch.save(own, buffer)
    every: list[Any] = [None] * ranks
    distributed.all_gather_object(every, buffer.getvalue())
    return [torch.load(io.BytesIO(each), weights_only=True) for each in every]


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
