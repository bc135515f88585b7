"""Duplicate deals between two agents, many lanes at once, and figures with their intervals.

Each deal is played twice, same deck and dealer, the agents' seats swapped: what luck gives one of
them in the first hand it gives the other in the second.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from agents import Agent
from agents.random import choose
from ginenv import actions, engine, match, observation, scoring
from ginenv.engine import State
from ginenv.rules import Rules

CONFIDENCE = 0.95
DEALS_AT_ONCE = 2048


@dataclass(slots=True)
class Hands:
    """N ended hands between agents A and B; hand ``2i`` and ``2i + 1`` are one deal."""

    kind: NDArray[np.uint8]
    """Codes of ``scoring.KINDS``, [N]."""
    winner: NDArray[np.int8]
    """0 for A, 1 for B, -1 for nobody, [N]."""
    points: NDArray[np.int16]
    """What the winner scored, [N]."""
    knocker: NDArray[np.int8]
    """Who ended the hand by knock, gin or big gin: 0, 1, or -1, [N]."""
    knock_deadwood: NDArray[np.uint8]
    """The knocker's, [N]."""
    turns: NDArray[np.int16]
    """Turns of both players together, [N]."""
    illegal: NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, dtype=np.int64))
    """Illegal choices of A and B; each was replaced by a random legal action."""

    @staticmethod
    def join(parts: list[Hands]) -> Hands:
        """One after the other; illegal choices added up."""
        columns = {
            column.name: np.concatenate([getattr(part, column.name) for part in parts])
            for column in fields(Hands)
            if column.name != "illegal"
        }
        return Hands(**columns, illegal=np.sum([part.illegal for part in parts], axis=0))

    def gains(self) -> NDArray[np.float64]:
        """A's points less B's, hand by hand, [N]."""
        sign = np.array([1.0, -1.0, 0.0])[self.winner]  # -1 picks the last
        return sign * self.points


Recorder = Callable[[int, NDArray[np.uint8], NDArray[np.uint8], list[list[int]]], None]
"""Called with A's seat, the decks [N, D], the dealers [N] and each hand's actions."""


def play(
    rules: Rules,
    agents: tuple[Agent, Agent],
    deals: int,
    deck_generator: np.random.Generator,
    action_generator: np.random.Generator,
    progress: Callable[[int], None] = lambda hands: None,
    recorder: Recorder | None = None,
) -> Hands:
    """Play ``deals`` deals twice each between agents A and B.

    The decks depend on ``deck_generator`` alone, so that each pair of agents can be given the
    same ones. ``progress`` is told of the hands that have ended.
    """
    parts = []
    for start in range(0, deals, DEALS_AT_ONCE):
        count = min(DEALS_AT_ONCE, deals - start)
        decks = engine.shuffle(rules, deck_generator, count).repeat(2, axis=0)
        dealers = match.cut(rules, deck_generator, count).repeat(2)
        seat_of_a = np.tile(np.array([0, 1], dtype=np.intp), count)
        state = engine.deal(rules, decks, dealers)
        trace: list[tuple[NDArray[np.intp], NDArray[np.intp]]] = []
        illegal = _play_out(state, agents, seat_of_a, action_generator, progress, trace)
        parts.append(_summary(state, seat_of_a, illegal))
        if recorder is not None:
            played = _actions_by_lane(trace, len(state))
            for seat in (0, 1):
                lanes = (seat_of_a == seat).nonzero()[0]
                taken = [played[lane] for lane in lanes]
                recorder(seat, decks[lanes], dealers[lanes], taken)
    return Hands.join(parts)


def _play_out(
    state: State,
    agents: tuple[Agent, Agent],
    seat_of_a: NDArray[np.intp],
    generator: np.random.Generator,
    progress: Callable[[int], None],
    trace: list[tuple[NDArray[np.intp], NDArray[np.intp]]],
) -> NDArray[np.int64]:
    """Play all lanes to the end; who chose how many illegal actions, [2]."""
    illegal = np.zeros(2, dtype=np.int64)
    running = len(state)
    while running:
        chosen = np.zeros(len(state), dtype=np.intp)
        on_move = np.where(state.over, -1, state.mover ^ seat_of_a)
        for player, agent in enumerate(agents):
            lanes = (on_move == player).nonzero()[0]
            if len(lanes):
                part = state.take(lanes)
                legal = engine.legal(part)
                words = actions.words(legal)
                action = agent.act(observation.view(part), legal, generator)
                wrong = (~actions.contains(words, action)).nonzero()[0]
                illegal[player] += len(wrong)
                action[wrong] = choose(words[wrong], generator)
                chosen[lanes] = action
        live = (on_move >= 0).nonzero()[0]
        trace.append((live, chosen[live]))
        engine.step(state, chosen)
        left = int(np.count_nonzero(~state.over))
        progress(running - left)
        running = left
    return illegal


