"""Play agents against each other on duplicate deals and print figures with their intervals.

    python evaluate.py simple random --deals 1000 --rules classic --seed 0 --json out.json
    python evaluate.py all runs/quick/policy.safetensors --episode game --markdown table.md

Each deal is played in every seating of the agents: twice with the seats swapped (partnership: the
sides), in cutthroat six times. Of more agents than that takes, every pair (cutthroat: three) plays,
all on the same decks. With --json FILE a run that was cut short goes on, and one that was not gets
more deals. On a small deck --exploitability plays nothing and tells what a best response wins:

    python evaluate.py random simple --exploitability --config configs/small_a.yaml
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import agents
from agents import arena, crossplay, exploitability, tables, watch
from agents.crossplay import Contest, CrossPlay, CrossPlayError
from ginenv import replay
from ginenv.files import whole_file
from ginenv.play import EPISODES
from ginenv.rules import Rules, preset

Kept = tuple[tuple[str, ...], list[list[replay.Hand]]]
"""An episode: the name of each player, and the hands of its games."""
WRITTEN = ("json", "markdown", "replays")
"""The options that name files to be written."""


def parse_args(args: list[str] | None = None) -> tuple[Namespace, Rules]:
    """The command line. A fault in it ends the program with status 2 and one message."""
    parser = ArgumentParser(description=__doc__.split("\n\n")[0])
    _add_play(parser)
    _add_files(parser)
    _add_exploitability(parser)
    options = parser.parse_args(args)
    options.agents = crossplay.expand(options.agents)
    if options.episode not in EPISODES:
        parser.error(f"episode={options.episode}: must be {', '.join(EPISODES[:-1])} or match")
    if options.deals < 2:
        parser.error(f"deals={options.deals}: an interval needs at least 2")
    if options.until is not None and not options.until > 0:
        parser.error(f"until={options.until}: must be greater than 0")
    if options.seed < 0:
        parser.error(f"seed={options.seed}: must be 0 or more")
    _check_targets(parser, options)
    try:
        rules = preset(options.rules, **options.rule_fields)
    except ValueError as error:
        parser.error(str(error))
    if options.exploitability:
        for name in ("until", "replays", "tensorboard"):
            if options[name]:
                parser.error(f"{name}={options[name]}: with exploitability nothing is played")
    elif len(options.agents) < rules.num_sides:
        least = "two" if rules.num_sides == 2 else f"three, as seating={rules.seating!r} takes"
        parser.error(f"agents: name at least {least}")
    return options, rules


def _add_play(parser: ArgumentParser) -> None:
    """What is played."""
    parser.add_argument("--config", action="config", help="YAML file with any of these options")
    parser.add_argument(
        "agents",
        nargs="+",
        help="names of agents, policy files (.safetensors), programs (cmd:COMMAND); 'all': every "
        "agent of this package but random",
    )
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
    parser.add_argument(
        "--until",
        type=float | None,
        default=None,
        help="stop a pair before it has its deals when half the width of its interval of points a "
        f"hand is no more than this. Looked at after each batch of {crossplay.EPISODES_A_BATCH:,} "
        "plays (two agents: half as many deals); looking often makes intervals slightly too narrow",
    )
    parser.add_argument("--rules", type=str, default="classic", help="name of a preset")
    parser.add_argument(
        "--rule_fields",
        type=dict[str, Any],
        default={},
        help="rules that differ from the preset: '{knock_limit: 5}'",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the decks and of all choices")


def _add_exploitability(parser: ArgumentParser) -> None:
    """What takes the place of playing."""
    parser.add_argument(
        "--exploitability",
        action="store_true",
        help="on a deck small enough to be written out: what a best response wins, exactly. --json "
        "and --markdown then write these figures",
    )


def _add_files(parser: ArgumentParser) -> None:
    """What is written."""
    parser.add_argument(
        "--json",
        type=str | None,
        default=None,
        help="write the figures there after every batch. If the file is there the run goes on: "
        "pairs that lack deals get those; if none does, each gets --deals more. Agents whose code "
        "has changed need a new file",
    )
    parser.add_argument(
        "--markdown", type=str | None, default=None, help="write the tables there too"
    )
    parser.add_argument(
        "--replays", type=str | None, default=None, help="write all games of this call there"
    )
    parser.add_argument(
        "--tensorboard",
        type=str | None,
        default=None,
        help="write games of this call worth watching into this folder, as the first agent named "
        "sees it: his best and worst, an undercut, a gin and a random one",
    )


def _check_targets(parser: ArgumentParser, options: Namespace) -> None:
    """Files that can't be written are an error before anything is played."""
    seen: dict[Path, str] = {}
    for name in WRITTEN:
        target = options[name]
        if not target:
            continue
        path = Path(target).resolve()
        if path.is_dir():
            parser.error(f"{name}={target}: is a folder")
        if not path.parent.is_dir():
            parser.error(f"{name}={target}: there is no folder {path.parent}")
        if not os.access(path.parent, os.W_OK):
            parser.error(f"{name}={target}: cannot write to {path.parent}")
        if path in seen:
            parser.error(f"{seen[path]} and {name} are the same file, {target}")
        seen[path] = name
    if options.tensorboard:
        folder = Path(options.tensorboard).resolve()
        there = next(path for path in (folder, *folder.parents) if path.exists())
        if not there.is_dir() or not os.access(there, os.W_OK):
            parser.error(f"tensorboard={options.tensorboard}: cannot write a folder there")


