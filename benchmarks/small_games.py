"""Learners on games small enough to be solved: their exact exploitability against decisions.

    python benchmarks/small_games.py --games small_a,small_b --json small_games.json
    python benchmarks/small_games.py --variants all --decisions 524288 --json ablations.json
    python benchmarks/small_games.py --plot small_games.json --svg docs/small_games.svg
    python benchmarks/small_games.py --calibrate simple,knocker,victim.safetensors
    python benchmarks/small_games.py --sizes

The trainer is that of ``train.py`` with the settings of configs/small.yaml; a variant changes
settings, or takes a part of it away. The same command goes on where it was stopped. CPU seconds are
the trainer's, without the measuring.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from variants import NEVER, VARIANTS, kept, patches, write  # noqa: E402

import agents  # noqa: E402
from agents import exploit, small, tree  # noqa: E402
from agents.policy import Policy  # noqa: E402
from agents.ppo import Trainer  # noqa: E402
from agents.ppo_config import NetworkConfig, PPOConfig  # noqa: E402
from ginenv import actions, engine, scoring  # noqa: E402
from ginenv.rules import Rules, preset  # noqa: E402

GAMES = ("small_a", "small_b", "small_c", "small_d")


def game_rules(game: str) -> Rules:
    settings = yaml.safe_load((ROOT / "configs" / f"{game}.yaml").read_text())
    return preset(settings["rules"], **settings["rule_fields"])


def config(game: str, **changes: Any) -> PPOConfig:
    """The settings of configs/small.yaml for a game."""
    fields: dict[str, Any] = {}
    for name in (game, "small"):
        fields |= yaml.safe_load((ROOT / "configs" / f"{name}.yaml").read_text())
    fields |= changes
    for name in ("actor", "critic"):
        fields[name] = NetworkConfig(**fields[name])
    return PPOConfig(**fields)


def learn(
    settings: PPOConfig, written: small.SmallGame, points: int
) -> Iterator[tuple[int, float, float]]:
    """Train; ``points`` times: decisions, CPU seconds, exploitability in points.

    Of the magnet, which is what is played; where that stays uniform, of the actor.
    """
    trainer = Trainer(settings)
    player = trainer.actor if settings.magnet_time == NEVER else trainer.magnet
    spent, due = 0.0, 0.0
    while not trainer.done:
        start = time.process_time()
        trainer.iterate()
        spent += time.process_time() - start
        if trainer.decisions >= due or trainer.done:
            due += settings.decisions / points
            strategy = written.strategy(Policy(player))
            yield trainer.decisions, spent, tree.exploitability(written.tree, strategy).mean


def run(options: argparse.Namespace, runs: list[dict[str, Any]]) -> None:
    """Every game, variant and seed that the file lacks; curves also to TensorBoard."""
    from torch.utils.tensorboard import SummaryWriter

    file = Path(options.json)
    done = {(each["game"], each["variant"], each["seed"]) for each in runs}
    for game in options.games.split(","):
        written = small.build(game_rules(game))
        uniform = tree.exploitability(written.tree, written.tree.uniform()).mean
        for variant in list(VARIANTS) if options.variants == "all" else options.variants.split(";"):
            for seed in range(options.seeds):
                if (game, variant, seed) in done:
                    continue
                more = {"decisions": options.decisions} if options.decisions else {}
                settings = config(game, seed=seed, **VARIANTS[variant], **more)
                folder = ROOT / "runs" / "small_games" / game / variant / str(seed)
                writer = SummaryWriter(str(folder))
                with patches(variant):
                    curve = []
                    for decisions, spent, points in learn(settings, written, options.points):
                        writer.add_scalar("exploitability/points", points, decisions)
                        writer.add_scalar("exploitability/share", points / uniform, decisions)
                        curve.append([decisions, round(spent, 1), round(points, 5)])
                writer.close()
                runs.append(
                    {"game": game, "variant": variant, "seed": seed, "uniform": uniform}
                    | {"asked": {"decisions": options.decisions}, "curve": curve}
                )
                write(file, runs)
                print(f"{game} | {variant} | {seed} | {curve[-1]}", flush=True)
    print(table(runs))


def table(runs: list[dict[str, Any]]) -> str:
    """The last figure of each run, as Markdown."""
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for each in runs:
        rows.setdefault((each["game"], each["variant"]), []).append(each)
    lines = [
        "| game | learner | exploitability, by seed | of random play's, mean | CPU s |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for (game, variant), some in rows.items():
        last = [each["curve"][-1][2] for each in some]
        share = 100 * np.mean(last) / some[0]["uniform"]
        spent = np.mean([each["curve"][-1][1] for each in some])
        found = " ".join(f"{points:.3f}" for points in last)
        lines.append(f"| {game} | {variant} | {found} | {share:.2f} % | {spent:.0f} |")
    return "\n".join(lines)


def calibrate(options: argparse.Namespace) -> None:
    """What learnt exploiters find of what there is to find, both exactly; printed as Markdown."""
    game = options.games.split(",")[0]
    written = small.build(game_rules(game))
    first = written.tree.set_player[written.tree.set_of] == 0
    changes = {"decisions": options.decisions} if options.decisions else {}
    settings = config(game, temperature_start=0.3, temperature_end=0.0, **changes)
    print("| victim | exploitability | exploiter | wins | of the exact figure |")
    print("| --- | ---: | --- | ---: | ---: |")
    for name in options.calibrate.split(","):
        victim = agents.load(name, written.rules)
        other = written.strategy(victim)
        exact = tree.exploitability(written.tree, other).mean
        for member, (actor, _) in exploit.portfolio(settings, name).items():
            own = written.strategy(Policy(actor))
            won = tree.value(written.tree, np.where(first, own, other))
            won = (won - tree.value(written.tree, np.where(first, other, own))) / 2
            share = f"{100 * won / exact:.0f} %"
            print(f"| {name} | {exact:.3f} | {member} | {won:+.3f} | {share} |", flush=True)


def sizes() -> str:
    """Sizes of the games and how often each thing happens in their trees, as Markdown."""
    columns = [_counted(game) for game in GAMES]
    lines = [f"| | {' | '.join(GAMES)} |", "| --- |" + " ---: |" * len(GAMES)]
    for name in columns[0]:
        lines.append(f"| {name} | {' | '.join(f'{column[name]:,}' for column in columns)} |")
    return "\n".join(lines)


def _counted(game: str) -> dict[str, int]:
    counts: dict[str, int] = {}

    def add(name: str, number: Any) -> None:
        counts[name] = counts.get(name, 0) + int(number)

    def watch(state: engine.State) -> None:
        offers = (state.phase == engine.OFFER) | (state.phase == engine.DEALER_OFFER)
        takes = (engine.legal(state).others & actions.OTHER_TAKE) != 0
        stocks = (engine.legal(state).others & actions.OTHER_STOCK) != 0
        add("first upcard may be taken", (takes & offers).sum())
        add("a later discard may be taken", (takes & ~offers).sum())
        add("the stock may be drawn from", stocks.sum())
        for name in ("knock", "gin", "undercut", "dead"):
            add(f"hands that end: {name}", (state.kind == scoring.KINDS.index(name)).sum())
        lanes = (state.over & (state.kind != scoring.DEAD)).nonzero()[0]
        if not len(lanes):
            return
        shown = engine._lay_down(state, lanes)
        add("hands with a run laid down", ((shown.knocker_runs | shown.defence.runs) != 0).sum())
        add("hands with a set laid down", ((shown.knocker_sets | shown.defence.sets) != 0).sum())
        add("hands with lay-offs", (shown.defence.layoffs != 0).sum())

    found = small.build(game_rules(game), watch=watch).tree
    facts = {"deals": len(found.deals), "nodes": found.nodes}
    facts |= {"information sets": len(found.set_player), "choices": len(found.set_of)}
    return facts | counts


WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 300, 70, 620, 20, 260
"""Of the picture, and of the frame in it, in pixels."""
DECADES = 3
"""Below random play's exploitability that are shown: to 0.1 % of it."""


