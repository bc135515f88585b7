"""Play agents against each other on duplicate deals and print figures with their intervals.

    python evaluate.py simple random --deals 1000 --rules classic --seed 0 --json out.json

Each deal is played twice with the seats swapped. Two or more agents: every pair of them.
"""

from __future__ import annotations

import itertools
import json as json_module
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from jsonargparse import ArgumentParser, Namespace
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import agents
from agents import arena
from ginenv import replay
from ginenv.files import whole_file
from ginenv.rules import Rules, preset

Played = tuple[tuple[str, str], replay.Hand]
"""Who sat at seats 0 and 1, and the hand."""


def parse_args(args: list[str] | None = None) -> tuple[Namespace, Rules]:
    """The command line. A fault in it ends the program with status 2 and one message."""
    parser = ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--config", action="config", help="YAML file with any of these options")
    parser.add_argument("agents", nargs="+", help="names of agents, or policy files (.safetensors)")
    parser.add_argument("--deals", type=int, default=1000, help="deals, each played twice")
    parser.add_argument("--rules", type=str, default="classic", help="name of a preset")
    parser.add_argument(
        "--rule_fields",
        type=dict[str, Any],
        default={},
        help="rules that differ from the preset: '{knock_limit: 5}'",
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
    _check_targets(parser, options)
    try:
        rules = preset(options.rules, **options.rule_fields)
    except ValueError as error:
        parser.error(str(error))
    if rules.seating != "heads_up":
        parser.error(f"rules={options.rules}: hands are played heads up, not {rules.seating}")
    return options, rules


def _check_targets(parser: ArgumentParser, options: Namespace) -> None:
    """Files that can't be written are an error before anything is played."""
    targets = [(name, options[name]) for name in ("json", "replays") if options[name]]
    for name, target in targets:
        path = Path(target).resolve()
        if path.is_dir():
            parser.error(f"{name}={target}: is a folder")
        if not path.parent.is_dir():
            parser.error(f"{name}={target}: there is no folder {path.parent}")
        if not os.access(path.parent, os.W_OK):
            parser.error(f"{name}={target}: cannot write to {path.parent}")
    if len({Path(target).resolve() for _, target in targets}) < len(targets):
        parser.error(f"json and replays are the same file, {options.json}")


def main(args: list[str] | None = None) -> int:
    """Run the command; 0, or 2 where an agent can't be had or does not fit the rules."""
    options, rules = parse_args(args)
    console = Console()
    warnings.showwarning = _show_warning
    if any(name not in agents.AGENTS for name in options.agents):
        import torch

        # On a busy machine two threads can be far slower than one.
        torch.set_num_threads(1)
    try:
        loaded = {name: agents.load(name, rules) for name in dict.fromkeys(options.agents)}
    except ValueError as error:
        print(f"evaluate.py: error: {error}", file=sys.stderr)
        return 2
    played: list[Played] = []
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
            task = progress.add_task(escape(f"{a} v {b}"), total=2 * options.deals)
            pairs.append(
                arena.compare(
                    rules,
                    (a, b),
                    (loaded[a], loaded[b]),
                    options.deals,
                    options.seed,
                    lambda hands, task=task: progress.advance(task, hands),  # type: ignore[misc]
                    _recorder((a, b), played) if options.replays else None,
                )
            )
    _print(console, pairs)
    figures = {
        "rules": rules.to_dict(),
        "episode": "hand",
        "seed": options.seed,
        "pairs": pairs,
    }
    try:
        if options.json:
            with whole_file(options.json) as file:
                file.write((json_module.dumps(figures, indent=1) + "\n").encode())
        if options.replays:
            records = (replay.record(rules, players, [hand]) for players, hand in played)
            replay.write(options.replays, records)
    except OSError as error:
        print(f"evaluate.py: error: {error}", file=sys.stderr)
        return 2
    return 0


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"evaluate.py: warning: {message}", file=sys.stderr)


def _recorder(names: tuple[str, str], played: list[Played]) -> arena.Recorder:
    """What keeps the hands of a pair; who sits where goes with each."""

    def keep(
        seat_of_a: int,
        decks: NDArray[np.uint8],
        dealers: NDArray[np.uint8],
        taken: list[list[int]],
    ) -> None:
        players = names if seat_of_a == 0 else (names[1], names[0])
        for deck, dealer, choices in zip(decks.tolist(), dealers.tolist(), taken, strict=True):
            played.append((players, replay.Hand(dealer, tuple(deck), tuple(choices))))

    return keep


def _print(console: Console, pairs: list[dict[str, Any]]) -> None:
    figures = Table(box=SIMPLE_HEAD, title="Each deal twice, seats swapped; 95 % intervals")
    rates = Table(box=SIMPLE_HEAD, title="Of A / of B, in % of all hands")
    for table, headings in (
        (figures, ("A", "B", "hands", "points a hand", "A wins")),
        (rates, ("", "gin", "knock", "undercut made", "dead", "turns", "illegal", "hands/s")),
    ):
        for heading in headings:
            left = heading in ("A", "B", "")
            table.add_column(heading, justify="left" if left else "right", overflow="fold")
    for number, pair in enumerate(pairs, start=1):
        points, wins, shares = pair["points_per_hand"], pair["win_rate"], pair["rates"]
        figures.add_row(
            f"{number}. {escape(pair['a'])}",
            escape(pair["b"]),
            f"{pair['hands']:,}",
            f"{points['mean']:+.2f} ± {points['high'] - points['mean']:.2f}",
            f"{wins['mean']:.1%} ({100 * wins['low']:.1f}-{100 * wins['high']:.1f})",
        )
        rates.add_row(
            f"{number}.",
            *(
                f"{100 * shares['a'][kind]:.1f} / {100 * shares['b'][kind]:.1f}"
                for kind in ("gin", "knock", "undercut_made")
            ),
            f"{100 * shares['dead']:.1f}",
            f"{shares['turns_each']:.1f}",
            f"{pair['illegal']['a']} / {pair['illegal']['b']}",
            f"{pair['hands_per_second']:,.0f}",
        )
    console.print(figures)
    console.print(rates)


if __name__ == "__main__":
    sys.exit(main())
