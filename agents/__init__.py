"""Agents that play hands of Gin Rummy on many lanes at once.

An agent is one file here and one line in :data:`AGENTS`. It sees a
:class:`~ginenv.observation.View` and the legal actions, nothing else, and keeps no memory; or it is
told hands from the deal on (:class:`agents.told.Asked`), as programs are.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from agents.adaptive import Adaptive
from agents.expert import Expert, expert_k5
from agents.knocker import Knocker
from agents.patient import Patient
from agents.random import Random
from agents.simple import Simple
from ginenv import actions
from ginenv.actions import Legal
from ginenv.observation import View
from ginenv.rules import Rules


class Agent(Protocol):
    """What every agent offers."""

    def act(self, view: View, legal: Legal, generator: np.random.Generator) -> NDArray[np.intp]:
        """A legal action for each of the B lanes of ``view``, all of them on move: ints [B]."""
        ...


class NoProbabilitiesError(ValueError):
    """An agent that chooses by chance and cannot say how likely."""


def probabilities(agent: Agent, view: View, legal: Legal) -> NDArray[np.floating[Any]]:
    """How likely the agent makes each action, float [B, 108].

    By the agent's own ``probabilities(view, legal)`` where it has that; an agent that uses no
    random numbers plays its choice. Raises NoProbabilitiesError for others.
    """
    own = getattr(agent, "probabilities", None)
    if own is not None:
        told: NDArray[np.floating[Any]] = own(view, legal)
        return told
    try:
        if hasattr(agent, "ask"):  # told hands from the deal on: a view is not enough for it
            raise NotImplementedError
        chosen = agent.act(view, legal, cast(np.random.Generator, _NoChance()))
    except NotImplementedError:
        raise NoProbabilitiesError(
            f"{type(agent).__name__} does not tell how likely its choices are"
        ) from None
    return np.eye(actions.NUM_ACTIONS)[chosen]


class _NoChance:
    """Stands for a generator, and refuses to be used."""

    def __getattr__(self, name: str) -> Any:
        raise NotImplementedError


AGENTS: dict[str, Callable[[], Agent]] = {
    "random": Random,
    "simple": Simple,
    "knocker": Knocker,
    "patient": Patient,
    "expert": Expert,
    "expert_k5": expert_k5,
    "adaptive": Adaptive,
}
POLICIES = {name: Path(__file__).with_name(f"{name}.safetensors") for name in ("best", "mixed")}
"""Trained policies that come with the package."""
PEERS = ("openspiel", "rlcard")
"""Players of other packages, for those who have these installed."""


class UnknownAgentError(ValueError):
    """A name that is no agent's, or a policy file that is not there."""


def policy_file(name: str) -> Path:
    """Where a trained policy is: one of POLICIES, or the file of that name."""
    return POLICIES.get(name, Path(name))


def load(name: str, rules: Rules) -> Agent:
    """The agent of that name, for these rules.

    Or a trained policy of ours, one of POLICIES; the policy in that file (``.safetensors``); the
    program ``cmd:COMMAND`` (``cmd@SECONDS:`` with another limit for a move), docs/PROTOCOL.md; a
    peer, one of PEERS.

    Raises UnknownAgentError, or agents.policy.PolicyFileError for a file that is not a policy of
    this version and deck.
    """
    if name in AGENTS:
        return AGENTS[name]()
    if name.startswith(("cmd:", "cmd@")):
        from agents import program

        return program.load(name, rules)
    if name in POLICIES or name.endswith(".safetensors"):
        path = policy_file(name)
        if not path.is_file():
            raise UnknownAgentError(f"{name}: there is no such policy file")
        from agents.policy import Policy  # torch is an extra, and slow to import

        return Policy.load(path, rules)
    if name in PEERS:
        peer: Agent = importlib.import_module(f"agents.{name}").load(rules)
        return peer
    raise UnknownAgentError(
        f"{name!r} is no agent: name one of {', '.join([*AGENTS, *POLICIES, *PEERS])}, a policy "
        "file (.safetensors), or a program (cmd:COMMAND)"
    )