def _actions_by_lane(
    trace: list[tuple[NDArray[np.intp], NDArray[np.intp]]], lanes: int
) -> list[list[int]]:
    played: list[list[int]] = [[] for _ in range(lanes)]
    for live, chosen in trace:
        for lane, action in zip(live.tolist(), chosen.tolist(), strict=True):
            played[lane].append(action)
    return played


def _summary(state: State, seat_of_a: NDArray[np.intp], illegal: NDArray[np.int64]) -> Hands:
    lanes = np.arange(len(state))
    by_knock = state.kind != scoring.DEAD
    return Hands(
        kind=state.kind,
        winner=np.where(state.winner < 0, -1, state.winner ^ seat_of_a).astype(np.int8),
        points=state.points,
        knocker=np.where(by_knock, state.mover ^ seat_of_a, -1).astype(np.int8),
        knock_deadwood=state.deadwood[lanes, state.mover],
        turns=state.turn + by_knock.astype(np.int16),
        illegal=illegal,
    )


def mean_interval(samples: NDArray[np.float64]) -> dict[str, float]:
    """Mean of independent samples with its Student interval at CONFIDENCE. Needs two or more.

    Samples that are all alike give an interval of no width: they say nothing of their spread.
    """
    mean = float(samples.mean())
    error = float(samples.std(ddof=1)) / np.sqrt(len(samples))
    half = float(stats.t.ppf(0.5 + CONFIDENCE / 2, len(samples) - 1)) * error
    return {"mean": mean, "low": mean - half, "high": mean + half}


def rate_interval(samples: NDArray[np.float64]) -> dict[str, float]:
    """Mean of independent samples in 0..1 with an interval that stays in there.

    Wilson's score interval (1927) at CONFIDENCE, for as many Bernoulli trials as would have the
    samples' variance: pairs of hands are not two independent trials.
    """
    mean = float(samples.mean())
    variance = float(samples.var(ddof=1)) / len(samples)
    trials = mean * (1 - mean) / variance if variance > 0 else float(len(samples))
    z = float(stats.norm.ppf(0.5 + CONFIDENCE / 2))
    centre = (mean + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * np.sqrt(mean * (1 - mean) / trials + (z / (2 * trials)) ** 2)
    # Rounding must not leave a mean of 0 or 1 outside.
    low, high = min(mean, max(0.0, centre - half)), max(mean, min(1.0, centre + half))
    return {"mean": mean, "low": low, "high": high}


def _pairs(samples: NDArray[Any]) -> NDArray[np.float64]:
    """Mean of the two hands of each deal, [N] -> [N / 2]."""
    return samples.astype(np.float64).reshape(-1, 2).mean(axis=1)


def report(name_a: str, name_b: str, hands: Hands, seconds: float) -> dict[str, Any]:
    """The figures of one pair of agents, from A's side, as evaluate.py's JSON holds them."""
    count = len(hands.kind)
    dead, tie = (float(np.mean(hands.kind == kind)) for kind in (scoring.DEAD, scoring.TIE))
    return {
        "a": name_a,
        "b": name_b,
        "deals": count // 2,
        "hands": count,
        "points_per_hand": mean_interval(_pairs(hands.gains())),
        "win_rate": rate_interval(_pairs(hands.winner == 0)),
        "rates": {
            "a": _rates(hands, 0),
            "b": _rates(hands, 1),
            "dead": dead,
            "tie": tie,
            "turns_each": float(hands.turns.mean()) / 2,
        },
        "illegal": {"a": int(hands.illegal[0]), "b": int(hands.illegal[1])},
        "seconds": seconds,
        "hands_per_second": count / seconds,
    }


def _rates(hands: Hands, player: int) -> dict[str, float | None]:
    """Shares of all hands; a knock that was undercut counts as a knock too."""
    ended = hands.knocker == player
    gin, big_gin = (ended & (hands.kind == kind) for kind in (scoring.GIN, scoring.BIG_GIN))
    knock = ended & ~gin & ~big_gin
    undercut = hands.kind == scoring.UNDERCUT
    return {
        "win": float(np.mean(hands.winner == player)),
        "gin": float(np.mean(gin)),
        "big_gin": float(np.mean(big_gin)),
        "knock": float(np.mean(knock)),
        "knock_deadwood": float(hands.knock_deadwood[knock].mean()) if knock.any() else None,
        "undercut_suffered": float(np.mean(ended & undercut)),
        "undercut_made": float(np.mean(~ended & undercut)),
    }


def compare(
    rules: Rules,
    names: tuple[str, str],
    agents: tuple[Agent, Agent],
    deals: int,
    seed: int,
    progress: Callable[[int], None] = lambda hands: None,
    recorder: Recorder | None = None,
) -> dict[str, Any]:
    """:func:`play` and :func:`report`; the decks depend on ``seed`` alone."""
    deck_seed, action_seed = np.random.SeedSequence(seed).spawn(2)
    start = time.perf_counter()
    hands = play(
        rules,
        agents,
        deals,
        np.random.default_rng(deck_seed),
        np.random.default_rng(action_seed),
        progress,
        recorder,
    )
    return report(*names, hands, time.perf_counter() - start)