def main(args: list[str] | None = None) -> int:
    """Run the command; 0, or 2 where an agent can't be had, does not fit the rules or the file."""
    options, rules = parse_args(args)
    warnings.showwarning = _show_warning
    command = shlex.join(["python", "evaluate.py", *(sys.argv[1:] if args is None else args)])
    try:
        do = _tell_exploitability if options.exploitability else _run
        return do(options, rules, command)
    except OSError as error:
        return _fail(error)
    except KeyboardInterrupt:
        told = f"the same command goes on from {options.json}" if options.json else "nothing kept"
        print(f"evaluate.py: stopped; {told}", file=sys.stderr)
        return 128 + signal.SIGINT


def _run(options: Namespace, rules: Rules, command: str) -> int:
    try:
        run, players = _ready(options, rules)
    except ValueError as error:
        return _fail(error)
    console = Console()
    contests = run.contests(players)
    _plan(console, options, run, contests, command)
    kept: list[Kept] = []
    try:
        _play(console, options, run, contests, players, kept)
    finally:
        if options.replays:
            replay.write(options.replays, _records(rules, options.episode, kept))
    _tell(console, options, run)
    if options.tensorboard:
        by_name = {run.entries[place].name: agent for place, agent in players.items()}
        games = [(names, hands) for names, episode in kept for hands in episode]
        print(
            watch.write_chosen(
                options.tensorboard, rules, games, by_name, options.agents[0],
                options.episode != "hand", options.seed,
            )
        )  # fmt: skip
    return 0


def _tell_exploitability(options: Namespace, rules: Rules, command: str) -> int:
    """Print what a best response wins from each agent, and write it where that is wanted."""
    _one_thread(options.agents)
    console = Console()
    try:
        players = {name: agents.load(name, rules) for name in options.agents}
        with console.status("writing out the game"):
            written = exploitability.game(rules, options.episode)
        console.print(exploitability.size(written))
        with console.status("solving"):
            rows = list(exploitability.rows(written, players))
    except ValueError as error:
        return _fail(error)
    grid = exploitability.grid(rows)
    console.print(grid.rich())
    if options.json:
        facts = {"command": command, "rules": rules.to_dict(), "nodes": written.tree.nodes}
        with whole_file(options.json) as file:
            facts["agents"] = [row.figures() for row in rows]
            file.write(json.dumps(facts, indent=2).encode() + b"\n")
    if options.markdown:
        head = [f"    {command}", exploitability.size(written)]
        with whole_file(options.markdown) as file:
            file.write(tables.markdown([grid], "Exploitability", head).encode())
    return 0


