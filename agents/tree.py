"""Games small enough to be written out whole: exact best responses and equilibria.

A tree is flat arrays, level by level (a level is a number of actions since the start); there are
no objects for nodes. Two players, zero sum, perfect recall: all nodes of an information set lie in
one level, so that one pass backwards over the levels is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Strategy = NDArray[np.float64]
"""The chance of each choice, an action at an information set, [C]; sums to 1 over each set."""


@dataclass(slots=True)
class Level:
    """N nodes that are as many actions from the start, and the E edges that lead to the next."""

    player: NDArray[np.int8]
    """Who decides, 0 or 1; -1 for chance and for the end, [N]."""
    payoff: NDArray[np.float64]
    """Player 0's at an end, else 0, [N]."""
    parent: NDArray[np.int32]
    """Node of this level that the edge leaves, [E]; edge ``e`` leads to node ``e`` of the next."""
    choice: NDArray[np.int32]
    """Which choice the edge is, -1 for chance, [E]."""
    chance: NDArray[np.float64]
    """Chance's probability of the edge, 1 for a player's, [E]."""


@dataclass(slots=True)
class Tree:
    """A game. The first level's nodes are the deals, each with its probability."""

    levels: list[Level]
    deals: NDArray[np.float64]
    """Probabilities of the first level's nodes, [N]."""
    set_player: NDArray[np.int8]
    """Who decides at each information set, [S]."""
    set_of: NDArray[np.int32]
    """The information set of each choice, ascending, [C]."""

    @property
    def nodes(self) -> int:
        """How many there are."""
        return sum(len(level.player) for level in self.levels)

    @property
    def choices(self) -> NDArray[np.intp]:
        """Of each information set, [S]."""
        return np.bincount(self.set_of, minlength=len(self.set_player))

    def uniform(self) -> Strategy:
        """Every action as likely as any other."""
        even: Strategy = 1 / self.choices[self.set_of]
        return even


def reaches(tree: Tree, strategy: Strategy) -> list[NDArray[np.float64]]:
    """How likely player 0, player 1 and chance make each node, level by level: [3, N] each."""
    first = np.ones((3, len(tree.deals)))
    first[2] = tree.deals
    every = [first]
    for level in tree.levels[:-1]:
        below = every[-1][:, level.parent]
        below[2] *= level.chance
        mover = level.player[level.parent]
        for player in (0, 1):
            edges = (mover == player).nonzero()[0]
            below[player, edges] *= strategy[level.choice[edges]]
        every.append(below)
    return every


def value(tree: Tree, strategy: Strategy) -> float:
    """What the strategy brings player 0 against itself."""
    below = tree.levels[-1].payoff
    for level in reversed(tree.levels[:-1]):
        weight = level.chance.copy()
        played = (level.choice >= 0).nonzero()[0]
        weight[played] = strategy[level.choice[played]]
        below = level.payoff + _up(level, weight * below)
    return float(tree.deals @ below)


