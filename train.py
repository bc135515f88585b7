"""Train a policy by self-play.

    python train.py --config configs/quick.yaml

Writes runs/<name>/: config.yaml, TensorBoard events, policy.safetensors, state.pt. With --resume
a run that was stopped or killed goes on from its last snapshot. ``ranks`` processes share the work;
this script starts them, or torchrun does (on several machines too, if all see the folder runs):

    TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 torchrun --standalone --nproc-per-node=2 \
        --max-restarts=20 train.py --resume --name NAME ...

There ``ranks`` is what torchrun has started, and --resume also begins a run: the same command is
good for the first start and for every later one. (Without that variable ranks that torchrun starts
anew may be told where those before them listened: pytorch issue 135712.)

With --opponent a best response to a frozen agent is trained instead, docs/EXPLOITABILITY.md:

    python train.py --config configs/exploit.yaml --opponent simple
"""

from __future__ import annotations

import os
import pickle
import shlex
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from types import FrameType
from typing import Any

import yaml
from jsonargparse import ArgumentParser, set_parsing_settings

from agents.ppo_config import NetworkConfig, PPOConfig
from agents.ranks import LostProcessError, greatest, ranks, under_torchrun, world_size
from ginenv.files import whole_file

MAY_CHANGE = (
    *("decisions", "ranks", "device", "workers", "threads"),
    *("evaluate_every", "evaluate_deals", "snapshot_seconds"),
)
"""Settings that a resumed run may have anew."""

_DAMAGE = (
    OSError,
    yaml.YAMLError,
    pickle.UnpicklingError,
    RuntimeError,
    EOFError,
    KeyError,
    TypeError,
    ValueError,  # other lanes, of another version
)


def _add_opponent(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--opponent",
        type=str | None,
        default=None,
        help="train a best response to this frozen agent instead: a name or a policy file",
    )


def parse_args(args: list[str]) -> tuple[PPOConfig, bool, str | None]:
    """Settings, whether to resume, and the frozen opponent, None in self-play.

    A fault ends the program with status 2 and one message.

    A run that goes on has the settings that it was started with, but for those given anew.
    """
    set_parsing_settings(docstring_parse_attribute_docstrings=True)
    parser = ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--config", action="config", help="YAML file with any of the settings")
    parser.add_argument("--resume", action="store_true", help="go on from the last snapshot")
    _add_opponent(parser)
    parser.add_class_arguments(PPOConfig)
    options = parser.parse_args(args)
    folder = Path("runs") / options.name
    if options.resume and under_torchrun() and not (folder / "state.pt").exists():
        options.resume = False
    if options.resume:
        if not (folder / "state.pt").is_file():
            parser.error(f"resume: there is no snapshot in {folder}")
        options = parser.parse_args(["--config", str(folder / "config.yaml"), *args])
        options.name = folder.name
    fields = options.as_dict()
    fields.pop("config", None)
    resume, opponent = fields.pop("resume"), fields.pop("opponent")
    if resume and opponent is not None:
        parser.error("resume: a run with an opponent is made in one go")
    fields["ranks"] = world_size() or fields["ranks"]
    try:
        for network in ("actor", "critic", "belief"):
            if fields[network] is not None:
                fields[network] = NetworkConfig(**fields[network])
        config = PPOConfig(**fields)
    except ValueError as error:
        parser.error(str(error))
    if not resume and (folder / "state.pt").exists():
        parser.error(f"{folder} holds a run: go on with --resume, or choose another --name")
    return config, resume, opponent


