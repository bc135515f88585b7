"""Decisions per second of training on a GPU, and where the time goes. Short: a few minutes at most.

For each size of network and number of engine processes: some iterations of the loop, by the clock
on the wall, the device waited for at the end of each part. Where there is no GPU it says so in one
line and ends; this script has not been run on one yet. With ``--device cpu`` it runs anywhere, to
try it out.

    python benchmarks/gpu.py [--device cuda|cpu] [--lanes N] [--iterations N] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch

from agents.ppo import Trainer
from agents.ppo_config import NetworkConfig, PPOConfig
from ginenv.files import whole_file

NETWORKS = ((128, 3), (256, 6))
"""Width and layers of actor and critic."""
STEPS = 16


def wait(trainer: Trainer) -> None:
    """For what the device still has to do."""
    if trainer.device.type == "cuda":
        torch.cuda.synchronize(trainer.device)


def timed(trainer: Trainer, owner: Any, name: str, spent: dict[str, float]) -> None:
    """Add up the time in ``owner.name``, the device's included."""
    function = getattr(owner, name)

    def run(*args: Any, **named: Any) -> Any:
        wait(trainer)
        start = time.perf_counter()
        result = function(*args, **named)
        wait(trainer)
        spent[name] = spent.get(name, 0.0) + time.perf_counter() - start
        return result

    setattr(owner, name, run)


def measure(config: PPOConfig, iterations: int) -> dict[str, Any]:
    """Decisions/s, undisturbed, and shares, with waits between the parts."""
    if config.device == "cuda":
        torch.cuda.reset_peak_memory_stats()  # which else stays that of a larger network before
    trainer = Trainer(config)
    try:
        trainer.iterate()
        wait(trainer)
        start = time.perf_counter()
        for _ in range(iterations):
            trainer.iterate()
        wait(trainer)
        rate = iterations * config.lanes * config.steps / (time.perf_counter() - start)

        spent: dict[str, float] = {}
        for owner, name in (
            (trainer.lanes, "step"),
            (trainer.lanes, "look"),
            (trainer, "collect"),
            (trainer, "update"),
        ):
            timed(trainer, owner, name, spent)
        start = time.perf_counter()
        for _ in range(iterations):
            trainer.iterate()
        whole = time.perf_counter() - start
    finally:
        trainer.lanes.close()
    engine, looks = spent["step"] / whole, spent["look"] / whole
    return {
        "decisions_per_second": rate,
        "share_engine": engine,  # with workers also: encoding
        "share_moving_and_unpacking": looks,  # without workers: encoding
        "share_choosing": spent["collect"] / whole - engine - looks,
        "share_update": spent["update"] / whole,
        "memory_bytes": torch.cuda.max_memory_allocated() if config.device == "cuda" else None,
    }


def rows_of(
    device: str, lanes: int, iterations: int, width: int, layers: int
) -> Iterator[dict[str, Any]]:
    """The figures of a network without workers and with as many as there are processors for."""
    size = NetworkConfig(width=width, layers=layers)
    processors = os.cpu_count() or 1
    for workers in sorted({0, processors // 2, processors - 1} - {1}):
        config = PPOConfig(
            rules=["classic"],
            device=device,
            workers=workers,
            lanes=lanes,
            steps=STEPS,
            minibatch=lanes,
            actor=size,
            critic=size,
        )
        row = {"width": width, "layers": layers, "workers": workers}
        row |= measure(config, iterations)
        shares = (f"{k[6:]} {v:.0%}" for k, v in row.items() if k.startswith("share_"))
        rate = row["decisions_per_second"]
        print(f"{f'{width}x{layers}':>10}{workers:>9}{rate:14,.0f}  {', '.join(shares)}")
        yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--lanes", type=int, default=16_384, help="default 16384")
    parser.add_argument("--iterations", type=int, default=4, help="default 4")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    if min(options.lanes, options.iterations) < 1:
        parser.error("--lanes and --iterations must be at least 1")
    if options.json and not options.json.parent.is_dir():
        parser.error(f"--json {options.json}: there is no folder {options.json.parent}")
    if options.device == "cuda" and not torch.cuda.is_available():
        print("no GPU: torch finds none on this machine; nothing was measured")
        return
    print(f"{'network':>10}{'workers':>9}{'decisions/s':>14}  shares")
    rows = [
        row
        for width, layers in NETWORKS
        for row in rows_of(options.device, options.lanes, options.iterations, width, layers)
    ]
    if options.json:
        name = torch.cuda.get_device_name() if options.device == "cuda" else "processor"
        with whole_file(options.json) as file:
            told = {"device": name, "processors": os.cpu_count(), "rows": rows}
            file.write((json.dumps(told, indent=2) + "\n").encode())


if __name__ == "__main__":
    main()
