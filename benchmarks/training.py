"""Decisions per second of training beside the bare passes of its networks; where the rest goes.

The loop is that of PPO in self-play with the networks and batches of the config. The bound: as many
forward passes of the same networks at the same batch as a rollout takes, the magnet's, and as many
training passes (forward, backward, scaling down, Adam's step), on inputs and gradients that lie
ready; nothing else. Loop and bound take turns in one process, in its own time on a processor; a
figure is the median over the rounds, a share the median of the rounds' shares. One rank of the
config is measured; then one process with the whole batch against all its ranks, which takes as many
free cores. Where the config has a teacher and networks of the size of ``best``, each phase of the
run is measured too as it is, opponents included, with the weights of ``best``: how much is played
out depends on how sure a policy is.

    python benchmarks/training.py [--config FILE] [--rounds N] [--rank_rounds N] [--json FILE]
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"  # read when numpy is imported
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from torch.nn.utils import clip_grad_norm_  # noqa: E402
from torch.utils.tensorboard import SummaryWriter  # noqa: E402

import agents  # noqa: E402
from agents import POLICIES, ppo  # noqa: E402
from agents.features import Features, features  # noqa: E402
from agents.policy import Policy, belief_size, read_header  # noqa: E402
from agents.ppo import Trainer  # noqa: E402
from agents.ppo_config import NetworkConfig, PPOConfig  # noqa: E402
from agents.ranks import ranks  # noqa: E402
from agents.rollout import Rollout  # noqa: E402
from ginenv.files import whole_file  # noqa: E402
from train import parse_args  # noqa: E402

PARTS = ("engine", "encoding", "copying", "sampling", "losses", "logging")
"""What the loop does beside the networks, in the order of the report."""
PLAIN: dict[str, Any] = {
    "teacher": None, "playout_decisions": 0, "opponents": [],
}  # fmt: skip
"""Settings of PPO in self-play."""


class Clock:
    """Process time spent in some functions, by part."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    def watch(self, owner: Any, name: str, part: str) -> None:
        """Put a function that takes the time in place of ``owner.name``."""
        function = getattr(owner, name)

        def timed(*args: Any, **named: Any) -> Any:
            start = time.process_time()
            try:
                return function(*args, **named)
            finally:
                self.seconds[part] += time.process_time() - start

        setattr(owner, name, timed)

    def time(self, work: Callable[[], Any]) -> tuple[float, Any]:
        """What a call takes, and gives."""
        start = time.process_time()
        result = work()
        return time.process_time() - start, result


def watched(trainer: Trainer) -> Clock:
    """A clock on everything in the trainer's loop that is not a pass of a network."""
    clock = Clock()
    clock.watch(trainer.lanes, "step", "engine")
    clock.watch(trainer.lanes, "new_chances", "engine")
    clock.watch(trainer.lanes, "look", "encoding")
    clock.watch(ppo, "features", "encoding")
    clock.watch(Rollout, "keep", "copying")
    clock.watch(ppo, "take", "copying")
    clock.watch(trainer, "_sample", "sampling")
    clock.watch(ppo, "masked_log_probs", "losses")
    clock.watch(trainer, "losses", "losses")
    return clock


class Bound:
    """The passes of the networks alone."""

    def __init__(self, trainer: Trainer) -> None:
        self.config = config = trainer.config
        self.actor, self.critic, self.magnet = map(
            copy.deepcopy, (trainer.actor, trainer.critic, trainer.magnet)
        )
        weights = [*self.actor.parameters(), *self.critic.parameters()]
        self.optimizer = torch.optim.Adam(weights, lr=1e-6, eps=1e-5, fused=True)
        seen, hidden, _, _ = (torch.as_tensor(x) for x in trainer.lanes.look())
        self.rolled = features(seen, trainer.dtype, trainer.deck), hidden
        self.learnt = self._repeated(config.minibatch)
        logits, believed = self.actor(self.learnt[0])
        generator = torch.Generator().manual_seed(0)
        self.gradients = [
            torch.randn(shape, generator=generator) / config.minibatch
            for shape in (logits.shape, believed.shape, (config.minibatch,))
        ]

    def _repeated(self, count: int) -> tuple[Features, torch.Tensor]:
        """As many inputs, from those at hand."""
        read, hidden = self.rolled
        rows = torch.arange(count) % len(hidden)
        return Features(read.suits[:, rows], read.mean[rows], read.scalars[rows]), hidden[rows]

    def iterate(self) -> None:
        """What one iteration of the loop asks of the networks."""
        config = self.config
        minibatches = config.lanes * config.steps // config.minibatch
        with torch.no_grad():
            for step in range(config.steps + 1):
                self.critic(*self.rolled)
                if step < config.steps:
                    self.actor(self.rolled[0])
            for _ in range(minibatches):
                self.magnet(self.learnt[0])
        for _ in range(config.epochs * minibatches):
            logits, believed = self.actor(self.learnt[0])
            value = self.critic(*self.learnt)
            self.optimizer.zero_grad()
            torch.autograd.backward([logits, believed, value], self.gradients)
            for network in (self.actor, self.critic):
                clip_grad_norm_(network.parameters(), config.max_gradient)
            self.optimizer.step()