class Run:
    """One training run: its folder, its trainer, what is written when."""

    def __init__(self, config: PPOConfig, resume: bool, command: str, rank: int = 0) -> None:
        # torch takes seconds to import, and faults in the settings should show at once.
        from torch.utils.tensorboard import SummaryWriter

        from agents import policy_file
        from agents.policy import read_header
        from agents.ppo import Trainer
        from agents.strength import Strength

        self.config = config
        self.rank = rank
        self.commands = [command]
        self.before = {"decisions": 0, "seconds": 0}
        """What the policy that the run begins with has had."""
        self.folder = Path("runs") / config.name
        # A run that goes on has its own weights: those it began with may be gone.
        self.trainer = Trainer(replace(config, start=None) if resume else config, rank)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.seconds_before = 0.0
        self.start = time.monotonic()
        self.evaluated_at = 0
        if resume:
            self._restore()
        elif config.start is not None:
            header = read_header(policy_file(config.start))
            self.commands = [*header.get("commands", []), command]
            self.before = {name: header.get(name, 0) for name in self.before}
        if rank:  # what is written and measured is the first one's business
            return
        for left in self.folder.glob(".*.part"):  # by a run that was killed as it wrote
            left.unlink()
        with whole_file(self.folder / "config.yaml") as file:
            file.write(yaml.safe_dump(asdict(config), sort_keys=False).encode())
        # What an earlier part logged after its last snapshot (of a run that begins: all of it) is
        # done again; purging starts at the step it is given, and the snapshot's own figures stay.
        purge = self.trainer.decisions + 1 if resume else 0
        self.writer = SummaryWriter(str(self.folder), purge_step=purge)
        rules, deals = self.trainer.rules[0], config.evaluate_deals
        episode = "game" if "game" in config.episodes else "hand"
        self.strength = Strength(self.writer, rules, config.name, episode, deals, config.seed)

    @property
    def seconds(self) -> float:
        """Time spent on the run, over all its parts."""
        return self.seconds_before + time.monotonic() - self.start

    def train(self) -> int:
        """Train to the end, or until told to stop; the exit status."""
        saved, signal_number = time.monotonic(), 0
        with _stop_requests() as stop, _progress(self.config, self.rank) as show:
            while True:
                if self._due_for_evaluation():
                    self.evaluate()
                if self.trainer.done:
                    break
                begin = time.monotonic()
                figures = self.trainer.iterate()
                now = time.monotonic()
                if self.rank == 0:
                    self._log(figures, now - begin)
                    show(self.trainer.decisions)
                # Saved before an evaluation, and when the next iteration would end too late.
                late = now + (now - begin) - saved > self.config.snapshot_seconds
                signal_number, due = self._agree(stop[0] if stop else 0, int(late))
                if signal_number and not self.trainer.done:
                    break
                signal_number = 0
                if due or self._due_for_evaluation():
                    self.snapshot()
                    saved = time.monotonic()
            self.snapshot()
        if self.rank == 0 and self.trainer.done:
            self.strength.finish(asdict(self.config), self.trainer.decisions)
        if signal_number:
            if self.rank == 0:
                done = f"{self.trainer.decisions:,}"
                print(f"stopped at {done} decisions; go on with --resume")
            return 128 + signal_number
        return 0

    def _agree(self, *numbers: int) -> list[int]:
        """The greatest of each number over all ranks: they stop and save together."""
        if self.config.ranks == 1:
            return list(numbers)
        import torch

        agreed = torch.tensor(numbers)
        greatest(agreed)
        return [int(number) for number in agreed.tolist()]

    def _due_for_evaluation(self) -> bool:
        """Since the last evaluation, which the snapshot before it does not know of."""
        every, now = self.config.evaluate_every, self.trainer.decisions
        due = now // every > self.evaluated_at // every
        return due or (self.trainer.done and now > self.evaluated_at)

    def _log(self, figures: dict[str, float], seconds: float) -> None:
        trainer, step = self.trainer, self.trainer.decisions
        hands = figures.pop("hands/ended", 0) * self.config.ranks
        self.writer.add_scalar("speed/hands_per_second", hands / seconds, step)
        for tag, value in figures.items():
            self.writer.add_scalar(tag, value, step)
        rate = self.config.lanes * self.config.steps / seconds  # of all ranks
        self.writer.add_scalar("speed/decisions_per_second", rate, step)
        total = sum(trainer.seconds.values())
        for part, spent in trainer.seconds.items():
            self.writer.add_scalar(f"speed/share_{part}", spent / total, step)
        trainer.seconds = dict.fromkeys(trainer.seconds, 0.0)

    def evaluate(self) -> None:
        """Rank 0 measures the magnet against the panel and writes what comes."""
        from agents.policy import Judge, Policy

        trainer, step = self.trainer, self.trainer.decisions
        self.evaluated_at = step
        if self.rank:
            return
        judge = None
        if "hand" in self.config.episodes:  # else the critic does not know what points are worth
            judge = Judge(trainer.critic, self.config.reward_scale)
        in_games = "game" in self.config.episodes
        told = self.strength.measure(Policy(trainer.averaged(), in_games), step, judge)
        self.writer.flush()
        print(f"{step:>12,} decisions {self.seconds:6.0f} s | {told}", flush=True)

    def snapshot(self) -> None:
        """Write the policy and all that the run needs to go on, whole or not at all."""
        import torch

        from agents.policy import save_policy

        trainer_state = self.trainer.state_dict()
        if self.rank:
            return
        # First, so that the curves of a run that is killed here have no gap.
        self.writer.flush()
        header = {
            "rules": [rules.to_dict() for rules in self.trainer.rules],
            "episodes": self.config.episodes,
            "decisions": self.before["decisions"] + self.trainer.decisions,
            "commands": self.commands,
            "seconds": self.before["seconds"] + round(self.seconds),
        }
        path = self.folder / "policy.safetensors"
        critic = self.trainer.critic, self.config.reward_scale
        save_policy(path, self.trainer.averaged(), header, critic)
        state = {
            "trainer": trainer_state,
            "seconds": self.seconds,
            "evaluated_at": self.evaluated_at,
            "commands": self.commands,
            "before": self.before,
        }
        with whole_file(self.folder / "state.pt") as file:
            torch.save(state, file)

    def _restore(self) -> None:
        """Go on from the snapshot. Raises ValueError if it is damaged or the settings differ."""
        import torch

        try:
            # A run from before there was a setting has its default.
            saved = asdict(PPOConfig())
            saved |= yaml.safe_load((self.folder / "config.yaml").read_text())
            path = self.folder / "state.pt"
            state = torch.load(path, map_location="cpu", weights_only=True)
            changed = [
                name
                for name, value in asdict(self.config).items()
                if saved[name] != value and name not in (*MAY_CHANGE, "name")
            ]
            if not changed:
                self.trainer.load_state_dict(state["trainer"])
                self.seconds_before = state["seconds"]
                self.evaluated_at = state["evaluated_at"]
                self.commands = [*state["commands"], *self.commands]
                self.before = state.get("before", self.before)
        except _DAMAGE as error:
            reason = " ".join(str(error).split())[:200]
            raise ValueError(f"{self.folder}: damaged snapshot ({reason})") from None
        for name in changed:
            raise ValueError(
                f"{name}={getattr(self.config, name)}: the run in {self.folder} has "
                f"{saved[name]}, and only {', '.join(MAY_CHANGE)} may change when it goes on"
            )
        if saved["decisions"] != self.config.decisions and self.rank == 0:
            print(
                f"decisions={self.config.decisions} instead of {saved['decisions']}: temperature, "
                "learning rate and magnet follow the new total from here on"
            )


