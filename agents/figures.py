"""Ended hands and episodes -> figures with their intervals.

What is independent of the rest is a deal, not a hand: every interval is over deals, of which each
is one sample made of all the plays that it had.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ginenv import scoring

CONFIDENCE = 0.95
NOBODY = -1
LETTERS = "abc"
"""What the agents are called in a report, in the order in which they were named."""


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


def _student(mean: float, error: float, samples: int) -> dict[str, float]:
    half = float(stats.t.ppf(0.5 + CONFIDENCE / 2, samples - 1)) * error
    return {"mean": mean, "low": mean - half, "high": mean + half}


def mean_interval(samples: NDArray[np.float64]) -> dict[str, float]:
    """Mean of independent samples with its Student interval at CONFIDENCE. Needs two or more.

    Samples that are all alike give an interval of no width: they say nothing of their spread.
    """
    error = float(samples.std(ddof=1)) / len(samples) ** 0.5
    return _student(float(samples.mean()), error, len(samples))


def ratio_interval(amounts: NDArray[np.float64], counts: NDArray[np.float64]) -> dict[str, float]:
    """Sum of ``amounts`` over sum of ``counts``, of independent pairs of them; two or more.

    The ratio estimator with the delta method's error: that of the mean of ``amount - ratio *
    count``, over the mean count. Where all counts are alike it is :func:`mean_interval` of the
    quotients. A mean of quotients would give the hands of short games more weight.
    """
    ratio = float(amounts.sum() / counts.sum())
    left = amounts - ratio * counts
    error = float(left.std(ddof=1)) / len(left) ** 0.5 / float(counts.mean())
    return _student(ratio, error, len(left))


def rate_interval(samples: NDArray[np.float64]) -> dict[str, float]:
    """Mean of independent samples in 0..1 with an interval that stays in there.

    Wilson's score interval (1927) at CONFIDENCE, for as many Bernoulli trials as would have the
    samples' variance: the plays of a deal are not independent trials.
    """
    mean = float(samples.mean())
    variance = float(samples.var(ddof=1)) / len(samples)
    trials = mean * (1 - mean) / variance if variance > 0 else float(len(samples))
    z = float(stats.norm.ppf(0.5 + CONFIDENCE / 2))
    centre = (mean + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * (mean * (1 - mean) / trials + (z / (2 * trials)) ** 2) ** 0.5
    # Rounding must not leave a mean of 0 or 1 outside.
    low, high = min(mean, max(0.0, centre - half)), max(mean, min(1.0, centre + half))
    return {"mean": mean, "low": low, "high": high}


Figure = TypeVar("Figure")


def report(names: Sequence[str], results: Results, seconds: float) -> dict[str, Any]:
    """The figures as evaluate.py's JSON holds them: of two agents from A's side, of three each's.

    ``points_per_hand`` is what hands scored, by hand that the agent played, without boxes and
    bonuses; ``settlement`` is what the episode paid, by episode.
    """
    hands = results.hands
    letters = LETTERS[: len(names)]
    single = results.episode == "hand"

    def of_agents(figure: Callable[[int], Figure]) -> Figure | dict[str, Figure]:
        if len(names) == 2:
            return figure(0)
        return {letter: figure(agent) for agent, letter in enumerate(letters)}

    made: dict[str, Any] = {
        **dict(zip(letters, names, strict=True)),
        "deals": results.deals,
        **_counts(results),
        "hands": len(hands.kind),
        "points_per_hand": of_agents(lambda agent: _points(results, agent)),
        "win_rate": of_agents(lambda agent: rate_interval(_wins(results, agent))),
    }
    if not single or results.tables > 1:  # a hand by itself pays its points
        made["settlement"] = of_agents(
            lambda agent: mean_interval(results.by_deal(results.settlement[:, agent]))
        )
    if not single:
        made["hands_per_game"] = len(hands.kind) / int(results.games.sum())
        made["unfinished"] = int(results.unfinished.sum())
    made["rates"] = {
        **{letter: _rates(hands, agent) for agent, letter in enumerate(letters)},
        "dead": float(np.mean(hands.kind == scoring.DEAD)),
        "tie": float(np.mean(hands.kind == scoring.TIE)),
        "turns_each": float(hands.turns.mean()) / 2,
    }
    made["illegal"] = dict(zip(letters, results.illegal.tolist(), strict=True))
    made["seconds"] = seconds
    made["hands_per_second"] = len(hands.kind) / seconds
    if not single:
        made["games_per_second"] = int(results.games.sum()) / seconds
    return made


def _counts(results: Results) -> dict[str, int]:
    """How many episodes there were, and games in matches, under their names."""
    episodes, games = len(results.winner), int(results.games.sum())
    if results.episode == "hand":
        return {"rounds": episodes} if results.tables > 1 else {}
    return {"matches": episodes, "games": games} if results.episode == "match" else {"games": games}


def _wins(results: Results, agent: int) -> NDArray[np.float64]:
    """The share of episodes that he won, by deal; in cutthroat of the hands that he played."""
    hands = results.hands
    if results.episode == "hand" and results.tables == 1:
        won = results.hands_by_deal(hands.winner == agent)
        return won / results.hands_by_deal(hands.played_by(agent))
    return results.by_deal(results.scores(agent))


def _points(results: Results, agent: int) -> dict[str, float]:
    hands = results.hands
    played = results.hands_by_deal(hands.played_by(agent))
    return ratio_interval(results.hands_by_deal(hands.gains(agent)), played)


def _rates(hands: Hands, agent: int) -> dict[str, float | None]:
    """Shares of the hands that he played; a knock that was undercut counts as a knock too."""
    played = hands.take(hands.played_by(agent))
    ended = played.knocker == agent
    gin, big_gin = (ended & (played.kind == kind) for kind in (scoring.GIN, scoring.BIG_GIN))
    knock = ended & ~gin & ~big_gin
    undercut = played.kind == scoring.UNDERCUT
    return {
        "win": float(np.mean(played.winner == agent)),
        "gin": float(np.mean(gin)),
        "big_gin": float(np.mean(big_gin)),
        "knock": float(np.mean(knock)),
        "knock_deadwood": float(played.knock_deadwood[knock].mean()) if knock.any() else None,
        "undercut_suffered": float(np.mean(ended & undercut)),
        "undercut_made": float(np.mean(~ended & undercut)),
    }
