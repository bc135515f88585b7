"""What each part of the recipe is worth on the full deck, at equal decisions.

    python benchmarks/ablations.py --json ablations.json
    python benchmarks/ablations.py --variants "recipe;plain PPO" --seeds 3 --decisions 1000000

Self-play from nothing, hands played singly, without a teacher or opponents, so that nothing but the
recipe teaches; then points a hand against ``simple`` on duplicate deals, the same ones for all. The
same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from variants import NEVER, VARIANTS, kept, patches, write  # noqa: E402

import agents  # noqa: E402
from agents import arena  # noqa: E402
from agents.policy import Policy  # noqa: E402
from agents.ppo import Trainer  # noqa: E402
from agents.ppo_config import NetworkConfig, PPOConfig  # noqa: E402
from ginenv.rules import preset  # noqa: E402

NETWORK = NetworkConfig(width=64, layers=2)
SETTINGS: dict[str, Any] = {
    "episodes": ["hand"], "lanes": 1024, "steps": 32, "minibatch": 2048, "epochs": 2,
    "actor": NETWORK, "critic": NETWORK, "learning_rate": 2e-3, "temperature_start": 0.5,
    "temperature_end": 0.025, "magnet_time": 0.05,
}  # fmt: skip
"""Of the recipe; what a variant names differs."""
YARDSTICK = "simple"
DECKS_SEED = 1


def learn(variant: str, seed: int, decisions: int, deals: int) -> dict[str, Any]:
    """Train one, and what it wins: points a hand with their 95 % interval."""
    config = PPOConfig(decisions=decisions, seed=seed, **{**SETTINGS, **VARIANTS[variant]})
    rules = preset("classic")
    start = time.process_time()
    with patches(variant):
        trainer = Trainer(config)
        while not trainer.done:
            trainer.iterate()
        spent = time.process_time() - start
        # A magnet that never moves is not what has learnt.
        player = trainer.actor if config.magnet_time == NEVER else trainer.magnet
        players = Policy(player, in_games=False), agents.load(YARDSTICK, rules)
        report = arena.compare(rules, (variant, YARDSTICK), players, deals, DECKS_SEED)
    points = report["points_per_hand"]
    return {
        "variant": variant, "seed": seed, "decisions": trainer.decisions, "seconds": round(spent),
        "points": points["mean"], "low": points["low"], "high": points["high"],
    }  # fmt: skip


def table(runs: list[dict[str, Any]]) -> str:
    """As Markdown, in the order of the runs."""
    lines = [
        f"| learner | points a hand v `{YARDSTICK}`, by seed | mean | CPU s |",
        "| --- | ---: | ---: | ---: |",
    ]
    for variant in dict.fromkeys(each["variant"] for each in runs):
        some = [each for each in runs if each["variant"] == variant]
        found = " ".join(f"{each['points']:+.1f}" for each in some)
        mean, spent = (np.mean([each[name] for each in some]) for name in ("points", "seconds"))
        lines.append(f"| {variant} | {found} | {mean:+.1f} | {spent:.0f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--variants", default="all", help="names with semicolons, or all")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--decisions", type=int, default=500_000)
    parser.add_argument("--deals", type=int, default=2000)
    parser.add_argument("--json", default="ablations.json", help="figures; runs there are kept")
    options = parser.parse_args()
    names = list(VARIANTS) if options.variants == "all" else options.variants.split(";")
    for variant in names:
        if variant not in VARIANTS:
            parser.error(f"--variants: {variant!r} is not one of {'; '.join(VARIANTS)}")
    torch.set_num_threads(1)
    file = Path(options.json)
    asked: dict[str, int | None] = {"decisions": options.decisions, "deals": options.deals}
    try:
        runs = kept(file, asked)
    except ValueError as error:
        parser.error(str(error))
    done = {(each["variant"], each["seed"]) for each in runs}
    for seed in range(options.seeds):
        for variant in names:
            if (variant, seed) in done:
                continue
            found = learn(variant, seed, options.decisions, options.deals)
            runs.append(found | {"asked": asked})
            write(file, runs)
            print(f"{variant} | {seed} | {runs[-1]['points']:+.2f}", flush=True)
    print(table(runs))


if __name__ == "__main__":
    main()
