"""Duplicate deals between agents: hands, games or matches on many lanes at once.

A deal of a hand is a deck and a first dealer. A deal of a game or match is the first dealer and a
sequence of decks, one for each round (partnership: two, one a table). Each deal is played once for
every way to seat the agents: what luck gives one of them in one play it gives the others in the
next. After the first round that holds for the decks only: who deals, and in cutthroat who plays,
follows from who lost.

Agents that are told hands from the deal on (:class:`agents.told.Asked`, programs among them) get no
second chance: an illegal choice of theirs forfeits the hand.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents import Agent
from agents.figures import report
from agents.random import choose
from agents.results import NOBODY, Hands, Results
from agents.told import FORFEIT, Asked, Telling, result
from ginenv import actions, engine, match, replay, scoring
from ginenv import play as playing
from ginenv.replay import Hand
from ginenv.rules import Rules

LANES_AT_ONCE = {"hand": 4096, "game": 16384, "match": 16384}
"""More lanes pay for games: the last games of a chunk, long ones, are played on few of them."""
MAX_DRY_ROUNDS = 500
"""A game is broken off after so many rounds in a row in which nobody scored: there are agents who
never win a hand from each other."""
_BLOCK = 512

Recorder = Callable[[tuple[int, ...], list[list[Hand]]], None]
"""Called for each episode, deal by deal, with the agent that each player was, and its games."""


def seatings(rules: Rules) -> NDArray[np.intp]:
    """The ways to seat the agents: which agent each player is, [K, P].

    Heads up and partnership (0 and 2 against 1 and 3) both ways round; all six of three.
    """
    agents = range(rules.num_sides)
    plan = np.array(list(itertools.permutations(agents)), dtype=np.intp)
    return match.by_player(rules, plan)


class Decks:
    """The decks of some deals, those of later rounds shuffled when they are first asked for."""

    def __init__(self, rules: Rules, generator: np.random.Generator, deals: int) -> None:
        self.rules = rules
        first = engine.shuffle(rules, generator, deals * rules.num_tables)
        first = first.reshape(1, deals, rules.num_tables, -1)
        starts = range(0, deals, _BLOCK)
        # Deals in blocks, each with a generator of its own: however many rounds some deals take,
        # others have the same decks, and few of them have decks shuffled that nobody plays.
        self.blocks = [first[:, start : start + _BLOCK] for start in starts]
        """uint8 [R, _BLOCK, T, D] each; R differs."""
        self.generators = generator.spawn(len(self.blocks))

    def take(self, deals: NDArray[np.intp], rounds: NDArray[np.intp]) -> NDArray[np.uint8]:
        """The decks of these rounds, counted from 0, of these deals: uint8 [N, T, D]."""
        block, place = np.divmod(deals, _BLOCK)
        taken = np.empty((len(deals), *self.blocks[0].shape[2:]), np.uint8)
        for number in np.unique(block).tolist():
            rows = (block == number).nonzero()[0]
            self._shuffle(number, int(rounds[rows].max()) + 1)
            taken[rows] = self.blocks[number][rounds[rows], place[rows]]
        return taken

    def _shuffle(self, number: int, rounds: int) -> None:
        """Twice as many rounds of a block, until there are enough."""
        while len(decks := self.blocks[number]) < rounds:
            lanes = decks.size // decks.shape[-1]
            more = engine.shuffle(self.rules, self.generators[number], lanes)
            self.blocks[number] = np.concatenate([decks, more.reshape(decks.shape)])


class _Log:
    """The actions of B episodes, kept hand by hand and game by game."""

    def __init__(self, rules: Rules, lanes: int) -> None:
        self.tables = rules.num_tables
        # Draw and discard each turn, three passes, a last offer.
        self.chosen = np.zeros((lanes * self.tables, 2 * rules.turn_limit + 8), np.uint8)
        self.count = np.zeros(len(self.chosen), np.intp)
        self.games: list[list[list[Hand]]] = [[] for _ in range(lanes)]

    def add(self, at: NDArray[np.intp], chosen: NDArray[np.intp]) -> None:
        """Actions at these tables, counted as the engine's lanes: ints [N]."""
        self.chosen[at, self.count[at]] = chosen
        self.count[at] += 1

    def end_round(self, play: playing.Play, lanes: NDArray[np.intp]) -> None:
        """Keep the hands that have ended on these lanes."""
        first = play.match.rounds[lanes] == 1
        for lane, opens in zip(lanes.tolist(), first.tolist(), strict=True):
            at = range(lane * self.tables, (lane + 1) * self.tables)
            chosen = [self.chosen[hand, : self.count[hand]].tolist() for hand in at]
            if opens:
                self.games[lane].append([])
            self.games[lane][-1].extend(replay.hands_of(play, lane, chosen))
            self.count[at] = 0


