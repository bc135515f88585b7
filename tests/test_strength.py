"""What is written about a policy's strength: the tags, their order, the picture and the layout."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter

import agents
from agents import strength
from ginenv.rules import preset


def read(folder: Path) -> EventAccumulator:
    events = EventAccumulator(str(folder), size_guidance={"images": 0, "tensors": 0})
    events.Reload()
    return events


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of an agent of the panel, measured twice as if it were a policy in training."""
    folder = tmp_path_factory.mktemp("log")
    rules = preset("classic")
    writer = SummaryWriter(str(folder))
    measured = strength.Strength(writer, rules, "new", "game", 6, seed=3)
    player = agents.load("expert_k5", rules)
    lines = [measured.measure(player, step) for step in (1000, 2000)]
    assert all(name in line for name in strength.PANEL for line in lines)
    measured.finish({"width": 64, "name": "new", "rules": ["classic"]}, 2000)
    writer.close()
    return folder


def test_every_bound_is_on_its_side(log: Path) -> None:
    events = read(log)

    def values(tag: str) -> list[float]:
        assert [scalar.step for scalar in events.Scalars(tag)] == [1000, 2000]
        return [scalar.value for scalar in events.Scalars(tag)]

    for opponent in strength.PANEL:
        for what in ("points", "wins"):
            tag = f"strength/{what}_v_{opponent}"
            low, mean, high = values(f"{tag}_low"), values(tag), values(f"{tag}_high")
            assert all(a <= b <= c for a, b, c in zip(low, mean, high, strict=True)), tag
    assert min(values("strength/elo")) > 1000


def test_bands_have_charts_of_tags_that_are_written(log: Path) -> None:
    events = read(log)
    assert "custom_scalars__config__" in events.Tags()["tensors"]
    charts = [chart for group in strength._layout().values() for chart in group.values()]
    assert {kind for kind, _ in charts} == {"Margin"}
    shown = {tag for _, tags in charts for tag in tags}
    assert shown <= {*events.Tags()["scalars"]}


def test_games_matrix_and_final_figures_are_there(log: Path) -> None:
    events = read(log)
    pictures = {f"replay/vs_{each}" for each in strength.PANEL} | {"strength/matrix"}
    assert pictures <= {*events.Tags()["images"]}
    assert {f"game/vs_{each}" for each in strength.PANEL} <= {*events.Tags()["tensors"]}
    last = events.Scalars("strength/elo")[-1].value
    assert events.Scalars("final/elo")[0].value == pytest.approx(last)


def test_same_seed_same_figures(log: Path, tmp_path: Path) -> None:
    """Of a resumed run: its panel has won from one another what it had won before."""
    rules, writer = preset("classic"), SummaryWriter(str(tmp_path))
    measured = strength.Strength(writer, rules, "new", "game", 6, seed=3)
    measured.measure(agents.load("expert_k5", rules), 2000)
    writer.close()
    for tag in ("strength/elo", "strength/points_v_adaptive"):
        assert read(tmp_path).Scalars(tag)[0].value == read(log).Scalars(tag)[1].value


def test_matrix_has_each_share_at_its_place() -> None:
    picture = strength.matrix(["a", "b"], {(0, 1): 1.0})
    cell = picture[34 + 3, 132 + 76 + 3], picture[2 * 34 + 3, 132 + 3]
    np.testing.assert_array_equal(cell[0], strength.HIGH)
    np.testing.assert_array_equal(cell[1], strength.LOW)
