"""How a policy learns, from top to bottom: up to three phases, one after another.

- Lessons (``teacher``): it learns to choose as an agent does who plays both seats.
- Playouts (``playout_decisions``): likely actions are tried, and it moves to those that gain
  (:mod:`agents.playouts`).
- Masked PPO: the mover's policy gradient is clipped (Schulman et al. 2017, arXiv 1707.06347).

``configs/smoke.yaml`` and the small decks' are PPO from the start, ``quick`` is lessons and PPO,
``ppo`` lessons and playouts, and what goes on from a policy (``mixed``, ``longer``) playouts.

In all but lessons it is pulled towards a magnet, a slow average of the actor itself, as in magnetic
mirror descent (Sokota et al. 2022, arXiv 2206.05825): in a game with hidden information plain
self-play can cycle, the pull makes it settle. Its weight, the temperature, falls from high to low
over the run. Both seats are the current policy, or ``opponents`` have one of them on some lanes.
The critic also sees the hidden hand, in training only; the actor learns what that hand may be.

Several ranks (processes) each play lanes of their own and add up their gradients.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.nn.functional as functional
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

import agents
from agents import other_hand, ranks
from agents.device import find_device, find_dtype
from agents.features import Deck, Features, features
from agents.hand_counts import HandCounts
from agents.network import Actor, Critic, masked_log_probs
from agents.playouts import Continuation
from agents.policy import Judge, Policy
from agents.ppo_config import PPOConfig
from agents.rollout import Rollout, take
from agents.selfplay import SelfPlay
from agents.start import begin_with_policy
from agents.workers import Workers, one_state, workers_of
from ginenv import engine

_DOMAIN = 0x7472_6169_6E  # "train"
PARTS = ("engine", "network", "others", "playouts", "update")
"""What an iteration's time goes into."""


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
        self.device = find_device(config.device, rank)
        self.dtype = find_dtype(config.precision, self.device)
        self.rules = config.make_rules()
        self.deck = Deck.of(self.rules[0])  # of all of them
        self.decisions = 0
        # Weights are drawn alike in all ranks.
        with torch.random.fork_rng():  # layers draw their first weights from torch's own one
            torch.manual_seed(int(self._seeds(0).spawn(3)[2].generate_state(1)[0]))
            self.actor = Actor(config.actor, self.deck, config.belief).to(self.device)
            self.critic = Critic(config.critic, self.deck).to(self.device)
        self.teacher = agents.load(config.teacher, self.rules[0]) if config.teacher else None
        if config.start is not None:
            begin_with_policy(self.actor, self.critic, config)
        self.magnet = copy.deepcopy(self.actor).requires_grad_(False)
        believes = list(self.actor.belief.parameters()) if self.actor.belief else []
        self.networks = {
            "actor": list(self.actor.parameters())[len(believes) :],  # the belief comes first
            **({"belief": believes} if believes else {}),
            "critic": list(self.critic.parameters()),
        }
        self.weights = [weight for part in self.networks.values() for weight in part]
        self.optimizer = torch.optim.Adam(
            self.weights, lr=config.learning_rate, eps=1e-5, fused=True
        )
        self.lanes: SelfPlay | Workers
        self._begin_lanes()
        self.seconds = dict.fromkeys(PARTS, 0.0)

    def _seeds(self, rank: int) -> np.random.SeedSequence:
        # A domain of its own: evaluations with the same seed must not be played on decks that
        # were trained on.
        return np.random.SeedSequence([_DOMAIN, self.config.seed, rank, self.decisions])

    def _begin_lanes(self) -> None:
        """New lanes and generators, from the seed, the rank and the decisions done."""
        config = self.config
        deck_seed, torch_seed, _ = self._seeds(self.rank).spawn(3)
        lanes = config.lanes // config.ranks
        if config.workers:
            seeds = deck_seed.spawn(config.workers)
            self.lanes = Workers(
                self.rules, config.episodes, lanes, seeds, self.device, config.random_scores
            )
        else:
            decks = np.random.default_rng(deck_seed)
            loaded = {name: agents.load(name, self.rules[0]) for name in config.opponents}
            others = [loaded[name] for name in config.opponents]
            share = config.opponent_share if others else 0.0
            self.lanes = SelfPlay(
                self.rules, config.episodes, lanes, decks, others, share, config.random_scores
            )
        self.generator = torch.Generator(self.device)
        self.generator.manual_seed(int(torch_seed.generate_state(1)[0]))

    @property
    def done(self) -> bool:
        """Whether all decisions of the run have been trained on."""
        return self.decisions >= self.config.decisions

    @property
    def taught(self) -> bool:
        """Whether the teacher plays now."""
        return self.config.taught_at(self.decisions)

    @property
    def played_out(self) -> bool:
        """Whether actions are weighed by playing them out now."""
        return self.config.played_out_at(self.decisions)

    @property
    def temperature(self) -> float:
        """Weight of the pull to the magnet now."""
        return self.config.temperature_at(self.decisions)

    @property
    def learning_rate(self) -> float:
        """Adam's rate now."""
        return self.config.learning_rate_at(self.decisions)

    def averaged(self) -> Actor:
        """The magnet, which is what is played with; on the processor."""
        return copy.deepcopy(self.magnet).to("cpu")

    def state_dict(self) -> dict[str, Any]:
        """All that the run needs to go on as if never stopped: tensors, numbers and texts.

        Every rank must call it; what rank 0 gets is whole.
        """
        own = {
            "lanes": self.lanes.state_dict(),
            "generator": self.generator.get_state(),
            "device": self.device.type,
        }
        every = [own] if self.config.ranks == 1 else ranks.gather(own)
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

        With another number of ranks or workers, or on another device, new lanes and generators
        begin, and the tables of chances are kept.
        """
        self.actor.load_state_dict(state["actor"])
        self.critic.load_state_dict(state["critic"])
        self.magnet.load_state_dict(state["magnet"])
        groups = [group | {"fused": True} for group in state["optimizer"]["param_groups"]]
        self.optimizer.load_state_dict({**state["optimizer"], "param_groups": groups})
        self.decisions = state["decisions"]
        saved = state["ranks"]
        own = saved[min(self.rank, len(saved) - 1)]
        kept = (len(saved), workers_of(own["lanes"]), own.get("device", "cpu"))
        if kept == (self.config.ranks, self.config.workers, self.device.type):
            self.lanes.load_state_dict(own["lanes"])
            self.generator.set_state(own["generator"])
        else:
            self.lanes.close()
            self._begin_lanes()
            self.lanes.load_chances(one_state(own["lanes"]))

    def iterate(self) -> dict[str, float]:
        """Play, learn, move the magnet; figures of the iteration by TensorBoard tag."""
        rollout, counts = self.collect()
        with self._timed("update"):
            figures = self.update(rollout)
        done = rollout.chosen.numel() * self.config.ranks
        self._move_magnet(done)
        self.decisions += done
        self.lanes.new_chances()
        return figures | counts.figures()

    def collect(self) -> tuple[Rollout, HandCounts]:
        """Play ``steps`` decisions on every lane."""
        config = self.config
        lanes = config.lanes // config.ranks
        rollout = Rollout.empty(config.steps, lanes, self.deck, self.dtype, self.device)
        counts = HandCounts()
        for t in range(config.steps + 1):
            with self._timed("engine"):
                look = self.lanes.look()
                seen, hidden, masks, movers = (torch.as_tensor(x).to(self.device) for x in look)
                rollout.movers[t] = movers
            with self._timed("network"), torch.no_grad():
                read = features(seen, self.dtype, self.deck)
                rollout.values[t] = self.critic(read, hidden)
            if t == config.steps:
                break
            with self._timed("others"):
                others = self._others()
            with self._timed("network"), torch.no_grad():
                log_probs = self._log_probs(read, masks, others)
                chosen, rollout.own[t] = self._choose(log_probs, others)
                actions_chosen = chosen.cpu().numpy()
            with self._timed("engine"):
                rollout.keep(t, read)
                rollout.hidden[t], rollout.masks[t] = hidden, masks
                rollout.log_probs[t], rollout.chosen[t] = log_probs, chosen
                if self.played_out:
                    assert isinstance(self.lanes, SelfPlay)
                    self.lanes.try_actions(log_probs.clamp(min=-80).exp().cpu().numpy())
                paid, over = self.lanes.step(
                    actions_chosen, config.reward_scale, config.chance_scale, counts
                )
                rollout.rewards[t], rollout.dones[t] = map(torch.as_tensor, (paid, over))
        if self.played_out:
            assert isinstance(self.lanes, SelfPlay)
            with self._timed("playouts"):
                scales = config.reward_scale, config.chance_scale
                tried = self.lanes.advantages(self._continuation(), *scales)
                rollout.tried[:] = torch.from_numpy(tried)
        return rollout, counts

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        """Count the time to a part of the iteration."""
        start = time.perf_counter()
        yield
        self.seconds[part] += time.perf_counter() - start

    def _continuation(self) -> Continuation:
        """How hands go on after an action tried now."""
        judge = Judge(self.critic, self.config.reward_scale, self.dtype).worth
        here = torch.device("cpu")
        dtype = find_dtype(self.config.precision, here)
        policy = Policy(copy.deepcopy(self.actor).to(here), dtype=dtype)
        return Continuation(policy, self.config.playout_depth, judge)

    def _others(self) -> Tensor | None:
        """What a teacher or opponents choose, int64 [B], NO_ACTION where the policy is to choose;
        None where it always is."""
        if not isinstance(self.lanes, SelfPlay) or not (self.taught or self.config.opponents):
            return None
        teacher = self.teacher if self.taught else None
        asked = self.lanes.answers() if teacher is None else self.lanes.ask(teacher)
        return torch.from_numpy(asked).to(self.device)

    def _log_probs(self, read: Features, masks: Tensor, others: Tensor | None) -> Tensor:
        """The policy's, of all actions, float32 [B, 108].

        While actions are played out, nothing is learnt from what others choose: 0 there.
        """
        if others is None or not self.played_out:
            return masked_log_probs(self.actor(read)[0], masks)
        rows = (others == engine.NO_ACTION).nonzero().squeeze(1)
        own = take({**read._asdict(), "masks": masks}, rows)
        found = torch.zeros(masks.shape, device=self.device)
        found[rows] = masked_log_probs(self.actor(_seen(own))[0], own["masks"])
        return found

    def _choose(self, log_probs: Tensor, others: Tensor | None) -> tuple[Tensor, Tensor | bool]:
        """The actions to play, and whether they are the policy's own: int64 [B], bool [B]."""
        own = self._sample(log_probs)
        if others is None:
            return own, True
        free = others == engine.NO_ACTION
        return torch.where(free, own, others), free

    def _sample(self, log_probs: Tensor) -> Tensor:
        """One action a row, by Gumbel noise (no action that is masked can win)."""
        uniform = torch.rand(log_probs.shape, generator=self.generator, device=self.device)
        uniform.clamp_(min=1e-20)
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
        batch = every = rollout.decisions() | {"gains": normal, "returns": returns}
        if self.played_out:
            batch = self._tried(every, rollout)
        batch["own"] = self._shares(batch["own"])
        batch["magnet"] = self._magnet_log_probs(batch)
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate
        passes = [
            self._gradient_step(*minibatch)
            for _ in range(config.epochs)
            for minibatch in self._minibatches(batch, every)
        ]
        # Numbers are asked for at the end: a GPU waits at each.
        names = passes[0] if passes else {}
        means = {name: float(sum(each[name] for each in passes)) / len(passes) for name in names}
        spread = returns.var()
        error = (returns - rollout.values[:-1].flatten()).var()
        return means | {
            "loss/explained_variance": float(1 - error / spread),
            "loss/advantage_sd": float(deviation),
            "schedule/temperature": self.temperature,
            "schedule/learning_rate": self.learning_rate,
        }

    def _tried(self, batch: dict[str, Tensor], rollout: Rollout) -> dict[str, Tensor]:
        """The decisions of which several actions were tried: as many in each rank."""
        tried = rollout.tried.flatten(0, 1)
        rows = tried.any(dim=1).nonzero().squeeze(1)
        fewest = torch.tensor([-len(rows)])
        if self.config.ranks > 1:
            ranks.greatest(fewest)
        # Spread over time and lanes.
        rows = rows[self._order(len(rows))[: -int(fewest)]]
        return take(batch | {"tried": tried}, rows)

    def _minibatches(
        self, batch: dict[str, Tensor], every: dict[str, Tensor]
    ) -> Iterator[tuple[dict[str, Tensor], dict[str, Tensor]]]:
        """All of ``batch`` once, in parts, and with each what the critic learns from.

        While actions are played out it learns from equally many, drawn anew each time from
        ``every`` decision: it is asked about the opponents' positions too.
        """
        count, size = len(batch["chosen"]), self.config.minibatch // self.config.ranks
        if not count:  # the policy was sure of all
            return
        parts = self._order(count).split(size)
        if not self.played_out:
            for rows in parts:
                minibatch = take(batch, rows)
                yield minibatch, minibatch
            return
        judged = {name: every[name] for name in _JUDGED}
        others = self._order(len(every["chosen"]))[:count].split(size)
        for rows, apart in zip(parts, others, strict=True):
            yield take(batch, rows), take(judged, apart)

    def _order(self, count: int) -> Tensor:
        """In which the decisions of a rollout are learnt from, once each."""
        return torch.randperm(count, generator=self.generator, device=self.device)

    def _moments(self, gains: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation over the decisions of all ranks."""
        count = gains.new_tensor(float(gains.numel()))
        sums = torch.stack([gains.sum(), gains.square().sum(), count])
        if self.config.ranks > 1:
            ranks.add_up(sums)
        total, squares, count = sums
        mean = total / count
        return mean, (squares / count - mean.square()).clamp(min=0).sqrt()

    def _shares(self, own: Tensor) -> Tensor:
        """Weights of decisions, float32 [N]: 0 of those that others chose, 1 on average over the
        decisions of all ranks."""
        counts = torch.stack([own.sum(), own.new_tensor(own.numel(), dtype=torch.int64)]).float()
        if self.config.ranks > 1:
            ranks.add_up(counts)
        return own.float() * (counts[1] / counts[0].clamp(min=1))

    def _gradient_step(
        self, batch: dict[str, Tensor], judged: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        logits, believed = self.actor(_seen(batch))
        log_probs = masked_log_probs(logits, batch["masks"])
        values = self.critic(_seen(judged), judged["hidden"])
        batch = batch | {"returns": judged["returns"]}
        losses, figures = self.losses(log_probs, values, believed, batch)
        self.optimizer.zero_grad()
        losses.backward()
        self._share_gradients()
        for name, weights in self.networks.items():
            norm = clip_grad_norm_(weights, self.config.max_gradient)
            figures[f"loss/gradient_norm_{name}"] = norm
        self.optimizer.step()
        return figures

    def _share_gradients(self) -> None:
        """The mean of the ranks' gradients, in one message."""
        if self.config.ranks == 1:
            return
        gradients = [weight.grad for weight in self.weights if weight.grad is not None]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        ranks.add_up(flat)
        flat /= self.config.ranks
        parts = flat.split([gradient.numel() for gradient in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))

    def losses(
        self, log_probs: Tensor, values: Tensor, believed: Tensor, batch: dict[str, Tensor]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of a minibatch and its parts, from the mover's view, means over decisions."""
        config = self.config
        chosen = batch["chosen"].unsqueeze(1)
        log_ratio = (log_probs.gather(1, chosen) - batch["old"].gather(1, chosen)).squeeze(1)
        ratio, gains = log_ratio.exp(), batch["gains"]
        clipped = ratio.clamp(1 - config.clip, 1 + config.clip)
        # What others chose has no part in this, and is learnt from only while it is taught.
        own = batch["own"]
        policy = -(own * torch.minimum(ratio * gains, clipped * gains)).mean()
        if self.taught:
            policy = -log_probs.gather(1, chosen).mean()
        elif "tried" in batch:
            policy = -(log_probs.clamp(min=-80).exp() * batch["tried"]).sum(1).mean()
        probs, to_magnet, to_old, pull = self._pulls(log_probs.detach(), batch)
        # Of no value, and with the gradient of what pulls: see there.
        pulled = (own * (pull * log_probs).sum(1)).mean()
        pulled = pulled - pulled.detach()
        value = (values - batch["returns"]).square().mean()
        guessed = self._guessed(believed, batch["hidden"])
        loss = (
            policy
            + pulled
            + self.temperature * to_magnet
            + config.old_weight * to_old
            + config.value_weight * value
            + config.guess_weight * guessed * (believed.shape[1] if self.actor.belief else 1)
        )
        figures = {
            "loss/policy": policy,
            "loss/value": value,
            "loss/guess": guessed,
            "policy/entropy": -(probs * log_probs.detach()).sum(1).mean(),
            "policy/kl_to_magnet": to_magnet,
            "policy/kl_to_old": to_old,
            "policy/clip_fraction": ((ratio - 1).abs() > config.clip).float().mean(),
            "policy/ratio_error": (ratio - 1).abs().max(),
        }
        return loss, {name: figure.detach() for name, figure in figures.items()}

    def _guessed(self, believed: Tensor, hidden: Tensor) -> Tensor:
        """Mean cross entropy of what is believed of the other hands, uint8 [B, 52]."""
        truth = hidden
        if self.actor.belief is not None:
            truth = torch.from_numpy(other_hand.describe(hidden.cpu().numpy())).to(hidden.device)
        return functional.binary_cross_entropy_with_logits(believed, truth.float())

    def _pulls(
        self, log_probs: Tensor, batch: dict[str, Tensor]
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Probabilities, divergences from magnet and old policy, and what pulls to these.

        The last is the gradient over the log probabilities l of the weighted divergences,
        sum of e^l (l - magnet), but for a multiple of e^l, which the softmax before takes away. By
        hand, as torch takes a tenth of all the time to learn for it.
        """
        # exp takes many times as long where nothing is left of the result (of masked actions).
        probs = log_probs.clamp(min=-80).exp()
        from_magnet, from_old = log_probs - batch["magnet"], log_probs - batch["old"]
        to_magnet, to_old = ((probs * each).sum(1).mean() for each in (from_magnet, from_old))
        pull = probs * (self.temperature * from_magnet + self.config.old_weight * from_old)
        return probs, to_magnet, to_old, pull

    def _magnet_log_probs(self, batch: dict[str, Tensor]) -> Tensor:
        size = self.config.minibatch // self.config.ranks
        suits = batch["suits"].split(size, dim=1)
        rest = (batch[name].split(size) for name in ("mean", "scalars", "masks"))
        with torch.no_grad():
            return torch.cat(
                [
                    masked_log_probs(self.magnet(Features(*seen))[0], masks)
                    for *seen, masks in zip(suits, *rest, strict=True)
                ]
            )

    def _move_magnet(self, decisions: int) -> None:
        """Towards the actor, by as much as an average over ``magnet_time`` of the run asks."""
        span = self.config.magnet_time * self.config.decisions
        # Before the policy plays there is nothing to average.
        weight = 1.0 if self.taught else 1 - float(np.exp(-decisions / span))
        with torch.no_grad():
            for slow, fast in zip(self.magnet.parameters(), self.actor.parameters(), strict=True):
                slow.lerp_(fast, weight)


_JUDGED = ("suits", "mean", "scalars", "hidden", "returns")
"""What the critic learns from."""


def _seen(batch: dict[str, Tensor]) -> Features:
    return Features(batch["suits"], batch["mean"], batch["scalars"])
