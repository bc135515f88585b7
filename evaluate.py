"""Play agents against each other on duplicate deals and print figures with their intervals.

    python evaluate.py simple random --deals 1000 --rules classic --seed 0 --json out.json
    python evaluate.py simple random --rules hollywood --episode game

Each deal is played in every seating of the agents: twice with the seats swapped (partnership: the
sides), in cutthroat six times. Of more agents than that takes, every pair (cutthroat: three) plays.
"""

from __future__ import annotations

import itertools
import json as json_module
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser, Namespace
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import agents
from agents import arena
from agents.figures import LETTERS
from ginenv import replay
from ginenv.files import whole_file
from ginenv.play import EPISODES
from ginenv.rules import Rules, preset

Kept = tuple[tuple[str, ...], list[list[replay.Hand]]]
"""An episode: the name of each player, and the hands of its games."""


def parse_args(args: list[str] | None = None) -> tuple[Namespace, Rules]:
    """The command line. A fault in it ends the program with status 2 and one message."""
    parser = ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--config", action="config", help="YAML file with any of these options")
    parser.add_argument("agents", nargs="+", help="names of agents, or policy files (.safetensors)")
    parser.add_argument(
        "--episode", type=str, default="hand", help="what is played: hand, game or match"
    )
    parser.add_argument(
        "--deals",
        type=int,
        default=1000,
        help="deals, each played in every seating: decks and first dealer of a hand, or of a whole "
        "game or match, whose rounds have the same decks in each play",
    )
    parser.add_argument("--rules", type=str, default="classic", help="name of a preset")
    parser.add_argument(
        "--rule_fields",
        type=dict[str, Any],
        default={},
        help="rules that differ from the preset: '{knock_limit: 5}'",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the decks and of all choices")
    parser.add_argument("--json", type=str | None, default=None, help="write the figures there")
    parser.add_argument("--replays", type=str | None, default=None, help="write all games there")
    options = parser.parse_args(args)
    if options.episode not in EPISODES:
        parser.error(f"episode={options.episode}: must be {', '.join(EPISODES[:-1])} or match")
    if options.deals < 2:
        parser.error(f"deals={options.deals}: an interval needs at least 2")
    if options.seed < 0:
        parser.error(f"seed={options.seed}: must be 0 or more")
    _check_targets(parser, options)
    try:
        rules = preset(options.rules, **options.rule_fields)
    except ValueError as error:
        parser.error(str(error))
    if len(options.agents) < rules.num_sides:
        least = "two" if rules.num_sides == 2 else f"three, as seating={rules.seating!r} takes"
        parser.error(f"agents: name at least {least}")
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
    kept: list[Kept] = []
    contests = _play(console, options, rules, loaded, kept)
    _print(console, options.episode, rules, contests)
    figures = {
        "rules": rules.to_dict(),
        "episode": options.episode,
        "seed": options.seed,
        "pairs" if rules.num_sides == 2 else "triples": contests,
    }
    try:
        if options.json:
            with whole_file(options.json) as file:
                file.write((json_module.dumps(figures, indent=1) + "\n").encode())
        if options.replays:
            replay.write(options.replays, _records(rules, options.episode, kept))
    except OSError as error:
        print(f"evaluate.py: error: {error}", file=sys.stderr)
        return 2
    return 0


def _play(
    console: Console,
    options: Namespace,
    rules: Rules,
    loaded: dict[str, agents.Agent],
    kept: list[Kept],
) -> list[dict[str, Any]]:
    """The report of every pair, or three; their games are kept if replays are wanted."""
    contests = []
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    ) as progress:
        for names in itertools.combinations(options.agents, rules.num_sides):
            total = len(arena.seatings(rules)) * options.deals
            task = progress.add_task(escape(" v ".join(names)), total=total)
            contests.append(
                arena.compare(
                    rules,
                    names,
                    [loaded[name] for name in names],
                    options.deals,
                    options.seed,
                    lambda episodes, task=task: progress.advance(task, episodes),  # type: ignore[misc]
                    _recorder(names, kept) if options.replays else None,
                    options.episode,
                )
            )
    return contests


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"evaluate.py: warning: {message}", file=sys.stderr)


def _recorder(names: tuple[str, ...], kept: list[Kept]) -> arena.Recorder:
    """What keeps the episodes of these agents, with who was which player."""

    def keep(players: tuple[int, ...], games: list[list[replay.Hand]]) -> None:
        kept.append((tuple(names[agent] for agent in players), games))

    return keep