def measure(config: PPOConfig, rounds: int) -> dict[str, Any]:
    """Decisions/s of loop and bound, and shares of the loop's time."""
    trainer = Trainer(config)
    bound = Bound(trainer)
    trainer.iterate()  # the first passes of a shape take longer
    bound.iterate()
    clock = watched(trainer)
    loops, bounds, shares = [], [], defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, SummaryWriter(folder) as writer:

        def log(figures: dict[str, float]) -> None:
            for tag, value in figures.items():
                writer.add_scalar(tag, value, trainer.decisions)

        clock.watch(sys.modules[__name__], "_log", "logging")
        for _ in range(rounds):
            clock.seconds.clear()
            whole, _ = clock.time(lambda: _log(log, trainer.iterate()))
            least, _ = clock.time(bound.iterate)
            loops.append(whole)
            bounds.append(least)
            parts = {part: clock.seconds[part] / whole for part in PARTS}
            shares["networks"].append(least / whole)
            for part, share in parts.items():
                shares[part].append(share)
            shares["other"].append(1 - least / whole - sum(parts.values()))
    decisions = config.lanes * config.steps
    return {
        "loop_decisions_per_second": decisions / statistics.median(loops),
        "bound_decisions_per_second": decisions / statistics.median(bounds),
        "shares": {part: statistics.median(each) for part, each in shares.items()},
    }


def measure_phases(config: PPOConfig) -> dict[str, float]:
    """Decisions/s of a rank in the lessons and in playing actions out."""
    best = agents.load("best", config.make_rules()[0])
    assert isinstance(best, Policy)
    found = {}
    for phase, start in (("lessons", 0), ("played out", config.teacher_decisions)):
        trainer = Trainer(config)
        trainer.actor.load_state_dict(best.actor.state_dict())
        trainer.magnet.load_state_dict(best.actor.state_dict())
        trainer.decisions = start
        trainer.collect()  # hands are at all stages then
        clock = Clock()
        spent, _ = clock.time(trainer.iterate)
        found[phase] = config.lanes * config.steps / spent
    return found


def has_phases(config: PPOConfig) -> bool:
    """Whether :func:`measure_phases` can be had."""
    header = read_header(POLICIES["best"])
    sizes = NetworkConfig(**header["network"]), belief_size(header)
    return config.teacher is not None and sizes == (config.actor, config.belief)


def _log(write: Callable[[dict[str, float]], None], figures: dict[str, float]) -> None:
    write(figures)


def measure_ranks(config_path: Path, count: int, rounds: int) -> dict[str, Any]:
    """Decisions/s of 1 and of ``count`` ranks with the same batch in all, in turns."""
    rates: dict[int, list[dict[str, float]]] = {1: [], count: []}
    for _ in range(rounds):
        for number, found in rates.items():
            command = [sys.executable, __file__, "--config", config_path, "--as_ranks", number]
            ran = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, check=True)
            found.append(json.loads(ran.stdout))
    return {
        str(number): {name: statistics.median(each[name] for each in found) for name in found[0]}
        for number, found in rates.items()
    }


def as_ranks(config: PPOConfig, count: int) -> None:
    """Train with so many ranks; rank 0 writes decisions per second by the clock on the wall, and
    per second of its own time on a processor."""
    config = replace(config, ranks=count, **PLAIN)
    with ranks(count, sys.argv) as rank:
        trainer = Trainer(config, rank)
        trainer.iterate()
        start, own, before = time.perf_counter(), time.process_time(), trainer.decisions
        for _ in range(3):
            trainer.iterate()
        spent, own = time.perf_counter() - start, time.process_time() - own
    if rank == 0:
        done = trainer.decisions - before
        print(json.dumps({"per_second": done / spent, "per_processor_second": done / own / count}))


def table(figures: dict[str, Any]) -> str:
    """The figures as text."""
    loop, least = figures["loop_decisions_per_second"], figures["bound_decisions_per_second"]
    lines = [
        f"{'loop, decisions/s':34}{loop:12,.0f}",
        f"{'networks alone, decisions/s':34}{least:12,.0f}",
        *(f"{'share of ' + part:34}{share:12.1%}" for part, share in figures["shares"].items()),
    ]
    for phase, rate in figures.get("phases", {}).items():
        lines.append(f"{phase + ', decisions/s':34}{rate:12,.0f}")
    for number, rates in figures.get("ranks", {}).items():
        lines.append(f"{'ranks: ' + number + ', decisions/s':34}{rates['per_second']:12,.0f}")
        own = rates["per_processor_second"]
        lines.append(f"{'  per second on a processor':34}{own:12,.0f}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--config", type=Path, default=ROOT / "configs/ppo.yaml", help="default configs/ppo.yaml"
    )
    parser.add_argument("--rounds", type=int, default=7, help="of loop and bound (default 7)")
    parser.add_argument(
        "--rank_rounds", type=int, default=3, help="of one rank and all (default 3; 0: leave out)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--as_ranks", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rounds < 1 or options.rank_rounds < 0:
        parser.error("--rounds must be at least 1 and --rank_rounds at least 0")
    if options.json and not options.json.parent.is_dir():
        parser.error(f"--json {options.json}: there is no folder {options.json.parent}")
    # A name that no run has: nothing is written there.
    config = parse_args(["--config", str(options.config), "--name", "benchmark-of-training"])[0]
    if options.as_ranks:
        as_ranks(config, options.as_ranks)
        return
    count = max(config.ranks, 2)
    one = replace(
        config,
        ranks=1,
        lanes=config.lanes // config.ranks,
        minibatch=config.minibatch // config.ranks,
    )
    figures = measure(replace(one, **PLAIN), options.rounds)
    if has_phases(one):
        figures["phases"] = measure_phases(one)
    if options.rank_rounds:
        figures["ranks"] = measure_ranks(options.config, count, options.rank_rounds)
    print(table(figures))
    if options.json:
        with whole_file(options.json) as file:
            file.write((json.dumps(figures, indent=2) + "\n").encode())


if __name__ == "__main__":
    main()