class _Chunk:
    """Deals in play side by side; lane ``deal * K + k`` is a deal's k-th play."""

    def __init__(
        self,
        rules: Rules,
        episode: str,
        deals: int,
        generator: np.random.Generator,
        logs: bool,
        tells: bool,
    ) -> None:
        plan = seatings(rules)
        self.rules = rules
        self.plays = len(plan)
        self.agents = np.tile(plan, (deals, 1))
        """Which agent each player is, [B, P]."""
        lanes = len(self.agents)
        self.deal = np.arange(deals).repeat(self.plays)
        self.decks = Decks(rules, generator, deals)
        dealers = match.cut(rules, generator, deals).repeat(self.plays)
        self.dealt = np.zeros(lanes, np.intp)
        """Rounds of the episode before the one in play, [B]."""
        decks = self.decks.take(self.deal, self.dealt)
        self.play = playing.start(rules, episode, decks, dealers)
        self.live = np.arange(lanes)
        """Lanes that are played on."""
        self.games = np.ones(lanes, np.int32)
        self.dry = np.zeros(lanes, np.intp)
        """Rounds since somebody scored, [B]."""
        self.illegal = np.zeros(rules.num_sides, np.int64)
        self.hands: list[Hands] = []
        self.log = _Log(rules, lanes) if logs else None
        self.telling = Telling(self.play, self.plays) if tells else None

    def step(self, agents: Sequence[Agent], generator: np.random.Generator) -> int:
        """One action on each live lane; how many episodes ended."""
        chosen = np.zeros(len(self.deal), dtype=np.intp)
        on_move = self.agents[self.live, self.play.mover[self.live]]
        for number, agent in enumerate(agents):
            lanes = self.live[on_move == number]
            if len(lanes):
                if self.telling is not None and isinstance(agent, Asked):
                    chosen[lanes] = self._ask(agent, lanes, self.telling)
                else:
                    chosen[lanes] = self._act(number, agent, lanes, generator)
        self._note(chosen)
        ended = playing.step(self.play, chosen)
        if not len(ended.lanes):
            return 0
        scored = ended.payoffs.any(axis=1)
        self.dry[ended.lanes] = np.where(scored, 0, self.dry[ended.lanes] + 1)
        self._tell_results(agents, ended.lanes)
        return self._end_rounds(ended.lanes, generator)

    def _act(
        self, number: int, agent: Agent, lanes: NDArray[np.intp], generator: np.random.Generator
    ) -> NDArray[np.intp]:
        hands = playing.hands_on_move(self.play, lanes)
        legal = engine.legal(hands)
        words = actions.words(legal)
        chosen = agent.act(playing.view(self.play, hands, lanes), legal, generator)
        wrong = (~actions.contains(words, chosen)).nonzero()[0]
        self.illegal[number] += len(wrong)
        chosen[wrong] = choose(words[wrong], generator)
        return chosen

    def _ask(self, agent: Asked, lanes: NDArray[np.intp], telling: Telling) -> NDArray[np.intp]:
        hands = playing.hands_on_move(self.play, lanes)
        legal = engine.legal(hands)
        at = self.play.on_move[lanes].tolist()
        told = [telling.hands[lane][seat] for lane, seat in zip(at, hands.mover, strict=True)]
        chosen = agent.ask(playing.view(self.play, hands, lanes), legal, told)
        return np.where(actions.contains(actions.words(legal), chosen), chosen, FORFEIT)

    def _note(self, chosen: NDArray[np.intp]) -> None:
        """Log and tell what is about to be played; end what is forfeited, in place."""
        at, played = self.play.on_move[self.live], chosen[self.live]
        if self.telling is not None:
            self.telling.add(self.play.hands, at, played)
        gone = played == FORFEIT
        if self.log is not None:
            self.log.add(at[~gone], played[~gone])
        if gone.any():
            engine.forfeit(self.play.hands, at[gone])
            chosen[self.live[gone]] = engine.NO_ACTION

    def _tell_results(self, agents: Sequence[Agent], lanes: NDArray[np.intp]) -> None:
        """Tell those who are told of hands how these have ended."""
        if self.telling is None:
            return
        tables = self.play.rules.num_tables
        at = (lanes[:, None] * tables + np.arange(tables)).reshape(-1).tolist()
        pairs = self.agents[lanes[:, None, None], self.play.seats[lanes]].reshape(-1, 2).tolist()
        for number, agent in enumerate(agents):
            if isinstance(agent, Asked):
                seats = [
                    (lane, seat)
                    for lane, pair in zip(at, pairs, strict=True)
                    for seat in (0, 1)
                    if pair[seat] == number
                ]
                agent.ended(
                    [self.telling.hands[lane][seat] for lane, seat in seats],
                    [result(self.play.hands, lane, seat) for lane, seat in seats],
                )

    def _end_rounds(self, lanes: NDArray[np.intp], generator: np.random.Generator) -> int:
        """Keep what has ended on these lanes and deal on; how many episodes ended."""
        play = self.play
        self.hands.append(_hands(play, self.agents, lanes))
        if self.log is not None:
            self.log.end_round(play, lanes)
        won = play.match.winner[lanes] != match.NOBODY
        play.over[lanes] |= ~won & (self.dry[lanes] >= MAX_DRY_ROUNDS)
        goes_on = ~play.over[lanes]
        self.games[lanes[goes_on & won]] += 1
        lanes = lanes[goes_on]
        if len(lanes):
            self.dealt[lanes] += 1
            decks = self.decks.take(self.deal[lanes], self.dealt[lanes])
            playing.deal(play, lanes, decks, generator)
            if self.telling is not None:
                self.telling.deal(play, lanes)
        ended = len(goes_on) - len(lanes)
        if ended:
            self.live = (~play.over).nonzero()[0]
        return ended

    def results(self, before: int) -> Results:
        """What has come of it, when no lane is left; ``before``: episodes before these."""
        play, rules = self.play, self.rules
        single = play.episode == "hand"
        by_side = play.paid[:, : rules.num_sides] if single else play.match.settled
        sides = self.agents[:, : rules.num_sides]
        settlement = np.zeros(sides.shape)
        np.put_along_axis(settlement, sides, by_side.astype(np.float64), axis=1)
        winner = playing.winners(play)[:, None].astype(np.intp)
        agent = np.take_along_axis(sides, winner, axis=1)[:, 0]
        hands = Hands.join(self.hands)
        hands.episode += before
        return Results(
            episode=play.episode,
            tables=rules.num_tables,
            plays=self.plays,
            winner=np.where(winner[:, 0] == match.NOBODY, NOBODY, agent).astype(np.int8),
            unfinished=(winner[:, 0] == match.NOBODY) & (not single),
            settlement=settlement,
            games=self.games,
            illegal=self.illegal,
            hands=hands.take(np.argsort(hands.episode, kind="stable")),
        )

    def record(self, recorder: Recorder) -> None:
        """Pass on what was logged."""
        if self.log is not None:
            for agents, games in zip(self.agents.tolist(), self.log.games, strict=True):
                recorder(tuple(agents), games)