@contextmanager
def _stop_requests() -> Iterator[list[int]]:
    """A list that holds the signal once SIGINT or SIGTERM has asked to stop."""
    asked: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        asked.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _progress(config: PPOConfig, rank: int) -> Iterator[Any]:
    """A function that shows how many decisions are done, if there is a terminal."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.percentage:3.0f} %"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, disable=rank > 0 or not sys.stdout.isatty(), transient=True) as bar:
        task = bar.add_task("", total=config.decisions)
        yield lambda done: bar.update(task, completed=done)


def _exploit(config: PPOConfig, opponent: str, given: list[str]) -> int:
    from agents import exploit

    try:
        return exploit.run(config, opponent, f"python train.py {shlex.join(given)}")
    except (ValueError, OSError) as error:
        print(f"train.py: error: {error}", file=sys.stderr)
        return 2


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""
    given = sys.argv[1:] if args is None else args
    config, resume, opponent = parse_args(given)
    if opponent is not None:
        return _exploit(config, opponent, given)
    try:
        with ranks(config.ranks, [__file__, *given]) as rank:
            run = Run(config, resume, f"python train.py {shlex.join(given)}", rank)
            status = run.train()
    except (ValueError, OSError) as error:
        # Wrong settings and damaged snapshots are the same for all ranks: rank 0 tells.
        if isinstance(error, OSError) or os.environ.get("RANK", "0") == "0":
            print(f"train.py: error: {error}", file=sys.stderr)
        return 2
    except LostProcessError as error:
        print(f"train.py: error: {error}; go on with --resume", file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # before the training has begun: nothing to save
        return 128 + signal.SIGINT
    if rank:
        return status
    run.writer.close()
    if status == 0:
        print(f"policy: {run.folder / 'policy.safetensors'}")
        print(f"curves: tensorboard --logdir {run.folder}")
    return status


if __name__ == "__main__":
    sys.exit(main())