def _one_thread(names: list[str]) -> None:
    """On a busy machine two threads of torch's can be far slower than one."""
    files = [name for name in names if name.endswith(".safetensors")]
    if any(not name.startswith("cmd") for name in files) or agents.POLICIES.keys() & set(names):
        import torch

        torch.set_num_threads(1)


def _fail(error: Exception) -> int:
    print(f"evaluate.py: error: {error}", file=sys.stderr)
    return 2


def _ready(options: Namespace, rules: Rules) -> tuple[CrossPlay, dict[int, agents.Agent]]:
    """The run, a new one or that of the file, and the named agents by their places."""
    run = CrossPlay(rules, options.episode, options.seed)
    if options.json and Path(options.json).exists():
        run = CrossPlay.read(options.json)
    _one_thread(options.agents)
    try:
        run.check(rules, options.episode, options.seed)
        loaded = {name: agents.load(name, rules) for name in dict.fromkeys(options.agents)}
        places = run.enter(options.agents)
    except CrossPlayError as error:
        raise CrossPlayError(f"{options.json}: {error}; name another file") from None
    named = zip(places, options.agents, strict=True)
    return run, {place: loaded[name] for place, name in named}


def _plan(
    console: Console, options: Namespace, run: CrossPlay, contests: list[Contest], command: str
) -> None:
    """Settle how many deals there are to be, and say so where it is not those of the command."""
    before = sum(run.batches) if run.tallies else 0
    if run.plan(contests, options.deals, options.until, command):
        told = f"{options.deals:,} more deals after {before:,}"
    else:
        lack = sum(run.missing(contest, options.until) > 0 for contest in contests)
        told = f"{lack} of {len(contests)} lack some of {before:,} deals, and get those first"
        told = told if lack else "all is played, and no interval is wider than asked"
    if before:
        console.print(escape(f"{options.json}: {told}"))
    if options.json:
        run.write(options.json)


def _play(
    console: Console,
    options: Namespace,
    run: CrossPlay,
    contests: list[Contest],
    players: dict[int, agents.Agent],
    kept: list[Kept],
) -> None:
    """What is missing, pair by pair, or three by three; games are kept if replays are wanted."""
    plays = len(arena.seatings(run.rules))
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    ) as progress:
        for contest in contests:
            names, total = run.names(contest), plays * run.missing(contest, options.until)
            if not total:
                continue
            task = progress.add_task(escape(" v ".join(names)), total=total)
            while run.missing(contest, options.until):
                games: list[Kept] = []
                run.play(
                    contest,
                    [players[place] for place in contest],
                    lambda episodes, task=task: progress.advance(task, episodes),  # type: ignore[misc]
                    _recorder(names, games) if options.replays or options.tensorboard else None,
                )
                kept += games
                if options.json:
                    run.write(options.json)


def _tell(console: Console, options: Namespace, run: CrossPlay) -> None:
    """Print the figures, and write them as Markdown where that is wanted."""
    parts = tables.page(run, crossplay.summary(run))
    for part in parts:
        console.print(escape(part) if isinstance(part, str) else part.rich())
    if options.markdown:
        rules = tables.rules_in_words(run.rules, options.rules, options.rule_fields)
        head = [
            "\n".join(f"    {command}" for command in run.commands),
            f"Rules: {rules}. Episode: {run.episode}. Seed: {run.seed}.",
            tables.played_in_words(run),
        ]
        title = " v ".join(run.labels) if len(run.labels) < 4 else "Everyone against everyone"
        with whole_file(options.markdown) as file:
            file.write(tables.markdown(parts, title, head).encode())


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


if __name__ == "__main__":
    sys.exit(main())
