"""Recorded games for the tests of TensorBoard's tab, and how a log is read without TensorBoard."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tensorboard.backend.event_processing import (
    data_provider,
    event_file_loader,
    plugin_event_multiplexer,
)

import agents
from agents import arena, watch
from ginenv import replay
from ginenv.replay import Hand
from ginenv.rules import Rules, preset

MARKUP = '<img src=x onerror="window.broken=1">|*bold*'
"""A name that must be shown as it is."""


@cache
def recorded(
    rules_name: str = "classic",
    episode: str = "game",
    seed: int = 0,
    names: tuple[str, ...] = ("ann", "bob", "cleo", "dan"),
) -> dict[str, Any]:
    """What simple's games look like, with thoughts and made-up values. Not to be changed."""
    rules = preset(rules_name)
    games: list[list[Hand]] = []
    arena.play(
        rules, [agents.load("simple", rules)] * rules.num_sides, 1,
        *map(np.random.default_rng, (seed, seed)),
        recorder=lambda players, played: games.extend(played), episode=episode,
    )  # fmt: skip
    made = replay.record(rules, names[: rules.num_players], games[0], game=episode == "game")
    thinker = agents.load("simple", rules)
    told = watch.annotate(made, [thinker, *[None] * (rules.num_players - 1)])
    for hand in told["hands"]:
        for at, thought in enumerate(hand["policy"]):
            if thought:
                thought["value"] = at - 6.5
    replay.check(told)
    return told


def data(folder: Path) -> Any:
    """What plugins are given to read the logs in a folder."""
    kept = {"gin_rummy": 0}
    multiplexer = plugin_event_multiplexer.EventMultiplexer(tensor_size_guidance=kept)
    multiplexer.AddRunsFromDirectory(str(folder))
    multiplexer.Reload()
    return data_provider.MultiplexerDataProvider(multiplexer, str(folder))


def states(made: dict[str, Any], number: int) -> tuple[Rules, list[Any]]:
    """The rules, and the positions of a hand as the engine has them, each a copy."""
    rules, hands = replay.parse(made)
    return rules, [state.copy() for state in replay.rerun(rules, hands[number])]


def written(folder: Path) -> dict[str, list[tuple[int, str, bytes]]]:
    """What the logs right in a folder hold by tag: step, plugin (or image) and content."""
    found: dict[str, list[tuple[int, str, bytes]]] = {}
    for file in sorted(folder.iterdir()):
        for event in event_file_loader.LegacyEventFileLoader(str(file)).Load():
            for value in event.summary.value:
                content = value.tensor.string_val or [value.image.encoded_image_string]
                plugin = value.metadata.plugin_data.plugin_name or "image"
                found.setdefault(value.tag, []).append((event.step, plugin, content[0]))
    return found
