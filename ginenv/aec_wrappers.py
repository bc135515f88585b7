"""PettingZoo's wrappers around the environment, without the time that they take."""

from __future__ import annotations

import operator
from typing import Any

from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from ginenv import actions


class Direct(wrappers.BaseWrapper):  # type: ignore[misc]
    """A wrapper that reads the state of play straight from the raw environment.

    PettingZoo's wrappers ask one another for each attribute, which would take as long as the game.
    Before the first reset the raw environment has none of these, and they are asked after all.
    """

    agents = property(operator.attrgetter("_raw.agents"))
    agent_selection = property(operator.attrgetter("_raw.agent_selection"))
    rewards = property(operator.attrgetter("_raw.rewards"))
    terminations = property(operator.attrgetter("_raw.terminations"))
    truncations = property(operator.attrgetter("_raw.truncations"))
    infos = property(operator.attrgetter("_raw.infos"))
    _cumulative_rewards = property(operator.attrgetter("_raw._cumulative_rewards"))

    def __init__(self, env: AECEnv, **arguments: Any) -> None:
        super().__init__(env, **arguments)
        self._raw = env.unwrapped

    def __str__(self) -> str:
        return str(self.env)


class TerminateIllegal(Direct, wrappers.TerminateIllegalWrapper):  # type: ignore[misc]
    """Ends the episode at an illegal action."""


class AssertOutOfBounds(Direct, wrappers.AssertOutOfBoundsWrapper):  # type: ignore[misc]
    """Refuses what is no action at all."""

    def step(self, action: Any) -> None:
        """Play a number from 0 to 107, or None."""
        # Gymnasium takes as long to look at a plain number as the hand to draw a card.
        if type(action) is int and 0 <= action < actions.NUM_ACTIONS:
            wrappers.BaseWrapper.step(self, action)
        else:
            super().step(action)


class OrderEnforcing(Direct, wrappers.OrderEnforcingWrapper):  # type: ignore[misc]
    """Refuses calls before the first reset."""