def _hands(play: playing.Play, agents: NDArray[np.intp], lanes: NDArray[np.intp]) -> Hands:
    """The ended hands at the tables of these lanes, N x T of them."""
    tables = play.rules.num_tables
    state, rows = play.hands, np.arange(len(lanes) * tables)
    at = (lanes[:, None] * tables + np.arange(tables)).reshape(-1)
    pair = agents[lanes[:, None, None], play.seats[lanes]].reshape(-1, 2)
    mover, winner = state.mover[at], state.winner[at]
    by_knock = (state.kind[at] != scoring.DEAD) & (state.kind[at] != scoring.FORFEIT)
    return Hands(
        episode=lanes.repeat(tables),
        pair=pair.astype(np.int8),
        kind=state.kind[at],
        winner=np.where(winner < 0, NOBODY, pair[rows, winner]).astype(np.int8),
        points=state.points[at],
        knocker=np.where(by_knock, pair[rows, mover], NOBODY).astype(np.int8),
        knock_deadwood=state.deadwood[at, mover],
        turns=state.turn[at] + by_knock.astype(np.int16),
    )


def seeds(seed: int, first: int = 0) -> list[np.random.SeedSequence]:
    """Those of decks and of choices, for deals of which the first has this number."""
    return np.random.SeedSequence(seed, spawn_key=(first,) if first else ()).spawn(2)


