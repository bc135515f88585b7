"""Ended hands and episodes -> a tally of them -> figures with their intervals.

Tallies of the same agents can be added: nothing else is kept of what has been played. What is
independent of the rest is a deal, not a hand: every interval is over deals, of which each is one
sample made of all the plays that it had.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from agents.intervals import POWER, Moments, mean_interval, rate_interval, samples_needed
from agents.results import NOBODY, Results
from ginenv import scoring

LETTERS = "abc"
"""What the agents are called in a report, in the order in which they were named."""


def _added(one: Any, other: Any) -> Any:
    """Fields of two tallies added up; what only one of them counts is 0 in the other."""
    if isinstance(one, dict):
        return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}
    if isinstance(one, list):
        return [a + b for a, b in zip(one, other, strict=True)]
    return one + other


@dataclass(slots=True)
class Counts:
    """What an agent did and what came of it, counted over the hands that he played."""

    hands: int
    turns: int
    """Of both players together."""
    won: dict[str, int]
    """Hands by the kind of their end, as the next three are."""
    lost: dict[str, int]
    drawn: dict[str, int]
    ended: dict[str, int]
    """By his knock, gin or big gin, whatever came of it."""
    knock_deadwood: int
    """His, of all his knocks together."""
    illegal: int
    points: Moments
    """Of a deal: his points less those scored against him, and his hands."""
    settlement: Moments
    """Of a deal: what it paid him, and its episodes."""

    def __add__(self, other: Counts) -> Counts:
        names = (field.name for field in fields(Counts))
        return Counts(*(_added(getattr(self, name), getattr(other, name)) for name in names))

    @property
    def forfeits(self) -> int:
        """Hands that he lost by forfeit."""
        return self.lost.get("forfeit", 0)

    def rates(self) -> dict[str, float | None]:
        """Shares of his hands; a knock that was undercut counts as a knock too."""
        gin, big_gin = self.ended.get("gin", 0), self.ended.get("big_gin", 0)
        knocks = sum(self.ended.values()) - gin - big_gin
        return {
            "win": sum(self.won.values()) / self.hands,
            "gin": gin / self.hands,
            "big_gin": big_gin / self.hands,
            "knock": knocks / self.hands,
            "knock_deadwood": self.knock_deadwood / knocks if knocks else None,
            "undercut_suffered": self.lost.get("undercut", 0) / self.hands,
            "undercut_made": self.won.get("undercut", 0) / self.hands,
        }


@dataclass(slots=True)
class Tally:
    """All that is kept of some deals between A agents."""

    episode: str
    tables: int
    plays: int
    """As in :class:`Results`."""
    whole: int
    """What an agent scores in a deal of which he wins all."""
    scores: dict[str, int]
    """How many deals brought the agents these scores: ``"3 1"``."""
    hands: int
    kinds: dict[str, int]
    """Hands by the kind of their end."""
    turns: int
    games: int
    unfinished: int
    seconds: float
    agents: list[Counts]

    @staticmethod
    def of(results: Results, seconds: float) -> Tally:
        """Results counted."""
        hands = results.hands
        scores, whole = _scores(results)
        rows, deals = np.unique(scores, axis=0, return_counts=True)
        keys = [" ".join(map(str, row)) for row in rows.tolist()]
        return Tally(
            results.episode,
            results.tables,
            results.plays,
            whole,
            scores=dict(zip(keys, deals.tolist(), strict=True)),
            hands=len(hands.kind),
            kinds=_by_kind(hands.kind),
            turns=int(hands.turns.sum(dtype=np.int64)),
            games=int(results.games.sum()),
            unfinished=int(results.unfinished.sum()),
            seconds=seconds,
            agents=[_counts_of(results, agent) for agent in range(len(results.illegal))],
        )

    @staticmethod
    def from_dict(made: dict[str, Any]) -> Tally:
        """The inverse of :meth:`to_dict`."""
        agents = []
        for counts in made["agents"]:
            moments = {name: Moments(**counts[name]) for name in ("points", "settlement")}
            agents.append(Counts(**{**counts, **moments}))
        return Tally(**{**made, "agents": agents})

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)

    def __add__(self, other: Tally) -> Tally:
        kind = ("episode", "tables", "plays", "whole")
        if any(getattr(self, name) != getattr(other, name) for name in kind):
            raise ValueError("tallies of different kinds")
        added = {
            field.name: _added(getattr(self, field.name), getattr(other, field.name))
            for field in fields(Tally)
            if field.name not in kind
        }
        return Tally(self.episode, self.tables, self.plays, self.whole, **added)

    @property
    def deals(self) -> int:
        """How many, each played ``plays`` times."""
        return sum(self.scores.values())

    @property
    def by_score(self) -> list[tuple[list[int], int]]:
        """The score of each agent, and how many deals brought it."""
        return [([int(x) for x in key.split()], deals) for key, deals in self.scores.items()]

    def wins(self, agent: int) -> Moments:
        """Of a deal: the agent's score, and that of all won."""
        return self.moments(lambda scores: scores[:, agent], self.whole)

    def shares(self) -> dict[float, int]:
        """Of two: how many deals brought the first this share, half of what nobody won included."""
        made: dict[float, int] = {}
        for (a, b), deals in self.by_score:
            share = (self.whole + a - b) / (2 * self.whole)
            made[share] = made.get(share, 0) + deals
        return made

    def moments(
        self, amount: Callable[[NDArray[np.int64]], NDArray[np.int64]], count: int
    ) -> Moments:
        """Of a deal: what is made of the scores [N, A], counted as ``count``."""
        scores = np.array([scores for scores, _ in self.by_score])
        deals = np.array([deals for _, deals in self.by_score])
        return Moments.of(amount(scores), np.full(len(deals), count), deals)


