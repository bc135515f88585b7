"""What actions are worth, by playing the hand to its end after each.

A sampled hand tells of the one action that was chosen, and most of what it tells is the luck of the
draw. So each likely action of a position is tried: the same hands, the same stock, and the policy
plays on after it. The difference between the ends is what the actions differ by; its mean over the
hands that a player can't see is what he can go by. Most of it is still luck, of cards drawn long
after; so after some decisions a critic may say what the hand is worth, instead of its end. This is
the step of policy improvement by rollouts (Tesauro and Galperin 1996), from which the policy
learns, over and over.

The hidden cards are those that were dealt; like the critic's they are used in training only.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agents import Agent
from ginenv import engine, observation
from ginenv.engine import State
from ginenv.match import Match
from ginenv.observation import View

RARE = 0.02
"""Actions less likely are not tried: what is learnt of them goes by how likely they are."""
MOST = 3
"""Actions tried in a position, the likeliest."""


def candidates(likely: NDArray[np.float32]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The actions to try where there are several, [B, 108] -> rows [N], ascending, and actions."""
    best = np.argpartition(-likely, MOST, axis=1)[:, :MOST]
    chance = np.take_along_axis(likely, best, axis=1)
    tried = chance >= RARE
    tried &= tried.sum(axis=1, keepdims=True) > 1
    rows, column = tried.nonzero()
    return rows, best[rows, column]


@dataclass(slots=True)
class Tries:
    """Actions to try on lanes of one step."""

    likely: NDArray[np.float32]
    """What the policy thinks of all actions, [B, 108]."""
    rows: NDArray[np.intp]
    """Lanes, ascending, a lane once for each of its actions, [N]."""
    actions: NDArray[np.intp]
    """[N]."""
    hands: State
    """The hands as they were, [N]."""
    sheets: Match
    """And the scores, [N]."""

    def advantages(self, worth: NDArray[np.floating]) -> NDArray[np.float32]:
        """By how much each beats the mean of those tried on the lane, [B, 108]; 0 elsewhere.

        ``worth`` [N] of the actions; the mean is weighed by how likely they are.
        """
        chance = self.likely[self.rows, self.actions]
        lanes = len(self.likely)
        total = np.bincount(self.rows, chance, lanes)
        mean = np.bincount(self.rows, chance * worth, lanes) / np.maximum(total, 1e-9)
        table = np.zeros_like(self.likely)
        table[self.rows, self.actions] = worth - mean[self.rows]
        return table


Judge = Callable[[View, NDArray[np.uint64]], NDArray[np.floating]]
"""What hands are worth to the players on move, in units of reward: views and other hands, [B]."""


@dataclass(frozen=True)
class Continuation:
    """How hands go on after the action tried."""

    agent: Agent
    """Who plays on for the policy."""
    depth: int = 0
    """Decisions after which ``judge`` is asked; 0: hands are played to their end."""
    judge: Judge | None = None
    """Needed with a depth only."""


def play_out(
    tries: list[Tries],
    in_games: bool,
    then: Continuation,
    other: Agent,
    generator: np.random.Generator,
) -> tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.float32]]:
    """Winner's seat (negative: nobody) and points of each hand in which an action is tried, and
    what those not played to their end are worth to who was on move (0 of the others).

    Heads up. ``other`` plays on for who was not on move; ``in_games``: they are shown the score.
    """
    hands = State.join([each.hands for each in tries])
    sheets = Match.join([each.sheets for each in tries])
    first = hands.mover.copy()
    winner = np.full(len(first), -1, np.int8)
    points = np.zeros(len(first), np.int64)
    judged = np.zeros(len(first), np.float32)
    left = np.arange(len(first))

    def see(some: State, rows: NDArray[np.intp]) -> View:
        sides = np.stack([some.mover, 1 - some.mover])
        score = observation.standing(sheets.take(rows), sides, games_to_win=1)
        return observation.view(some, game=score if in_games else None)

    engine.step(hands, np.concatenate([each.actions for each in tries]))
    for decision in itertools.count():
        if hands.over.any():
            ended, going_on = hands.over.nonzero()[0], (~hands.over).nonzero()[0]
            winner[left[ended]], points[left[ended]] = hands.winner[ended], hands.points[ended]
            hands, left = hands.take(going_on), left[going_on]
        if not len(left) or (then.depth and decision == then.depth):
            break
        chosen = np.empty(len(left), np.intp)
        turn = hands.mover == first[left]
        both = (then.agent, turn.nonzero()[0]), (other, (~turn).nonzero()[0])
        for agent, some in both:
            if len(some):
                theirs = hands.take(some)
                view = see(theirs, left[some])
                chosen[some] = agent.act(view, engine.legal(theirs), generator)
        engine.step(hands, chosen)
    if len(left):
        assert then.judge
        hidden = hands.hands[np.arange(len(left)), 1 - hands.mover]
        worth = then.judge(see(hands, left), hidden)
        judged[left] = np.where(hands.mover == first[left], worth, -worth)
    return winner, points, judged
