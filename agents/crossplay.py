"""Every pair of some agents (in cutthroat every three) on the same decks, in a file to go on from.

All play the deals of one plan: batches, of which each has decks that follow from the seed and the
number of its first deal. The file holds the plan, and of each pair the tally of its first batches.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import operator
import os
import shlex
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import agents
from agents import arena, ratings
from agents.figures import Counts, Tally, deals_needed, report_tally
from ginenv.files import whole_file
from ginenv.play import EPISODES
from ginenv.rules import Rules, RulesError, from_dict

FORMAT = "ginenv-crossplay/1"
EPISODES_A_BATCH = 4096
"""Small ones lose less when a run is cut short; the last games of each are played on few lanes."""
PANEL = "all"
"""Stands for all named agents but ``random``."""
YARDSTICK = "simple"
"""Whom ratings are told from, where he is there."""

Contest = tuple[int, ...]
"""Places of two agents, or three, ascending."""


class CrossPlayError(ValueError):
    """A file that can't be read, or that other settings made."""


def expand(names: Sequence[str]) -> list[str]:
    """The names, with those of the panel that are not among them in place of ``all``."""
    found: list[str] = []
    for name in names:
        panel = [known for known in (*agents.AGENTS, *agents.POLICIES) if known != "random"]
        new = [known for known in panel if known not in names and known not in found]
        found += new if name == PANEL else [name]
    return found


def batch_deals(rules: Rules) -> int:
    """Deals to a batch."""
    return EPISODES_A_BATCH // len(arena.seatings(rules))


def fingerprint(name: str) -> str | None:
    """The SHA-256 of the files that an agent is made of: a policy, or those of a program's command.

    What a name stands for must not change unseen.
    """
    program = name.startswith(("cmd:", "cmd@"))
    words = shlex.split(name.partition(":")[2]) if program else [agents.policy_file(name)]
    files = [Path(word) for word in words if Path(word).is_file()]
    if name in agents.AGENTS or not files:
        return None
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


@dataclass(frozen=True, slots=True)
class Entry:
    """An agent of a run."""

    name: str
    sha256: str | None