def _by_kind(kinds: NDArray[np.uint8]) -> dict[str, int]:
    """How many there are of each kind that there is."""
    counted = np.bincount(kinds, minlength=len(scoring.KINDS)).tolist()
    return {kind: n for kind, n in zip(scoring.KINDS, counted, strict=True) if n}


def _scores(results: Results) -> tuple[NDArray[np.int64], int]:
    """What each agent won of each deal, [deals, A], and what all of it would be.

    Of single hands those that he won, else episodes, in as many parts as there are agents: each
    has one of those of an episode that was not finished.
    """
    agents = range(len(results.illegal))
    if results.episode == "hand" and results.tables == 1:
        winner = results.hands.winner
        won = [results.hands_by_deal(winner == agent) for agent in agents]
        # Two play a hand: of three agents each sits at two thirds of the hands of a deal.
        return np.stack(won, axis=1).astype(np.int64), 2 * results.plays // len(agents)
    parts = np.stack([(results.winner == agent) * len(agents) for agent in agents], axis=1)
    parts[results.unfinished] = 1
    by_deal = parts.reshape(-1, results.plays, len(agents)).sum(axis=1)
    return by_deal, len(agents) * results.plays


def _counts_of(results: Results, agent: int) -> Counts:
    hands = results.hands
    there = hands.played_by(agent)
    won, nobody = hands.winner == agent, hands.winner == NOBODY
    ended = hands.knocker == agent
    knocks = ended & ~np.isin(hands.kind, (scoring.GIN, scoring.BIG_GIN))
    paid = results.settlement[:, agent].reshape(-1, results.plays).sum(axis=1)
    return Counts(
        hands=int(there.sum()),
        turns=int(hands.turns[there].sum(dtype=np.int64)),
        won=_by_kind(hands.kind[won]),
        lost=_by_kind(hands.kind[there & ~won & ~nobody]),
        drawn=_by_kind(hands.kind[there & nobody]),
        ended=_by_kind(hands.kind[ended]),
        knock_deadwood=int(hands.knock_deadwood[knocks].sum(dtype=np.int64)),
        illegal=int(results.illegal[agent]),
        points=Moments.of(results.hands_by_deal(hands.gains(agent)), results.hands_by_deal(there)),
        settlement=Moments.of(paid, np.full(len(paid), results.plays)),
    )


def deals_needed(
    tally: Tally, difference: float = 0.01, rate: float = 0.5, power: float = POWER
) -> int | None:
    """How many deals tell, of two agents, ``rate + difference`` of the games from ``rate``.

    Two-sided at 95 %, found with probability ``power``. By the spread of this tally's deals, scaled
    from its own rate: agents far apart have deals that are nearly all alike. None if all are.
    """
    share = tally.moments(lambda scores: tally.whole + scores[:, 0] - scores[:, 1], 2 * tally.whole)
    spread = share.error**2 * share.samples
    if not spread:
        return None
    at_rate = spread * rate * (1 - rate) / (share.mean * (1 - share.mean))
    return samples_needed(at_rate, difference, power)


Figure = TypeVar("Figure")


def report(names: Sequence[str], results: Results, seconds: float) -> dict[str, Any]:
    """:func:`report_tally` of results that are kept no further."""
    return report_tally(names, Tally.of(results, seconds))


def report_tally(names: Sequence[str], tally: Tally) -> dict[str, Any]:
    """The figures as evaluate.py's JSON holds them: of two agents from A's side, of three each's.

    ``points_per_hand`` is what hands scored, by hand that the agent played, without boxes and
    bonuses; ``settlement`` is what the episode paid, by episode.
    """
    letters = LETTERS[: len(names)]
    single = tally.episode == "hand"

    def of_agents(figure: Callable[[int], Figure]) -> Figure | dict[str, Figure]:
        if len(names) == 2:
            return figure(0)
        return {letter: figure(agent) for agent, letter in enumerate(letters)}

    made: dict[str, Any] = {
        **dict(zip(letters, names, strict=True)),
        "deals": tally.deals,
        **_counts(tally),
        "hands": tally.hands,
        "points_per_hand": of_agents(lambda agent: mean_interval(tally.agents[agent].points)),
        "win_rate": of_agents(lambda agent: rate_interval(tally.wins(agent))),
    }
    if not single or tally.tables > 1:  # a hand by itself pays its points
        made["settlement"] = of_agents(lambda agent: mean_interval(tally.agents[agent].settlement))
    if not single:
        made["hands_per_game"] = tally.hands / tally.games
        made["unfinished"] = tally.unfinished
    made["rates"] = {
        **{x: counts.rates() for x, counts in zip(letters, tally.agents, strict=True)},
        "dead": tally.kinds.get("dead", 0) / tally.hands,
        "tie": tally.kinds.get("tie", 0) / tally.hands,
        "turns_each": tally.turns / tally.hands / 2,
    }
    made["illegal"] = {x: of.illegal for x, of in zip(letters, tally.agents, strict=True)}
    made["forfeits"] = {x: of.forfeits for x, of in zip(letters, tally.agents, strict=True)}
    made["seconds"] = tally.seconds
    made["hands_per_second"] = tally.hands / tally.seconds
    if not single:
        made["games_per_second"] = tally.games / tally.seconds
    return made


def _counts(tally: Tally) -> dict[str, int]:
    """How many episodes there were, and games in matches, under their names."""
    episodes = tally.deals * tally.plays
    if tally.episode == "hand":
        return {"rounds": episodes} if tally.tables > 1 else {}
    if tally.episode == "match":
        return {"matches": episodes, "games": tally.games}
    return {"games": tally.games}