def play(
    rules: Rules,
    agents: Sequence[Agent],
    deals: int,
    deck_generator: np.random.Generator,
    action_generator: np.random.Generator,
    progress: Callable[[int], None] = lambda episodes: None,
    recorder: Recorder | None = None,
    episode: str = "hand",
) -> Results:
    """Play ``deals`` deals of hands, games or matches, each in all seatings of the agents.

    As many agents as there are sides: two, or three in cutthroat. The decks depend on
    ``deck_generator`` alone, so that other agents can be given the same ones. ``progress`` is told
    of the episodes that have ended. Agents that are told hands are closed at the end: who meets
    the same decks once more must not remember them.
    """
    if len(agents) != rules.num_sides:
        raise ValueError(f"{len(agents)} agents: {rules.seating} takes {rules.num_sides}")
    parts = []
    plays = len(seatings(rules))
    at_once = LANES_AT_ONCE[episode] // plays
    asked = [agent for agent in agents if isinstance(agent, Asked)]
    try:
        for start in range(0, deals, at_once):
            count = min(at_once, deals - start)
            logs, tells = recorder is not None, bool(asked)
            chunk = _Chunk(rules, episode, count, deck_generator, logs, tells)
            while len(chunk.live):
                progress(chunk.step(agents, action_generator))
            if recorder is not None:
                chunk.record(recorder)
            parts.append(chunk.results(start * plays))
    finally:
        for agent in asked:
            agent.close()
    return Results.join(parts)


def compare(
    rules: Rules,
    names: Sequence[str],
    agents: Sequence[Agent],
    deals: int,
    seed: int,
    progress: Callable[[int], None] = lambda episodes: None,
    recorder: Recorder | None = None,
    episode: str = "hand",
) -> dict[str, Any]:
    """:func:`play` and :func:`agents.figures.report`; the decks depend on ``seed`` alone."""
    deck_seed, action_seed = seeds(seed)
    start = time.perf_counter()
    results = play(
        rules,
        agents,
        deals,
        np.random.default_rng(deck_seed),
        np.random.default_rng(action_seed),
        progress,
        recorder,
        episode,
    )
    return report(names, results, time.perf_counter() - start)