@dataclass(slots=True)
class CrossPlay:
    """What has been played, and what is to be."""

    rules: Rules
    episode: str
    seed: int
    entries: list[Entry] = field(default_factory=list)
    """The agents; their places are what contests name them by."""
    batches: list[int] = field(default_factory=list)
    """The plan: deals of each batch."""
    tallies: dict[Contest, Tally] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)
    """Those that made the run."""

    @staticmethod
    def read(path: str | os.PathLike[str]) -> CrossPlay:
        """The run of a file. Raises CrossPlayError that names it and the fault."""
        try:
            made = json.loads(Path(path).read_bytes())
        except (OSError, ValueError) as error:
            raise CrossPlayError(f"{path}: can't be read as JSON ({error})") from None
        if not isinstance(made, dict) or made.get("format") != FORMAT:
            found = made.get("format") if isinstance(made, dict) else None
            raise CrossPlayError(
                f"{path}: format is {found!r}, not {FORMAT!r}: it can't be gone on from"
            )
        try:
            return _from_dict(made)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise CrossPlayError(f"{path}: damaged ({error})") from None

    def check(self, rules: Rules, episode: str, seed: int) -> None:
        """Raise CrossPlayError that names each setting in which the run differs."""
        own = {**self.rules.to_dict(), "episode": self.episode, "seed": self.seed}
        wanted = {**rules.to_dict(), "episode": episode, "seed": seed}
        other = [name for name in own if own[name] != wanted[name]]
        if other:
            told = "; ".join(f"{name}={own[name]!r}, not {wanted[name]!r}" for name in other)
            raise CrossPlayError(f"made with {told}")

    def enter(self, names: Sequence[str]) -> list[int]:
        """The places of these agents, new ones behind the others.

        Raises CrossPlayError if a file of one has changed since he played.
        """
        free: dict[str, list[int]] = {}
        for place, entry in enumerate(self.entries):
            free.setdefault(entry.name, []).append(place)
        places = []
        for name in names:
            entry = Entry(name, fingerprint(name))
            if not free.get(name):
                free[name] = [len(self.entries)]
                self.entries.append(entry)
            place = free[name].pop(0)
            known = self.entries[place].sha256
            if known != entry.sha256 and any(place in contest for contest in self.tallies):
                raise CrossPlayError(
                    f"{name} has changed since it played: its sha256 was {known}, "
                    f"now it is {entry.sha256}"
                )
            self.entries[place] = entry
            places.append(place)
        return places

    def contests(self, places: Iterable[int]) -> list[Contest]:
        """Who plays whom."""
        return list(itertools.combinations(sorted(places), self.rules.num_sides))

    @property
    def labels(self) -> list[str]:
        """What tells the agents apart: their names, numbered where one is there again."""
        labels: list[str] = []
        for place, entry in enumerate(self.entries):
            before = sum(other.name == entry.name for other in self.entries[:place])
            labels.append(f"{entry.name} #{before + 1}" if before else entry.name)
        return labels

    def names(self, contest: Contest) -> tuple[str, ...]:
        """Of the agents in it."""
        return tuple(self.entries[place].name for place in contest)

    def deals(self, contest: Contest) -> int:
        """How many it has had."""
        return self.tallies[contest].deals if contest in self.tallies else 0

    def missing(self, contest: Contest, until: float | None = None) -> int:
        """Deals of the plan that it has not had; none if its intervals are no wider than ``until``.

        ``until``: half the width, in points a hand.
        """
        if until is not None and contest in self.tallies:
            widths = [counts.points.half_width for counts in self.tallies[contest].agents]
            if max(widths) <= until:
                return 0
        return sum(self.batches) - self.deals(contest)

    def plan(
        self, contests: Sequence[Contest], deals: int, until: float | None, command: str
    ) -> bool:
        """Plan so many more deals, unless some of these still miss some; whether it has."""
        if not self.tallies:
            self.batches, self.commands = [], []
        extends = not any(self.missing(contest, until) for contest in contests)
        before = len(self.batches)
        if extends:
            at_once = batch_deals(self.rules)
            self.batches += [min(at_once, deals - start) for start in range(0, deals, at_once)]
        if not any(self.missing(contest, until) for contest in contests):
            del self.batches[before:]
            return False
        if extends or self.commands[-1:] != [command]:
            self.commands.append(command)
        return extends

    def play(
        self,
        contest: Contest,
        players: Sequence[agents.Agent],
        progress: Callable[[int], None] = lambda episodes: None,
        recorder: arena.Recorder | None = None,
    ) -> None:
        """Play the next batch of a contest that misses one."""
        first = self.deals(contest)
        begins = [0, *itertools.accumulate(self.batches)]
        deals = self.batches[begins.index(first)]
        decks, choices = (np.random.default_rng(each) for each in arena.seeds(self.seed, first))
        start = time.perf_counter()
        results = arena.play(
            self.rules, players, deals, decks, choices, progress, recorder, self.episode
        )
        tally = Tally.of(results, time.perf_counter() - start)
        self.tallies[contest] = self.tallies[contest] + tally if first else tally

    def reports(self) -> list[dict[str, Any]]:
        """The figures of all that have played, in the order of their places."""
        made = []
        for contest, tally in sorted(self.tallies.items()):
            figures = {"players": list(contest), **report_tally(self.names(contest), tally)}
            if len(contest) == 2:
                figures["deals_needed"] = deals_needed(tally)
            made.append({**figures, "tally": tally.to_dict()})
        return made

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the file, whole or not at all."""
        made = {
            "format": FORMAT,
            "commands": self.commands,
            "rules": self.rules.to_dict(),
            "episode": self.episode,
            "seed": self.seed,
            "agents": [{"name": entry.name, "sha256": entry.sha256} for entry in self.entries],
            "batches": self.batches,
            "pairs" if self.rules.num_sides == 2 else "triples": self.reports(),
            **summary(self),
        }
        with whole_file(path) as file:
            file.write((json.dumps(made, indent=1) + "\n").encode())


def _from_dict(made: dict[str, Any]) -> CrossPlay:
    """Raises whatever comes of fields that are missing or of the wrong kind."""
    try:
        rules = from_dict(made["rules"])
    except RulesError as error:
        raise ValueError(f"rules: {error}") from None
    run = CrossPlay(rules, made["episode"], made["seed"], commands=list(made["commands"]))
    run.entries = [Entry(**entry) for entry in made["agents"]]
    run.batches = [int(deals) for deals in made["batches"]]
    if run.episode not in EPISODES or min(run.batches, default=1) < 1:
        raise ValueError("episode or batches")
    begins = [0, *itertools.accumulate(run.batches)]
    for contest in made["pairs" if rules.num_sides == 2 else "triples"]:
        places, tally = tuple(contest["players"]), Tally.from_dict(contest["tally"])
        report_tally(run.names(places), tally)
        if places not in run.contests(range(len(run.entries))) or tally.deals not in begins:
            raise ValueError(f"players {list(places)} with {tally.deals} deals")
        run.tallies[places] = tally
    return run


def anchor(run: CrossPlay) -> int:
    """Whose rating is given: ``simple`` where he is there, else the first agent."""
    names = [entry.name for entry in run.entries]
    return names.index(YARDSTICK) if YARDSTICK in names else 0


def rate(run: CrossPlay) -> dict[str, dict[str, float]]:
    """Elo ratings by label, the best first."""
    results = {(a, b): tally.shares() for (a, b), tally in run.tallies.items()}
    plays = len(arena.seatings(run.rules))
    rated = ratings.elo(run.labels, results, plays, anchor(run), np.random.default_rng(run.seed))
    return dict(sorted(rated.items(), key=lambda item: -item[1]["elo"]))


def by_agent(run: CrossPlay) -> dict[str, dict[str, Any]]:
    """What each agent did in all his hands, by label."""
    made, played = {}, sorted(run.tallies.items())
    for place, label in enumerate(run.labels):
        met = [(tally, contest.index(place)) for contest, tally in played if place in contest]
        if not met:
            continue
        counts: Counts = functools.reduce(operator.add, (tally.agents[at] for tally, at in met))
        hands, games = sum(tally.hands for tally, _ in met), sum(tally.games for tally, _ in met)
        seconds = sum(tally.seconds for tally, _ in met)
        made[label] = {
            "hands": counts.hands,
            **counts.rates(),
            "dead": counts.drawn.get("dead", 0) / counts.hands,
            "turns_each": counts.turns / counts.hands / 2,
            "illegal": counts.illegal,
            "forfeits": counts.forfeits,
            "hands_per_second": hands / seconds,
        }
        if run.episode != "hand":
            made[label] |= {"hands_per_game": hands / games, "games_per_second": games / seconds}
    return made


def summary(run: CrossPlay) -> dict[str, Any]:
    """What is told of more than two agents together, as the file holds it."""
    if run.rules.num_sides != 2 or len(run.entries) < 3 or not run.tallies:
        return {}
    return {"anchor": run.labels[anchor(run)], "ratings": rate(run), "by_agent": by_agent(run)}