def _up(level: Level, of_edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums over the edges that leave each node."""
    return _sums(level.parent, of_edges, len(level.player))


def _sums(
    groups: NDArray[np.int32], weights: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """The weights of each group added up, [count]."""
    summed: NDArray[Any] = np.bincount(groups, weights=weights, minlength=count)
    return summed


def best_response(tree: Tree, strategy: Strategy, player: int) -> tuple[float, NDArray[np.intp]]:
    """The most that ``player`` can win against the strategy, and his choice at each set, [S].

    At each of his information sets he takes the action that is best over all its nodes, weighted
    by how likely chance and the opponent make them; -1 at the opponent's sets.
    """
    return _response(tree, strategy, player, goes_on=True)


def local_response(tree: Tree, strategy: Strategy, player: int) -> tuple[float, NDArray[np.intp]]:
    """What ``player`` wins who takes at each set the best action as if he, too, played the strategy
    from there on; and his choices, as :func:`best_response` has them.

    A lower bound of the best response: it looks one step ahead.
    """
    _, choices = _response(tree, strategy, player, goes_on=False)
    mixed = strategy.copy()
    mixed[tree.set_player[tree.set_of] == player] = 0.0
    mixed[choices[choices >= 0]] = 1.0
    won = value(tree, mixed)
    return (won if player == 0 else -won), choices


def _response(
    tree: Tree, strategy: Strategy, player: int, goes_on: bool
) -> tuple[float, NDArray[np.intp]]:
    """``goes_on``: whether what he chooses is what he plays when choices before it are judged."""
    reach = reaches(tree, strategy)
    sign = 1.0 if player == 0 else -1.0
    best = np.full(len(tree.set_player), -1, dtype=np.intp)
    below = sign * tree.levels[-1].payoff
    for number in reversed(range(len(tree.levels) - 1)):
        level = tree.levels[number]
        weight = level.chance.copy()
        played = (level.choice >= 0).nonzero()[0]
        own = played[level.player[level.parent[played]] == player]
        weight[played] = strategy[level.choice[played]]
        if len(own):
            away = reach[number][1 - player] * reach[number][2]
            weighed = away[level.parent[own]] * below[own]
            gains = _sums(level.choice[own], weighed, len(strategy))
            _choose(tree, np.unique(level.choice[own]), gains, best)
        if len(own) and goes_on:
            weight[own] = best[tree.set_of[level.choice[own]]] == level.choice[own]
        below = sign * level.payoff + _up(level, weight * below)
    return float(tree.deals @ below), best


def _choose(
    tree: Tree, choices: NDArray[np.int32], gains: NDArray[np.float64], best: NDArray[np.intp]
) -> None:
    """Enter in ``best`` [S] the choice with the greatest gain of each set among these choices."""
    sets = tree.set_of[choices]
    order = np.lexsort((gains[choices], sets))
    last = np.append(np.diff(sets[order]) != 0, True)
    best[sets[order[last]]] = choices[order[last]]


@dataclass(frozen=True, slots=True)
class Exploitability:
    """How far a strategy is from an equilibrium, in points."""

    value: float
    """Player 0's, when both play the strategy."""
    responses: tuple[float, float]
    """What a best response wins as player 0, and as player 1."""

    @property
    def nash_conv(self) -> float:
        """What both players could gain together by a best response."""
        return sum(self.responses)

    @property
    def mean(self) -> float:
        """What a best response wins from the strategy, mean of both seats: NashConv / 2."""
        return self.nash_conv / 2


def exploitability(tree: Tree, strategy: Strategy) -> Exploitability:
    """Exact, by a best response for either player."""
    responses = tuple(best_response(tree, strategy, player)[0] for player in (0, 1))
    return Exploitability(value(tree, strategy), (responses[0], responses[1]))


class CFRPlus:
    """Counterfactual regret minimisation, regrets kept above 0 (Tammelin 2014, arXiv 1407.5042).

    Players are updated in turn and the average strategy weighs iteration t by t.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.regrets = np.zeros(len(tree.set_of))
        self.sums = np.zeros(len(tree.set_of))
        self.iterations = 0
        self._owner = tree.set_player[tree.set_of]

    @property
    def strategy(self) -> Strategy:
        """The current one: by regret, even where there is none."""
        return self._shares(self.regrets)

    @property
    def average(self) -> Strategy:
        """The one that comes near an equilibrium."""
        return self._shares(self.sums)

    def _shares(self, weights: NDArray[np.float64]) -> Strategy:
        totals = np.bincount(self.tree.set_of, weights=weights)[self.tree.set_of]
        even = self.tree.uniform()
        return np.divide(weights, totals, out=even, where=totals > 0)

    def iterate(self) -> None:
        """One update of each player."""
        self.iterations += 1
        for player in (0, 1):
            self._update(player)

    def _update(self, player: int) -> None:
        tree, strategy = self.tree, self.strategy
        reach = reaches(tree, strategy)
        size = len(strategy)
        gains = np.zeros(size)
        own_reach = np.zeros(size)
        sign = 1.0 if player == 0 else -1.0
        below = sign * tree.levels[-1].payoff
        for number in reversed(range(len(tree.levels) - 1)):
            level = tree.levels[number]
            weight = level.chance.copy()
            played = (level.choice >= 0).nonzero()[0]
            weight[played] = strategy[level.choice[played]]
            here = sign * level.payoff + _up(level, weight * below)
            own = played[level.player[level.parent[played]] == player]
            if len(own):
                nodes, choices = level.parent[own], level.choice[own]
                away = reach[number][1 - player] * reach[number][2]
                gains += np.bincount(
                    choices, weights=away[nodes] * (below[own] - here[nodes]), minlength=size
                )
                # The same at all nodes of a set: perfect recall.
                own_reach[choices] = reach[number][player][nodes]
            below = here
        mine = self._owner == player
        self.regrets[mine] = np.maximum(self.regrets[mine] + gains[mine], 0)
        self.sums[mine] += (self.iterations * own_reach * strategy)[mine]
