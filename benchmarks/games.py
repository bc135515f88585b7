"""Decisions and games per second of games to 100, beside the bare hand engine.

Uniform random legal play on one core, masks only and with observations, rows in turn; a figure is
the median over the rounds and a ratio the median of the rounds' ratios. In games every hand that
ends is entered on its sheet, and the next one is dealt by whoever the rules say.

    python benchmarks/games.py [--json FILE] [--seconds S] [--rounds N] [--lanes N] [--games N]
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path

from engine import SEED, WARM_UP_STEPS, Work, choose, engine_play, rate

import numpy as np  # isort: skip  # after engine, which sets its threads

from ginenv import actions, engine, match, observation, play
from ginenv.files import whole_file
from ginenv.rules import Rules, preset

PRESETS = ("classic", "hollywood", "cutthroat", "partnership")
"""Each another way of scoring and seating."""


def games_play(rules: Rules, lanes: int, observe: bool, again: bool = True) -> Work:
    """Games on all lanes, begun ``again`` when they end; without that, until all have ended."""
    generator = np.random.default_rng(SEED)

    def decks(count: int) -> np.ndarray:
        shuffled = engine.shuffle(rules, generator, count * rules.num_tables)
        return shuffled.reshape(count, rules.num_tables, -1)

    games = play.start(rules, "game", decks(lanes), match.cut(rules, generator, lanes))
    while again or not games.over.all():
        yield lanes if again else int(np.count_nonzero(~games.over))
        hands = play.hands_on_move(games)
        words = actions.words(engine.legal(hands))
        actions.unpack(words)
        if observe:
            observation.encode_game(play.view(games, hands))
        # Where a game is over there is nothing legal to choose, and what is chosen is not played.
        done = play.step(games, choose(words, generator)).lanes
        over = games.over[done]
        if again and len(fresh := done[over]):
            cut = match.cut(rules, generator, len(fresh))
            play.restart(games, fresh, decks(len(fresh)), cut)
        if len(going_on := done[~over]):
            play.deal(games, going_on, decks(len(going_on)), generator)


def measure(
    lanes: int, seconds: float, rounds: int, games: int
) -> dict[str, dict[str, float | None]]:
    """By row: decisions/s, games/s and the share of the bare engine's decisions/s.

    ``games``: so many are played to the end to find how many decisions one takes.
    """
    works: dict[str, Work] = {}
    length: dict[str, float] = {}
    for kind, observe in (("masks", False), ("masks and observations", True)):
        works[f"hands, {kind}"] = engine_play(lanes, observe)
        for name in PRESETS:
            works[f"{name}, {kind}"] = games_play(preset(name), lanes, observe)
    for name in PRESETS:
        length[name] = sum(games_play(preset(name), games, False, again=False)) / games
    for work in works.values():
        for _ in range(WARM_UP_STEPS):
            next(work)
    rates: dict[str, list[float]] = {row: [] for row in works}
    for _ in range(rounds):
        for row, work in works.items():
            rates[row].append(rate(work, seconds / rounds))
    figures = {}
    for row in works:
        name, kind = row.split(", ")
        speed = statistics.median(rates[row])
        pairs = zip(rates[row], rates[f"hands, {kind}"], strict=True)
        figures[row] = {
            "decisions_per_second": speed,
            "games_per_second": speed / length[name] if name in length else None,
            "of_hands": statistics.median(ours / bare for ours, bare in pairs),
        }
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each row (default 3)")
    parser.add_argument("--rounds", type=int, default=9, help="default 9")
    parser.add_argument("--lanes", type=int, default=4_096, help="default 4096")
    parser.add_argument(
        "--games", type=int, default=256, help="games to find a game's length (default 256)"
    )
    options = parser.parse_args()
    if min(options.seconds, options.rounds, options.lanes, options.games) <= 0:
        parser.error("--seconds, --rounds, --lanes and --games must be greater than 0")
    if options.json and not options.json.parent.is_dir():
        parser.error(f"--json {options.json}: there is no folder {options.json.parent}")
    figures = measure(options.lanes, options.seconds, options.rounds, options.games)
    print(f"{options.lanes:,} lanes{'':28}{'decisions/s':>14}{'games/s':>10}{'of hands':>10}")
    for row, values in figures.items():
        games = f"{values['games_per_second']:,.0f}" if values["games_per_second"] else ""
        print(
            f"{row:38}{values['decisions_per_second']:14,.0f}{games:>10}{values['of_hands']:10.2f}"
        )
    if options.json:
        with whole_file(options.json) as file:
            file.write((json.dumps(figures, indent=2) + "\n").encode())


if __name__ == "__main__":
    main()