def _records(rules: Rules, episode: str, kept: list[Kept]) -> Iterator[dict[str, Any]]:
    """A record for each game, or for each hand or round that was played singly."""
    for match, (players, games) in enumerate(kept, start=1):
        for number, hands in enumerate(games, start=1):
            place = {"match": [match, number]} if episode == "match" else {}
            yield replay.record(rules, players, hands, game=episode != "hand", **place)


def _print(console: Console, episode: str, rules: Rules, contests: list[dict[str, Any]]) -> None:
    seated = {
        "heads_up": "twice, seats swapped",
        "partnership": "twice, sides swapped",
        "cutthroat": "six times, in all seatings",
    }
    units = {"hand": "rounds" if rules.num_tables > 1 else "hands", "match": "matches"}
    unit = units.get(episode, "games")
    title = f"Each deal {seated[rules.seating]}; 95 % intervals"
    pairs = rules.num_sides == 2
    console.print(_figures(title, unit, pairs, contests))
    title = "Of A / of B, in % of all hands" if pairs else "In % of the hands that each played"
    console.print(_rates(title, pairs, contests))
    if episode != "hand":
        follows = "who deals" if pairs else "who deals, and so who plays,"
        console.print(
            "The plays of a deal have the same decks, round by round, and the same first dealer; "
            f"{follows} after that follows from who lost."
        )
    for number, contest in enumerate(contests, start=1):
        if contest.get("unfinished"):
            console.print(
                f"{number}. {contest['unfinished']:,} of {contest[unit]:,} {unit} were not "
                f"finished: a game is broken off after {arena.MAX_DRY_ROUNDS} rounds without a "
                "score. Each agent has an equal part of their win."
            )


def _table(title: str, names: list[str], numbers: list[str]) -> Table:
    table = Table(box=SIMPLE_HEAD, title=title, collapse_padding=True)
    for heading in names:
        table.add_column(heading, overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _label(number: int, pairs: bool, letter: str) -> str:
    return f"{number}." if pairs else f"{number}. {letter.upper()}"


def _figures(title: str, unit: str, pairs: bool, contests: list[dict[str, Any]]) -> Table:
    """A row for each pair, from A's side, or for each agent of three."""
    settles = "settlement" in contests[0]
    numbers = [unit, "points a hand", "A wins" if pairs else "wins"]
    table = _table(title, ["A", "B"] if pairs else ["agent"], numbers + ["settlement"] * settles)
    for number, contest in enumerate(contests, start=1):
        for letter in LETTERS[: 1 if pairs else 3]:
            of_agent = {
                name: contest[name] if pairs else contest[name][letter]
                for name in ("points_per_hand", "win_rate", *["settlement"] * settles)
            }
            wins = of_agent["win_rate"]
            table.add_row(
                f"{_label(number, pairs, letter)} {escape(contest[letter])}",
                *[escape(contest["b"])] * pairs,
                f"{contest[unit]:,}",
                _plus_minus(of_agent["points_per_hand"], 2),
                f"{wins['mean']:.1%} ({100 * wins['low']:.1f}-{100 * wins['high']:.1f})",
                *[_plus_minus(of_agent["settlement"], 1) for _ in range(settles)],
            )
    return table


def _plus_minus(found: dict[str, float], digits: int) -> str:
    return f"{found['mean']:+.{digits}f} ± {found['high'] - found['mean']:.{digits}f}"


def _rates(title: str, pairs: bool, contests: list[dict[str, Any]]) -> Table:
    """What agents did: of both in a row, or a row for each of three."""
    in_games = "hands_per_game" in contests[0]
    headings = ["gin", "knock", "undercut\nmade", "dead", "turns", "illegal"]
    headings += ["hands\na game", "games/s"] if in_games else ["hands/s"]
    table = _table(title, [""], headings)
    for number, contest in enumerate(contests, start=1):
        shares, illegal = contest["rates"], contest["illegal"]
        speed = contest["games_per_second" if in_games else "hands_per_second"]
        for letters in ["ab"] if pairs else LETTERS:
            table.add_row(
                _label(number, pairs, letters),
                *(
                    " / ".join(f"{100 * shares[letter][kind]:.1f}" for letter in letters)
                    for kind in ("gin", "knock", "undercut_made")
                ),
                f"{100 * shares['dead']:.1f}",
                f"{shares['turns_each']:.1f}",
                " / ".join(f"{illegal[letter]:,}" for letter in letters),
                *[f"{contest['hands_per_game']:.2f}" for _ in range(in_games)],
                f"{speed:,.0f}",
            )
    return table


if __name__ == "__main__":
    sys.exit(main())
