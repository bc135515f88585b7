"""One policy whose weights are the mean of several that have learnt on from the same one.

    python -m agents.average runs/a/policy.safetensors runs/b/policy.safetensors --out FILE

What each has gained on the way points the same way, and the noise of its steps does not: the mean
often plays better than any of them ("model soups", Wortsman et al. 2022, arXiv 2203.05482).
Policies that did not begin with the same weights have no mean that is of use.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn

import agents
from agents.features import Deck
from agents.network import Actor, Critic
from agents.policy import (
    Policy,
    PolicyFileError,
    belief_size,
    load_critic,
    read_header,
    save_policy,
)
from agents.ppo_config import NetworkConfig
from ginenv.rules import from_dict

Network = TypeVar("Network", bound=nn.Module)

ALIKE = ("network", "belief", "critic", "episodes")
"""What the headers must have in common."""


def average(paths: list[Path], out: Path, command: str) -> None:
    """Write the policy to ``out``, for the rules that all of them were trained on.

    Its header's ``commands`` are those of all, each once, and then ``command``; ``decisions`` and
    ``seconds`` are those of who has most. Raises PolicyFileError, and ValueError for policies
    that differ in size, critic or kind of episode, or that share no rules.
    """
    if len(paths) < 2:
        raise ValueError("policies: must be two or more")
    headers = [read_header(path) for path in paths]
    told = _header(paths, headers, command)
    rules = from_dict(told["rules"][0])
    deck = Deck.of(rules)
    empty = Actor(NetworkConfig(**headers[0]["network"]), deck, belief_size(headers[0]))
    actor = _mean(empty, [Policy.load(path, rules).actor for path in paths])
    critic = None
    judges = [judge for path in paths if (judge := load_critic(path))]
    if judges:
        their_size = NetworkConfig(**headers[0]["critic"]["network"])
        mean = _mean(Critic(their_size, deck), [each for each, _ in judges])
        critic = (mean, judges[0][1])
    save_policy(out, actor, told, critic)


def _header(paths: list[Path], headers: list[dict[str, Any]], command: str) -> dict[str, Any]:
    """That of their mean. Raises ValueError for those that have none."""
    for path, header in zip(paths, headers, strict=True):
        for name in ALIKE:
            here, there = header.get(name), headers[0].get(name)
            if here != there:
                raise ValueError(f"{path}: {name} is {here}, that of {paths[0]} {there}")
    shared = [r for r in headers[0]["rules"] if all(r in header["rules"] for header in headers)]
    if not shared:
        raise ValueError(f"{paths[0]}: has no rules in common with the others")
    return {
        "rules": shared,
        "episodes": headers[0].get("episodes", ["game"]),
        "decisions": max(header.get("decisions", 0) for header in headers),
        "seconds": max(header.get("seconds", 0) for header in headers),
        "commands": [*dict.fromkeys(c for h in headers for c in h.get("commands", [])), command],
    }


def _mean(network: Network, of: list[Network]) -> Network:
    """The network, with the mean of the others' weights."""
    states = [each.state_dict() for each in of]
    network.load_state_dict(
        {name: torch.stack([s[name] for s in states]).mean(dim=0) for name in states[0]}
    )
    return network


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("policies", nargs="+", help="policy files, or names of policies")
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    options = parser.parse_args()
    try:
        files = [agents.policy_file(each) for each in options.policies]
        average(files, options.out, f"python -m agents.average {shlex.join(sys.argv[1:])}")
    except (PolicyFileError, ValueError, OSError) as error:
        parser.error(str(error))
    print(f"policy: {options.out}")


if __name__ == "__main__":
    main()