def svg(runs: list[dict[str, Any]]) -> str:
    """Exploitability as a share of random play's against decisions, a line a run, log scale."""
    games = list(dict.fromkeys(each["game"] for each in runs))
    colours = dict(zip(games, ("#0b62a4", "#c0392b", "#2e8b57", "#8e44ad"), strict=False))
    last = max(each["curve"][-1][0] for each in runs)
    parts = _frame(last)
    for each in runs:
        line = " ".join(
            f"{_x(decisions / last):.1f},{_y(points / each['uniform']):.1f}"
            for decisions, _, points in each["curve"]
        )
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colours[each["game"]]}"/>')
    for number, (game, colour) in enumerate(colours.items()):
        parts.append(f'<text x="530" y="{40 + 16 * number}" fill="{colour}">{game}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _frame(last: int) -> list[str]:
    """Axes and what is written at them, up to ``last`` decisions."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="{HEIGHT - 6}">decisions; exploitability of random play: 100 %</text>',
    ]
    for share, label in ((1, "100 %"), (0.1, "10 %"), (0.01, "1 %"), (0.001, "0.1 %")):
        parts.append(
            f'<path d="M{LEFT} {_y(share):.1f}H{RIGHT}" stroke="#ddd"/>'
            f'<text x="{LEFT - 6}" y="{_y(share) + 4:.1f}" text-anchor="end">{label}</text>'
        )
    for part in (0, 0.25, 0.5, 0.75, 1):
        label = f"{last * part / 1e6:.1f} M"
        at = f'x="{_x(part):.1f}" y="{BOTTOM + 16}"'
        parts.append(f'<text {at} text-anchor="middle">{label}</text>')
    return parts


def _x(part: float) -> float:
    return LEFT + (RIGHT - LEFT) * part


def _y(share: float) -> float:
    return TOP - (BOTTOM - TOP) * max(float(np.log10(share)), -DECADES) / DECADES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--games", default="small_a", help=", ".join(GAMES) + ", with commas")
    parser.add_argument("--variants", default="recipe", help="names with semicolons, or all")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--decisions", type=int, help="instead of configs/small.yaml's")
    parser.add_argument("--points", type=int, default=16, help="measurements of a run")
    parser.add_argument("--json", default="small_games.json", help="figures; runs there are kept")
    parser.add_argument("--calibrate", help="victims, with commas: what exploiters find of theirs")
    parser.add_argument("--sizes", action="store_true", help="only the table of the games' sizes")
    parser.add_argument("--plot", help="only draw the curves of this file ...")
    parser.add_argument("--svg", default="small_games.svg", help="... here")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for game in options.games.split(","):
        if game not in GAMES:
            parser.error(f"--games: {game!r} is not one of {', '.join(GAMES)}")
    if options.variants != "all":
        for variant in options.variants.split(";"):
            if variant not in VARIANTS:
                parser.error(f"--variants: {variant!r} is not one of {'; '.join(VARIANTS)}")
    if options.sizes:
        print(sizes())
    elif options.calibrate:
        calibrate(options)
    elif options.plot:
        Path(options.svg).write_text(svg(json.loads(Path(options.plot).read_text())))
    else:
        try:
            runs = kept(Path(options.json), {"decisions": options.decisions})
        except ValueError as error:
            parser.error(str(error))
        run(options, runs)


if __name__ == "__main__":
    main()
