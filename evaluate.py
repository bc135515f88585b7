"""Play agents against each other on duplicate deals and print figures with their intervals.

    python evaluate.py simple random --deals 1000 --rules classic --seed 0 --json out.json

Each deal is played twice with the seats swapped. Two or more agents: every pair of them.
"""

from __future__ import annotations

import itertools
import json as json_module
import sys
from pathlib import Path
from typing import Any

import numpy as np
from jsonargparse import ArgumentParser, Namespace
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import agents
from agents import arena
from agents.files import write_atomically
from ginenv import actions, cards, engine, replay
from ginenv.engine import State
from ginenv.rules import Rules, preset


def parse_args(args: list[str] | None = None) -> tuple[Namespace, Rules]:
    """The command line. A fault in it ends the program with status 2 and one message."""
    parser = ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--config", action="config", help="YAML file with any of these options")
    parser.add_argument("agents", nargs="+", help="names of agents, or policy files (.safetensors)")
    parser.add_argument("--deals", type=int, default=1000, help="deals, each played twice")
    parser.add_argument("--rules", type=str, default="classic", help="name of a preset")
    parser.add_argument(
        "--rule_fields", type=dict[str, Any], default={}, help="rules that differ, as a mapping"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the decks and of all choices")
    parser.add_argument("--json", type=str | None, default=None, help="write the figures there")
    parser.add_argument("--replays", type=str | None, default=None, help="write all hands there")
    options = parser.parse_args(args)
    if len(options.agents) < 2:
        parser.error("agents: name at least two")
    if options.deals < 2:
        parser.error(f"deals={options.deals}: an interval needs at least 2")
    if options.seed < 0:
        parser.error(f"seed={options.seed}: must be 0 or more")
    for name in ("json", "replays"):
        if options[name] and not Path(options[name]).resolve().parent.is_dir():
            parser.error(f"{name}={options[name]}: there is no such folder")
    try:
        rules = preset(options.rules, **options.rule_fields)
    except ValueError as error:
        parser.error(str(error))
    if rules.seating != "heads_up":
        parser.error(f"rules={options.rules}: hands are played heads up, not {rules.seating}")
    return options, rules


def main(args: list[str] | None = None) -> int:
    """Run the command; 0, or 2 where an agent can't be had or does not fit the rules."""
    options, rules = parse_args(args)
    console = Console()
    try:
        players = {name: agents.load(name, rules) for name in dict.fromkeys(options.agents)}
    except ValueError as error:
        print(f"evaluate.py: error: {error}", file=sys.stderr)
        return 2
    records: list[dict[str, Any]] = []
    pairs = []
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    ) as progress:
        for a, b in itertools.combinations(options.agents, 2):
            task = progress.add_task(f"{a} v {b}", total=2 * options.deals)
            pairs.append(
                arena.compare(
                    rules,
                    (a, b),
                    (players[a], players[b]),
                    options.deals,
                    options.seed,
                    lambda hands, task=task: progress.advance(task, hands),  # type: ignore[misc]
                    _recorder(rules, (a, b), records) if options.replays else None,
                )
            )
    _print(console, pairs)
    figures = {
        "rules": rules.to_dict(),
        "episode": "hand",
        "seed": options.seed,
        "pairs": pairs,
    }
    if options.json:
        write_atomically(Path(options.json), json_module.dumps(figures, indent=1) + "\n")
    if options.replays:
        replay.write(options.replays, records)
    return 0


def _recorder(
    rules: Rules, names: tuple[str, str], records: list[dict[str, Any]]
) -> arena.Recorder:
    def record(
        seat_of_a: int,
        decks: NDArray[np.uint8],
        dealers: NDArray[np.uint8],
        played: list[list[int]],
        state: State,
    ) -> None:
        players = list(names) if seat_of_a == 0 else list(reversed(names))
        for lane, taken in enumerate(played):
            result = engine.result(state, lane)
            hand = {
                "dealer": int(dealers[lane]),
                "deck": " ".join(cards.name(card) for card in decks[lane].tolist()),
                "actions": ", ".join(actions.format(action) for action in taken),
                "result": result,
            }
            records.append(replay.record(rules, players, [hand]))

    return record


def _print(console: Console, pairs: list[dict[str, Any]]) -> None:
    table = Table(title="Each deal twice, seats swapped; 95 % intervals; shares of hands, A / B")
    for heading in ("A", "B", "hands", "points a hand", "A wins"):
        table.add_column(heading)
    for heading in ("gin", "knock", "undercut", "dead", "turns each", "illegal", "hands/s"):
        table.add_column(heading, justify="right")
    for pair in pairs:
        points, wins, rates = pair["points_per_hand"], pair["win_rate"], pair["rates"]
        half = points["high"] - points["mean"]
        table.add_row(
            pair["a"],
            pair["b"],
            f"{pair['hands']:,}",
            f"{points['mean']:+.2f} ± {half:.2f}",
            f"{wins['mean']:.1%} ({wins['low']:.1%} to {wins['high']:.1%})",
            *(
                f"{rates['a'][kind]:.1%} / {rates['b'][kind]:.1%}"
                for kind in ("gin", "knock", "undercut_made")
            ),
            f"{rates['dead']:.1%}",
            f"{rates['turns_each']:.1f}",
            f"{pair['illegal']['a']} / {pair['illegal']['b']}",
            f"{pair['hands_per_second']:,.0f}",
        )
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
