"""Decisions per second on one core, under uniform random legal play.

Measured side by side: the batched engine with legal-action masks, the same with observations, the
PettingZoo environment and, where it is installed, OpenSpiel's ``gin_rummy``. Ended hands are dealt
again and that counts too. A row's figure is the median over rounds that take the rows in turn, and
a ratio is the median of the rounds' ratios: on a shared machine only the ratios mean much.

The batched engine is held against OpenSpiel at its best: a hand starts as a clone of a saved state,
whichever is faster of one before the deal and one after it (always the same deal then), and its
laying down of melds and lay-offs, which this package does for the player, counts as decisions. The
PettingZoo environment, a loop over single steps, is held against OpenSpiel's plain loop as well: a
new state for each hand, chance nodes sampled by their probabilities.

    python benchmarks/engine.py [--json FILE] [--seconds S] [--rounds N] [--lanes 1,16,256]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"  # read when numpy is imported
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np  # noqa: E402

from agents.random import choose  # noqa: E402
from ginenv import actions, cards, engine, gin_rummy_v0, match, melds, observation  # noqa: E402
from ginenv.files import whole_file  # noqa: E402
from ginenv.rules import Rules  # noqa: E402

try:
    import pyspiel
    from open_spiel.python.observation import make_observation
except ImportError:
    pyspiel = None

LANES = (1, 16, 256, 1_024, 4_096, 16_384)
DEADWOOD_HANDS = 4_096
WARM_UP_STEPS = 200
"""About three hands, so that the lanes no longer start and end together."""
SEED = 20

Work = Iterator[int]
"""Each ``next`` does a bit of the work and tells how many decisions (or hands) that was."""


def engine_play(lanes: int, observe: bool) -> Work:
    """The batched engine: masks, with ``observe`` observations too, a choice, a step."""
    rules = Rules()
    generator = np.random.default_rng(SEED)

    def deal(hands: int) -> engine.State:
        decks = engine.shuffle(rules, generator, hands)
        return engine.deal(rules, decks, match.cut(rules, generator, hands))

    state = deal(lanes)
    while True:
        words = actions.words(engine.legal(state))
        actions.unpack(words)
        if observe:
            observation.encode(observation.view(state))
        engine.step(state, choose(words, generator))
        over = state.over.nonzero()[0]
        if len(over):
            state.put(over, deal(len(over)))
        yield lanes


def pettingzoo_play() -> Work:
    """The PettingZoo environment with its wrappers."""
    env = gin_rummy_v0.env()
    rng = random.Random(SEED)
    env.reset(seed=SEED)
    while True:
        observed, _, ended, _, _ = env.last()
        if ended:
            env.reset()
            continue
        legal = observed["action_mask"].nonzero()[0]
        env.step(int(legal[int(rng.random() * len(legal))]))
        yield 1


def openspiel_plain_play() -> Work:
    """OpenSpiel as a first script plays it: a new state for each hand, chance by its chances."""
    game = pyspiel.load_game("gin_rummy")
    rng = random.Random(SEED)
    while True:
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes, chances = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(rng.choices(outcomes, chances)[0])
            else:
                state.apply_action(rng.choice(state.legal_actions()))
                yield 1


def openspiel_play(dealt: bool, observe: bool) -> Work:
    """OpenSpiel, hands cloned from a state saved before the deal or after it."""
    game = pyspiel.load_game("gin_rummy")
    pick = random.Random(SEED).random
    start = game.new_initial_state()
    if dealt:
        while start.is_chance_node():
            legal = start.legal_actions()
            start.apply_action(legal[int(pick() * len(legal))])
    observed = make_observation(game)
    while True:
        state = start.clone()
        while not state.is_terminal():
            legal = state.legal_actions()
            deciding = not state.is_chance_node()
            if deciding and observe:
                observed.set_from(state, state.current_player())
            # Each card left is as likely as any other: chance needs no list of probabilities.
            state.apply_action(legal[int(pick() * len(legal))])
            if deciding:
                yield 1


def least_deadwood() -> Work:
    """Least deadwood of random hands of eleven cards."""
    generator = np.random.default_rng(SEED)
    decks = engine.shuffle(Rules(), generator, 16 * DEADWOOD_HANDS)
    hands = np.bitwise_or.reduce(cards.BIT[decks[:, :11]], axis=1).reshape(16, DEADWOOD_HANDS)
    while True:
        for batch in hands:
            melds.deadwood(batch)
            yield len(batch)


def bytes_per_lane() -> float:
    """What a lane of the engine's state takes."""
    lanes = 1_000
    rules = Rules()
    decks = engine.shuffle(rules, np.random.default_rng(SEED), lanes)
    state = engine.deal(rules, decks, np.zeros(lanes, dtype=np.uint8))
    return float(sum(getattr(state, name).nbytes for name in engine.COLUMNS) / lanes)


def rate(work: Work, seconds: float) -> float:
    """Decisions per second of this process's own time, over at least that many seconds."""
    done = 0
    # What others do on the machine meanwhile is not counted, other than by wall-clock time.
    start = time.process_time()
    while True:
        for _ in range(10):
            done += next(work)
        spent = time.process_time() - start
        if spent >= seconds:
            return done / spent


