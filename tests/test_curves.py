"""Curves of strength over the hours of a run: pauses are left out; what is no run is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from torch.utils.tensorboard import SummaryWriter

from agents.strength import PANEL

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))

import curves


def test_hours_are_those_in_which_the_run_went_on(tmp_path: Path) -> None:
    writer = SummaryWriter(str(tmp_path))
    start = 1_800_000_000.0
    # Iterations of 100 s, with a pause of a day after the third.
    times = [start + 100 * n + (86_400 if n > 3 else 0) for n in range(1, 7)]
    for step, at in enumerate(times, start=1):
        writer.add_scalar("speed/decisions_per_second", 1.0, step, walltime=at)
    for step in (3, 6):
        for opponent in PANEL:
            for end, value in (("", 0.6), ("_low", 0.55), ("_high", 0.65)):
                tag = f"strength/wins_v_{opponent}{end}"
                writer.add_scalar(tag, value, step, walltime=times[step - 1])
    writer.close()
    found = curves.read(tmp_path, pause=300)
    for opponent in PANEL:
        want = [[300 / 3600, 3, 0.6, 0.55, 0.65], [500 / 3600, 6, 0.6, 0.55, 0.65]]
        np.testing.assert_allclose(found[opponent], want, rtol=1e-6)
    assert "| 0.08 | 0.0 M | 60 % ±5 |" in curves.table(found)
    twice = curves.read_all([str(tmp_path), "+1", str(tmp_path)], pause=300)[PANEL[1]]
    np.testing.assert_allclose(twice[2:, :2] - twice[:2, :2], [[500 / 3600 + 1, 6]] * 2, rtol=1e-6)
    np.testing.assert_allclose(twice[2:, 2:], twice[:2, 2:])
    picture = curves.svg(found)
    assert picture.count("<polyline") == picture.count("<polygon") == len(PANEL)


def test_a_folder_without_a_run_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, fault in (
        ([str(tmp_path)], "no training run"),
        (["+1"], "there is no run"),
        (["+x"], "could not convert"),
    ):
        monkeypatch.setattr(sys, "argv", ["curves.py", *arguments])
        with pytest.raises(SystemExit) as ended:
            curves.main()
        assert ended.value.code == 2
        assert fault in capsys.readouterr().err
