"""Agents that play hands of Gin Rummy on many lanes at once.

An agent is one file here and one line in :data:`AGENTS`. It sees a
:class:`~ginenv.observation.View` and the legal actions, nothing else, and keeps no memory.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from agents.random import Random
from agents.simple import Simple
from ginenv.actions import Legal
from ginenv.observation import View
from ginenv.rules import Rules


class Agent(Protocol):
    """What every agent offers."""

    def act(self, view: View, legal: Legal, generator: np.random.Generator) -> NDArray[np.intp]:
        """A legal action for each of the B lanes of ``view``, all of them on move: ints [B]."""
        ...


AGENTS: dict[str, Callable[[], Agent]] = {
    "random": Random,
    "simple": Simple,
}


class UnknownAgentError(ValueError):
    """A name that is no agent's, or a policy file that is not there."""


def load(name: str, rules: Rules) -> Agent:
    """The agent of that name, or the policy in that file (``.safetensors``), for these rules.

    Raises UnknownAgentError, or agents.policy.PolicyFileError for a file that is not a policy of
    this version and deck.
    """
    if name in AGENTS:
        return AGENTS[name]()
    if name.endswith(".safetensors"):
        if not Path(name).is_file():
            raise UnknownAgentError(f"{name}: there is no such policy file")
        from agents.policy import Policy  # torch is an extra, and slow to import

        return Policy.load(Path(name), rules)
    raise UnknownAgentError(
        f"{name!r} is no agent: name one of {', '.join(AGENTS)}, or a policy file (.safetensors)"
    )
