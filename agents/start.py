"""How a run begins with what a policy has learnt."""

from __future__ import annotations

import torch
import torch.nn.functional as functional
from torch import Tensor

import agents
from agents.features import PLANES
from agents.network import Actor, Critic
from agents.policy import Policy, load_critic, read_header
from agents.ppo_config import PPOConfig


def begin_with_policy(actor: Actor, critic: Critic, config: PPOConfig) -> None:
    """Take the weights of ``config.start``, and its critic's if it is of this size and judges this.

    A belief may be new: it is at even odds of all then, and of no weight in the choices yet. Raises
    ValueError for a policy that the run can't begin with.
    """
    assert config.start is not None
    policy = agents.load(config.start, config.make_rules()[0])
    if not isinstance(policy, Policy):
        raise ValueError(f"start={config.start}: must be a trained policy")
    weights = policy.actor.state_dict()
    try:
        if actor.belief is not None and policy.actor.belief is None:
            weights = _with_belief(weights, actor)
        actor.load_state_dict(weights)
    except RuntimeError:
        raise ValueError(
            f"start={config.start}: its networks must be of the sizes actor={config.actor}, "
            f"belief={config.belief}"
        ) from None
    if not _take_critic(critic, config) and config.playout_depth and config.teacher is None:
        raise ValueError(
            f"start={config.start}: has no critic of the size critic={config.critic}, of "
            f"reward_scale={config.reward_scale} and for episodes={config.episodes}, "
            "which playout_depth asks from the start"
        )


def _with_belief(theirs: dict[str, Tensor], actor: Actor) -> dict[str, Tensor]:
    """The weights of an actor without a belief, as those of one who has one: all else the same."""
    weights = actor.state_dict()
    for name, ours in weights.items():
        if name.startswith("belief."):
            continue
        old = theirs[name]
        if name in ("body.own.weight", "body.others.weight", "body.scalars.weight"):
            old = functional.pad(old, (0, ours.shape[1] - old.shape[1]))
        elif name.startswith("body.card_head"):
            old = old[: len(ours)]  # all but the guess
        elif name.startswith("body.single_head"):
            others, *counts = old.split([len(old) - 2 * PLANES, PLANES, PLANES])
            none = old.new_zeros((actor.planes - PLANES, *old.shape[1:]))
            old = torch.cat([others, *(part for each in counts for part in (each, none))])
        weights[name] = old
    return weights


def _take_critic(critic: Critic, config: PPOConfig) -> bool:
    """Whether the policy's file has one of this size that has judged this; then it is taken."""
    assert config.start is not None
    path = agents.policy_file(config.start)
    found, ours = load_critic(path), critic.state_dict()
    judged = set(read_header(path).get("episodes", []))
    if not found or found[1] != config.reward_scale or not judged >= set(config.episodes):
        return False
    theirs = found[0].state_dict()
    if {n: x.shape for n, x in theirs.items()} != {n: x.shape for n, x in ours.items()}:
        return False
    critic.load_state_dict(theirs)
    return True
