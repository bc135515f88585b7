"""The benchmark on small games: each variant takes away what it says; plots and tables."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
sys.path.insert(0, str(FOLDER))

import small_games  # noqa: E402
import variants  # noqa: E402

from agents import features  # noqa: E402
from agents.network import Actor  # noqa: E402
from agents.ppo import Trainer  # noqa: E402
from ginenv import cards  # noqa: E402

FEW: dict[str, Any] = {
    "decisions": 512, "lanes": 32, "steps": 8, "minibatch": 64, "precision": "float32",
    "actor": {"width": 8, "layers": 1}, "critic": {"width": 8, "layers": 1},
}  # fmt: skip


@pytest.mark.parametrize("variant", variants.VARIANTS)
def test_each_variant_trains(variant: str) -> None:
    settings = small_games.config("small_a", **{**FEW, **variants.VARIANTS[variant]})
    before = Actor.__init__, Trainer._gradient_step
    with variants.patches(variant):
        trainer = Trainer(settings)
        while not trainer.done:
            figures = trainer.iterate()
        perceptron = isinstance(trainer.actor, variants.PlainActor)
        assert perceptron == variant.startswith("perceptron")
    assert np.isfinite(figures["loss/policy"])
    assert before == (Actor.__init__, Trainer._gradient_step)


def test_renamed_suits_are_the_same_decisions() -> None:
    """To a network to which suits are alike the minibatch is the same: so are all its figures."""
    settings = small_games.config("small_a", **{**FEW, "learning_rate": 1e-9, "epochs": 1})
    told = []
    for step in (Trainer._gradient_step, variants._relabeled(Trainer._gradient_step)):
        trainer = Trainer(settings)
        torch.nn.init.normal_(trainer.actor.body.card_head.weight, 0, 0.3, generator=_seeded())
        rollout, _ = trainer.collect()
        batch = rollout.decisions()
        count = len(batch["chosen"])
        batch |= {"gains": torch.randn(count, generator=_seeded()), "returns": torch.ones(count)}
        batch["magnet"] = batch["old"]
        # In some of six suits change places.
        figures = [step(trainer, batch, batch) for _ in range(6)]
        told.append([[float(each[name]) for name in sorted(each)] for each in figures])
    np.testing.assert_allclose(told[0], told[1], atol=1e-4)


def _seeded() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize("variant", variants.WITHOUT)
def test_what_a_variant_is_not_told_is_empty(variant: str) -> None:
    trainer = Trainer(small_games.config("small_a", **FEW))
    trainer.collect()  # to where some have drawn
    seen = torch.from_numpy(trainer.lanes.look().seen)
    planes, numbers = variants.WITHOUT[variant]
    bare, whole = (
        (suits.unflatten(-1, (features.PLANES, cards.NUM_RANKS)).clone(), scalars.clone())
        for suits, _, scalars in (
            variants._without(planes, numbers, seen),
            features.features(seen),
        )
    )
    assert not bare[0][..., planes, :].any()
    assert whole[0][..., planes, :].any()
    assert not bare[1][:, numbers].any()
    for part in (whole[0][..., planes, :], whole[1][:, numbers]):
        part.zero_()
    assert torch.equal(bare[0], whole[0])
    assert torch.equal(bare[1], whole[1])


def test_runs_become_a_table_and_a_plot() -> None:
    curve = [[1000, 1.0, 5.0], [2000, 2.0, 0.05]]
    runs = [
        {"game": "small_a", "variant": "recipe", "seed": seed, "uniform": 5.0, "curve": curve}
        for seed in (0, 1)
    ]
    assert "| small_a | recipe | 0.050 0.050 | 1.00 % | 2 |" in small_games.table(runs)
    picture = small_games.svg(json.loads(json.dumps(runs)))
    assert picture.count("<polyline") == 2


def test_what_is_wrong_with_the_arguments_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for wrong in (["--games", "poker"], ["--variants", "magic"]):
        monkeypatch.setattr(sys, "argv", ["small_games.py", *wrong])
        with pytest.raises(SystemExit) as ended:
            small_games.main()
        assert ended.value.code == 2
        assert wrong[1] in capsys.readouterr().err


def test_runs_of_other_lengths_are_not_mixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "runs.json"
    run = {"game": "small_a", "variant": "recipe", "seed": 0, "asked": {"decisions": 64}}
    file.write_text(json.dumps([run]))
    before = file.read_bytes()
    assert len(small_games.kept(file, {"decisions": 64})) == 1
    monkeypatch.setattr(sys, "argv", ["small_games.py", "--decisions", "128", "--json", str(file)])
    with pytest.raises(SystemExit) as ended:
        small_games.main()
    assert ended.value.code == 2
    assert "--decisions 128: runs in" in capsys.readouterr().err
    assert file.read_bytes() == before
