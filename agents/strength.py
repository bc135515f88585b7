"""How strong a policy is that trains, against a fixed panel: curves and pictures of TensorBoard."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams

import agents
from agents import Agent, arena, ratings, watch
from agents.figures import Tally, report_tally
from agents.intervals import rate_interval
from agents.policy import Judge
from ginenv.rules import Rules

PANEL = ("simple", "expert", "expert_k5", "adaptive")
"""Who a policy is measured against while it trains. Games of a first policy with ``random``, who
hardly ever knocks, would be very long."""
ANCHOR = "simple"
"""Of the panel, who is rated 1000."""
LOW, HIGH = (178, 64, 30), (26, 92, 160)
"""Colours of 0 and of 100 % of the wins; white is between."""


class Strength:
    """Measures one run's policies, each on decks of its own, and writes what comes."""

    def __init__(
        self, writer: SummaryWriter, rules: Rules, name: str, episode: str, deals: int, seed: int
    ) -> None:
        """``episode``: hand or game; ``deals``: each played twice against each of the panel."""
        self.writer = writer
        self.log: Any = writer.file_writer
        self.rules = rules
        self.name = name
        self.episode = episode
        self.deals = deals
        self.seed = seed
        self.panel: list[Agent] = [agents.load(each, rules) for each in PANEL]
        self.among: dict[tuple[int, int], Tally] = {}
        """What the panel's agents won from one another; place 0 is the policy's."""
        self.last: dict[str, float] = {}
        """The latest figures by tag."""
        writer.add_custom_scalars(_layout())

    def measure(self, policy: Agent, step: int, judge: Judge | None = None) -> str:
        """Play, write figures and a game against each of the panel at ``step``; a line to print."""
        self._play_panel()
        start, told = time.perf_counter(), []
        met = dict(self.among)
        for place, (opponent, agent) in enumerate(zip(PANEL, self.panel, strict=True), start=1):
            tally = self._play((policy, agent), self.seed + step)
            met[0, place] = tally
            told.append(self._write(opponent, tally, step))
            players = (self.name, opponent), (policy, agent)
            watch.play_one(self.log, self.rules, *players, step, judge)
        names = [self.name, *PANEL]
        rng = np.random.default_rng(self.seed + step)
        shares = {pair: tally.shares() for pair, tally in met.items()}
        plays = len(arena.seatings(self.rules))
        rated = ratings.elo(names, shares, plays, names.index(ANCHOR), rng)[self.name]
        self._scalars("strength/elo", rated["elo"], rated["low"], rated["high"], step)
        self._scalar("strength/seconds", time.perf_counter() - start, step)
        picture = matrix(names, {pair: tally.wins(0).mean for pair, tally in met.items()})
        self.writer.add_image("strength/matrix", picture, step, dataformats="HWC")
        return f"Elo {rated['elo']:.0f} | " + " | ".join(told)

    def finish(self, settings: dict[str, Any], step: int) -> None:
        """Write the run's settings beside its final figures, for the tab of hyperparameters."""
        figures = {f"final/{tag.partition('/')[2]}": value for tag, value in self.last.items()}
        plain = {
            name: value if isinstance(value, bool | int | float | str) else str(value)
            for name, value in settings.items()
        }
        for summary in hparams(plain, figures):
            self.log.add_summary(summary)
        for tag, value in figures.items():
            self.writer.add_scalar(tag, value, step)

    def _play(self, players: tuple[Agent, Agent], seed: int) -> Tally:
        decks, choices = (np.random.default_rng(each) for each in arena.seeds(seed))
        start = time.perf_counter()
        results = arena.play(self.rules, players, self.deals, decks, choices, episode=self.episode)
        return Tally.of(results, time.perf_counter() - start)

    def _play_panel(self) -> None:
        """Once in a run, on the same decks after a resume."""
        if self.among:
            return
        for one in range(len(PANEL)):
            for other in range(one + 1, len(PANEL)):
                pair = self.panel[one], self.panel[other]
                self.among[one + 1, other + 1] = self._play(pair, self.seed)

    def _write(self, opponent: str, tally: Tally, step: int) -> str:
        figures = report_tally((self.name, opponent), tally)
        points, wins = figures["points_per_hand"], rate_interval(tally.wins(0))
        for what, of in (("points", points), ("wins", wins)):
            self._scalars(f"strength/{what}_v_{opponent}", of["mean"], of["low"], of["high"], step)
        half = points["high"] - points["mean"]
        return f"{opponent} {points['mean']:+.1f} ± {half:.1f}, {wins['mean']:.0%}"

    def _scalars(self, tag: str, mean: float, low: float, high: float, step: int) -> None:
        for suffix, value in (("", mean), ("_low", low), ("_high", high)):
            self._scalar(tag + suffix, value, step)

    def _scalar(self, tag: str, value: float, step: int) -> None:
        self.writer.add_scalar(tag, value, step)
        if not tag.endswith(("_low", "_high", "seconds")):
            self.last[tag] = value


def _layout() -> dict[str, dict[str, list[Any]]]:
    """Charts with their 95 % bands for the tab of custom scalars."""

    def band(tag: str) -> list[Any]:
        return ["Margin", [f"strength/{tag}{suffix}" for suffix in ("", "_low", "_high")]]

    return {
        "Elo": {"against the panel, simple = 1000": band("elo")},
        "Wins": {f"v {each}": band(f"wins_v_{each}") for each in PANEL},
        "Points a hand": {f"v {each}": band(f"points_v_{each}") for each in PANEL},
    }


def matrix(names: list[str], shares: dict[tuple[int, int], float]) -> NDArray[np.uint8]:
    """A picture of who wins how often from whom, row v column, uint8 [height, width, 3].

    ``shares``: of each pair of places, the row's first, what the first of them won, 0 to 1.
    """
    cell, high, left, font = 76, 34, 132, ImageFont.load_default(14)
    size = (left + cell * len(names), high * (len(names) + 1))
    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    for place, name in enumerate(names):
        draw.text((6, high * (place + 1) + 9), _short(name, 16), "black", font)
        draw.text((left + cell * place + 3, 9), _short(name, 9), "black", font)
    for (row, column), share in shares.items():
        for at, won in (((row, column), share), ((column, row), 1 - share)):
            x, y = left + cell * at[1], high * (at[0] + 1)
            draw.rectangle((x, y, x + cell - 2, y + high - 2), _colour(won))
            dark = abs(won - 0.5) > 0.3
            draw.text((x + 20, y + 9), f"{won:.0%}", "white" if dark else "black", font)
    return np.asarray(image)


def _colour(share: float) -> tuple[int, ...]:
    end, part = (HIGH, 2 * share - 1) if share > 0.5 else (LOW, 1 - 2 * share)
    return tuple(round(255 + part * (value - 255)) for value in end)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
