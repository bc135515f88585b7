"""Ended hands and episodes of some agents, as the arena hands them on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

NOBODY = -1


@dataclass(slots=True)
class Hands:
    """H ended hands between agents, who are numbered from 0."""

    episode: NDArray[np.intp]
    """Which episode each is of, ascending; in the order of play within one, [H]."""
    pair: NDArray[np.int8]
    """The agents at seats 0 and 1, [H, 2]."""
    kind: NDArray[np.uint8]
    """Codes of ``scoring.KINDS``, [H]."""
    winner: NDArray[np.int8]
    """The agent, or NOBODY, [H]."""
    points: NDArray[np.int16]
    """What the winner scored, [H]."""
    knocker: NDArray[np.int8]
    """The agent who ended the hand by knock, gin or big gin, or NOBODY, [H]."""
    knock_deadwood: NDArray[np.uint8]
    """The knocker's, [H]."""
    turns: NDArray[np.int16]
    """Turns of both players together, [H]."""

    @staticmethod
    def join(parts: Sequence[Hands]) -> Hands:
        """One after the other."""
        return Hands(*(_joined(parts, field.name) for field in fields(Hands)))

    def take(self, rows: NDArray[Any]) -> Hands:
        """Some of them."""
        return Hands(*(getattr(self, field.name)[rows] for field in fields(Hands)))

    def played_by(self, agent: int) -> NDArray[np.bool_]:
        """Which hands he sat at, [H]."""
        there: NDArray[np.bool_] = (self.pair == agent).any(axis=1)
        return there

    def gains(self, agent: int) -> NDArray[np.float64]:
        """His points less those scored against him, 0 where he did not sit, [H]."""
        lost = self.played_by(agent) & (self.winner != NOBODY)
        return np.where(self.winner == agent, 1.0, np.where(lost, -1.0, 0.0)) * self.points


@dataclass(slots=True)
class Results:
    """N ended episodes between A agents; ``plays`` of a deal lie side by side."""

    episode: str
    """One of ``play.EPISODES``."""
    tables: int
    """Hands to a round."""
    plays: int
    """Episodes to a deal."""
    winner: NDArray[np.int8]
    """The agent, NOBODY of a hand without a winner and of what was not finished, [N]."""
    unfinished: NDArray[np.bool_]
    """Games and matches that were broken off, [N]."""
    settlement: NDArray[np.float64]
    """What the episode paid each agent (in partnership his side), [N, A]. Of an unfinished match
    the games that had ended count."""
    games: NDArray[np.int32]
    """Games of the episode that were begun, [N]."""
    illegal: NDArray[np.int64]
    """Illegal choices of each agent; each was replaced by a random legal action, [A]."""
    hands: Hands

    @staticmethod
    def join(parts: Sequence[Results]) -> Results:
        """One after the other, of one kind and numbered on; illegal choices added up."""
        first = parts[0]
        return Results(
            first.episode,
            first.tables,
            first.plays,
            winner=_joined(parts, "winner"),
            unfinished=_joined(parts, "unfinished"),
            settlement=_joined(parts, "settlement"),
            games=_joined(parts, "games"),
            illegal=np.sum([part.illegal for part in parts], axis=0),
            hands=Hands.join([part.hands for part in parts]),
        )

    @property
    def deals(self) -> int:
        """How many, each played ``plays`` times."""
        return len(self.winner) // self.plays

    def scores(self, agent: int) -> NDArray[np.float64]:
        """1 for an episode that he won, [N]; of an unfinished one each agent has an equal part."""
        scores = (self.winner == agent).astype(np.float64)
        scores[self.unfinished] = 1 / len(self.illegal)
        return scores

    def by_deal(self, samples: NDArray[Any]) -> NDArray[np.float64]:
        """Mean over the plays of each deal, [N] -> [deals]."""
        return samples.astype(np.float64).reshape(-1, self.plays).mean(axis=1)

    def hands_by_deal(self, samples: NDArray[Any]) -> NDArray[np.float64]:
        """Sum over the hands of each deal, [H] -> [deals]."""
        deal = self.hands.episode // self.plays
        return np.bincount(deal, weights=samples).astype(np.float64)


def _joined(parts: Sequence[Any], name: str) -> NDArray[Any]:
    joined: NDArray[Any] = np.concatenate([getattr(part, name) for part in parts])
    return joined