def measure(lanes: list[int], seconds: float, rounds: int) -> dict[str, list[float]]:
    """The rate of every row in each round, by the row's name."""
    rows: dict[str, Callable[[], Work]] = {}
    for count in lanes:
        rows[f"engine {count}"] = partial(engine_play, count, observe=False)
        rows[f"engine_observed {count}"] = partial(engine_play, count, observe=True)
    rows["pettingzoo"] = pettingzoo_play
    if pyspiel is not None:
        rows["openspiel_plain"] = openspiel_plain_play
        for row, observe in (("openspiel", False), ("openspiel_observed", True)):
            rows[f"{row} undealt"] = partial(openspiel_play, dealt=False, observe=observe)
            rows[f"{row} dealt"] = partial(openspiel_play, dealt=True, observe=observe)
    rows["least_deadwood"] = least_deadwood

    works = {name: start() for name, start in rows.items()}
    for work in works.values():
        for _ in range(WARM_UP_STEPS):
            next(work)
    rates: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            rates[name].append(rate(work, seconds / rounds))
    if pyspiel is not None:
        for row in ("openspiel", "openspiel_observed"):
            starts = [rates.pop(f"{row} {start}") for start in ("undealt", "dealt")]
            rates[row] = max(starts, key=statistics.median)
    return rates


def summarize(rates: dict[str, list[float]], lanes: list[int]) -> dict[str, Any]:
    """The figures as ``--json`` writes them; null where OpenSpiel is not installed."""

    def figure(row: str) -> float | None:
        return statistics.median(rates[row]) if row in rates else None

    def ratio(row: str, peer: str) -> float | None:
        if row not in rates or peer not in rates:
            return None
        pairs = zip(rates[row], rates[peer], strict=True)
        return statistics.median(ours / theirs for ours, theirs in pairs)

    def by_lanes(value: Callable[[int], float | None]) -> dict[str, float | None]:
        return {str(count): value(count) for count in lanes}

    return {
        "decisions_per_second": {
            "engine": by_lanes(lambda n: figure(f"engine {n}")),
            "engine_observed": by_lanes(lambda n: figure(f"engine_observed {n}")),
            "pettingzoo": figure("pettingzoo"),
            "openspiel_plain": figure("openspiel_plain"),
            "openspiel": figure("openspiel"),
            "openspiel_observed": figure("openspiel_observed"),
        },
        "ratios": {
            "engine/openspiel": by_lanes(lambda n: ratio(f"engine {n}", "openspiel")),
            "engine_observed/openspiel_observed": by_lanes(
                lambda n: ratio(f"engine_observed {n}", "openspiel_observed")
            ),
            "pettingzoo/openspiel_plain": ratio("pettingzoo", "openspiel_plain"),
            "pettingzoo/openspiel": ratio("pettingzoo", "openspiel"),
        },
        "least_deadwood_hands_per_second": figure("least_deadwood"),
        "state_bytes_per_lane": bytes_per_lane(),
        "machine": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "openspiel": None if pyspiel is None else version("open_spiel"),
            "processor": platform.machine(),
        },
    }


def table(figures: dict[str, Any]) -> str:
    """The figures as text."""
    rates, ratios = figures["decisions_per_second"], figures["ratios"]
    lines = [f"{'':36}{'decisions/s':>14}{'x OpenSpiel':>14}"]

    def line(name: str, value: float | None, times: float | None = None) -> None:
        shown = "not installed" if value is None else f"{value:,.0f}"
        lines.append(f"{name:36}{shown:>14}" + (f"{times:14.2f}" if times else ""))

    for row, peer, text in (
        ("engine", "engine/openspiel", "masks"),
        ("engine_observed", "engine_observed/openspiel_observed", "masks and observations"),
    ):
        for count, value in rates[row].items():
            line(f"{text}, {int(count):,} lanes", value, ratios[peer][count])
    line("PettingZoo", rates["pettingzoo"], ratios["pettingzoo/openspiel"])
    line(
        "  against OpenSpiel's plain loop",
        rates["pettingzoo"],
        ratios["pettingzoo/openspiel_plain"],
    )
    line("OpenSpiel at its best", rates["openspiel"])
    line("  with observations", rates["openspiel_observed"])
    line("  plain loop, a new state a hand", rates["openspiel_plain"])
    lines.append("")
    hands = figures["least_deadwood_hands_per_second"]
    lines.append(f"{'least deadwood of 11 cards, hands/s':36}{hands:14,.0f}")
    lines.append(f"{'state, bytes a lane':36}{figures['state_bytes_per_lane']:14,.0f}")
    return "\n".join(lines)


def lane_counts(text: str) -> list[int]:
    """``"1,16"`` as numbers."""
    counts = [int(part) for part in text.split(",")]
    if min(counts) < 1:
        raise ValueError
    return counts


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description="Decisions per second on one core, beside OpenSpiel's where it is installed."
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument(
        "--seconds", type=float, default=3.0, help="for each row, over all rounds (default 3)"
    )
    parser.add_argument("--rounds", type=int, default=9, help="default 9")
    parser.add_argument(
        "--lanes",
        type=lane_counts,
        default=list(LANES),
        help="as in 1,16,256 (the default goes on)",
    )
    options = parser.parse_args(arguments)
    if options.json and not options.json.parent.is_dir():
        parser.error(f"--json {options.json}: there is no folder {options.json.parent}")
    if options.json and options.json.is_dir():
        parser.error(f"--json {options.json}: is a folder")
    if options.seconds <= 0:
        parser.error(f"--seconds {options.seconds}: must be greater than 0")
    if options.rounds < 1:
        parser.error(f"--rounds {options.rounds}: must be at least 1")
    figures = summarize(measure(options.lanes, options.seconds, options.rounds), options.lanes)
    print(table(figures))
    if options.json:
        with whole_file(options.json) as file:
            file.write((json.dumps(figures, indent=2) + "\n").encode())


if __name__ == "__main__":
    main()
