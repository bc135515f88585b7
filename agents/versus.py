"""Lanes on which a learner meets a frozen agent: its moves are the environment's.

Single hands. In each hand that is dealt the learner has either seat with equal chance. Takes the
place of :class:`agents.selfplay.SelfPlay` in a trainer: only the learner's decisions are shown, so
only they are learnt from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents import Agent, prospects
from agents.hand_counts import HandCounts
from agents.selfplay import Look
from ginenv import actions, cards, engine, match, observation
from ginenv.rules import Rules


class Versus:
    """B hands, always with the learner on move."""

    def __init__(
        self, rules: Rules, opponent: Agent, lanes: int, generator: np.random.Generator
    ) -> None:
        self.rules = rules
        self.opponent = opponent
        self.generator = generator
        self.seats = generator.integers(0, 2, lanes)
        """The learner's, [B]."""
        self.hands = self._dealt(lanes)
        self._play_on(np.arange(lanes))

    def _dealt(self, lanes: int) -> engine.State:
        dealers = match.cut(self.rules, self.generator, lanes)
        return engine.deal(self.rules, engine.shuffle(self.rules, self.generator, lanes), dealers)

    def look(self) -> Look:
        """What the learner sees on every lane."""
        hands = self.hands
        return Look(
            prospects.encode(observation.view(hands)),
            cards.bits(hands.hands[np.arange(len(hands)), 1 - self.seats]),
            actions.mask(engine.legal(hands)),
            self.seats.copy(),
        )

    def step(
        self,
        chosen: NDArray[np.intp],
        point_scale: float,
        chance_scale: float,
        counts: HandCounts,
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Play for the learner, then for the opponent: what it paid, and which hands ended.

        ``chance_scale`` is for hands of games, and of no use here.
        """
        engine.step(self.hands, chosen)
        self._answer(np.arange(len(self.seats)))
        over = self.hands.over
        lanes = over.nonzero()[0]
        paid = np.zeros(len(over), np.float32)
        sign = np.where(self.hands.winner[lanes] == self.seats[lanes], 1, -1)
        paid[lanes] = sign * self.hands.points[lanes] / point_scale
        counts.count(self.hands, lanes, self.hands.mover)
        self._deal(lanes)
        return paid, over

    def _answer(self, lanes: NDArray[np.intp]) -> None:
        """The opponent's moves on these lanes, until the learner is on move or the hand is over."""
        hands = self.hands
        while True:
            his = (hands.mover[lanes] != self.seats[lanes]) & (hands.phase[lanes] != engine.OVER)
            lanes = lanes[his]
            if not len(lanes):
                return
            some = hands.take(lanes)
            chosen = np.full(len(hands), engine.NO_ACTION)
            view, legal = observation.view(some), engine.legal(some)
            chosen[lanes] = self.opponent.act(view, legal, self.generator)
            engine.step(hands, chosen)

    def _deal(self, lanes: NDArray[np.intp]) -> None:
        self.seats[lanes] = self.generator.integers(0, 2, len(lanes))
        self.hands.put(lanes, self._dealt(len(lanes)))
        self._play_on(lanes)

    def _play_on(self, lanes: NDArray[np.intp]) -> None:
        """To the learner's first decision; hands that end before it are dealt anew."""
        self._answer(lanes)
        if len(again := lanes[self.hands.over[lanes]]):
            self._deal(again)

    def new_chances(self) -> None:
        """Of single hands there are none."""

    def close(self) -> None:
        """Nothing to end."""

    def state_dict(self) -> dict[str, Any]:
        """Nothing: an exploiter is trained in one go."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """See :meth:`state_dict`."""

    def load_chances(self, state: dict[str, Any]) -> None:
        """Of single hands there are none."""
