"""Ratings on the Elo scale from what agents have won from one another (Bradley and Terry 1952).

The chance that i wins from j is p_i / (p_i + p_j); the strengths p are those under which the
results are likeliest, found by Hunter's minorisation (2004, Annals of Statistics 32). A rating is
400 log10 p, shifted so that the anchor has its figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

ANCHOR = 1000.0
ROUNDS = 2000
TIE = 1.0
"""Drawn games that are added to each pair that has met: who has lost all has a rating too."""

Scores = Mapping[float, int]
"""Of a pair's deals: how many brought the first of them this share of the games."""


def strengths(wins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Strengths of A agents in each of R samples, [R, A], geometric mean 1.

    ``wins`` [R, A, A]: games that the row's agent won from the column's, draws as halves. Those
    who have met must hang together, directly or through others.
    """
    games = wins + wins.transpose(0, 2, 1)
    drawn = np.where(games > 0, TIE / 2, 0)
    wins, games = wins + drawn, games + 2 * drawn
    p = np.ones(wins.shape[:2])
    for _ in range(ROUNDS):
        before = p
        p = wins.sum(axis=2) / (games / (p[:, :, None] + p[:, None, :])).sum(axis=2)
        p = p / np.exp(np.log(p).mean(axis=1, keepdims=True))
        if np.abs(p / before - 1).max() < 1e-9:
            break
    return p


def hanging_together(pairs: Iterable[tuple[int, int]], agent: int) -> list[int]:
    """Who has met the agent, directly or through others, and he; ascending."""
    pairs, found = list(pairs), {agent}
    while more := {one for pair in pairs if found & {*pair} for one in pair} - found:
        found |= more
    return sorted(found)


def elo(
    names: list[str],
    results: Mapping[tuple[int, int], Scores],
    plays: int,
    anchor: int,
    generator: np.random.Generator,
    samples: int = 400,
    confidence: float = 0.95,
) -> dict[str, dict[str, float]]:
    """The rating of each agent with its bootstrap interval over deals, by name.

    ``results``: of each pair its deals by score; ``plays``: games to a deal. ``anchor``: the agent
    whose rating is ANCHOR in every sample, and so without an interval of its own. Who has not met
    him, nor anyone who leads to him, has no rating.
    """
    within = hanging_together(results, anchor)
    if len(within) < len(names):
        place = {agent: number for number, agent in enumerate(within)}
        results = {(place[a], place[b]): s for (a, b), s in results.items() if a in place}
        names, anchor = [names[agent] for agent in within], place[anchor]
    wins = np.zeros((samples + 1, len(names), len(names)))
    for (a, b), scores in results.items():
        shares = np.array(list(scores))
        counts = np.array(list(scores.values()))
        deals = int(counts.sum())
        drawn = generator.multinomial(deals, counts / deals, samples)
        counted = np.concatenate([counts[None], drawn])
        wins[:, a, b] = counted @ shares * plays
        wins[:, b, a] = counted @ (1 - shares) * plays
    ratings = 400 * np.log10(strengths(wins))
    ratings = ratings - ratings[:, anchor : anchor + 1] + ANCHOR
    tail = (1 - confidence) / 2
    low, high = np.quantile(ratings[1:], [tail, 1 - tail], axis=0)
    return {
        name: {"elo": float(ratings[0, i]), "low": float(low[i]), "high": float(high[i])}
        for i, name in enumerate(names)
    }
