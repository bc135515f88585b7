"""train.py and evaluate.py as people run them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

import evaluate
import train
from agents.policy import read_header
from ginenv import replay

ROOT = Path(__file__).parent.parent


def run(script: str, *args: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / script), *map(str, args)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300
    )


def refused(done: subprocess.CompletedProcess[str], message: str) -> bool:
    return done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr


Refusal = Callable[[Callable[[list[str]], int], list[str]], str]


@pytest.fixture
def refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Refusal:
    """What a command says that ends with status 2 and writes nothing, run in this process."""

    def said(main: Callable[[list[str]], int], args: list[str]) -> str:
        monkeypatch.chdir(tmp_path)
        try:
            status: object = main(args)
        except SystemExit as stop:
            status = stop.code
        assert status == 2
        assert not list(tmp_path.iterdir())
        return capsys.readouterr().err

    return said


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("training")
    done = run("train.py", "--config", ROOT / "configs" / "smoke.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Elo" in done.stdout
    return folder


def test_evaluate_writes_the_figures_and_the_replays(tmp_path: Path) -> None:
    done = run(
        "evaluate.py", "simple", "random", "--deals", 30, "--json", "out.json",
        "--replays", "out.jsonl", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "simple" in done.stdout
    figures = json.loads((tmp_path / "out.json").read_text())
    assert figures["rules"]["knock_limit"] == 10
    assert (figures["episode"], figures["seed"]) == ("hand", 0)
    (pair,) = figures["pairs"]
    assert {key: pair[key] for key in ("a", "b", "deals", "hands", "illegal")} == {
        "a": "simple", "b": "random", "deals": 30, "hands": 60, "illegal": {"a": 0, "b": 0},
    }  # fmt: skip
    for name in ("points_per_hand", "win_rate"):
        assert pair[name]["low"] <= pair[name]["mean"] <= pair[name]["high"]
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert len(lines) == 60
    points = {"simple": 0, "random": 0}
    for line in lines:
        result = line["hands"][0]["result"]
        if result["winner"] is not None:
            points[line["players"][result["winner"]]] += result["points"]
    mean = (points["simple"] - points["random"]) / 60
    assert pair["points_per_hand"]["mean"] == pytest.approx(mean)
    checked = subprocess.run(
        [sys.executable, "-m", "ginenv.replay", "out.jsonl"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stderr
    assert "60" in checked.stdout
    done = run("evaluate.py", "simple", "random", "--json", "out.json", "--seed", 1, cwd=tmp_path)
    assert refused(done, "out.json: made with seed=0, not 1; name another file")
    assert json.loads((tmp_path / "out.json").read_text()) == figures


def test_evaluate_plays_every_pair_on_the_same_decks(tmp_path: Path) -> None:
    run(
        "evaluate.py", "simple", "random", "random", "--deals", 5, "--json", "out.json",
        "--rules", "oklahoma", "--rule_fields", "{gin_bonus: 20}", cwd=tmp_path,
    )  # fmt: skip
    figures = json.loads((tmp_path / "out.json").read_text())
    assert [(p["a"], p["b"]) for p in figures["pairs"]] == [
        ("simple", "random"), ("simple", "random"), ("random", "random"),
    ]  # fmt: skip
    assert figures["pairs"][0]["points_per_hand"] == figures["pairs"][1]["points_per_hand"]
    assert (figures["rules"]["oklahoma"], figures["rules"]["gin_bonus"]) == (True, 20)


def evaluated(folder: Path, *args: object) -> tuple[Any, list[Any], str]:
    """The JSON, the replays (checked by re-running them) and what was printed."""
    done = run("evaluate.py", *args, "--json", "o.json", "--replays", "o.jsonl", cwd=folder)
    assert done.returncode == 0, done.stderr
    figures = json.loads((folder / "o.json").read_text())
    return figures, list(replay.read(folder / "o.jsonl")), done.stdout


def test_evaluate_plays_games(tmp_path: Path) -> None:
    figures, records, printed = evaluated(
        tmp_path, "simple", "random", "--rules", "hollywood", "--episode", "game", "--deals", 6,
    )  # fmt: skip
    assert figures["episode"] == "game"
    (pair,) = figures["pairs"]
    assert (pair["deals"], pair["games"], pair["unfinished"]) == (6, 12, 0)
    assert [record["players"] for record in records] == 6 * [
        ["simple", "random"], ["random", "simple"],
    ]  # fmt: skip
    assert pair["hands"] == sum(len(record["hands"]) for record in records)
    assert pair["hands_per_game"] == pair["hands"] / 12
    settled = [
        (record["final"][0] - record["final"][1]) * (1 if record["players"][0] == "simple" else -1)
        for record in records
    ]
    assert pair["settlement"]["mean"] == pytest.approx(sum(settled) / 12)
    assert pair["win_rate"]["low"] < pair["win_rate"]["mean"] == 1
    assert pair["games_per_second"] > 0
    assert "settlement" in printed
    assert "who deals after that" in " ".join(printed.split())
    assert "not finished" not in printed


def test_evaluate_seats_three(tmp_path: Path) -> None:
    figures, records, printed = evaluated(
        tmp_path, "simple", "random", "simple", "simple", "--rules", "cutthroat", "--deals", 2,
        "--rule_fields", "{target: 30}", "--episode", "game",
    )  # fmt: skip
    triples = figures["triples"]
    assert [[t["a"], t["b"], t["c"]] for t in triples] == [
        ["simple", "random", "simple"], ["simple", "random", "simple"],
        ["simple", "simple", "simple"], ["random", "simple", "simple"],
    ]  # fmt: skip
    assert len(records) == 4 * 2 * 6
    for triple in triples:
        assert triple["games"] == 12
        assert sum(triple["win_rate"][letter]["mean"] for letter in "abc") == pytest.approx(1)
        assert sum(triple["settlement"][x]["mean"] for x in "abc") == pytest.approx(0, abs=1e-9)
        assert set(triple["illegal"]) == {"a", "b", "c"}
    assert "4. A random" in printed


def test_evaluate_plays_matches_of_partners(tmp_path: Path) -> None:
    figures, records, _ = evaluated(
        tmp_path, "simple", "random", "--rules", "partnership", "--episode", "match",
        "--rule_fields", "{best_of: 3}", "--deals", 3,
    )  # fmt: skip
    (pair,) = figures["pairs"]
    assert (pair["matches"], pair["games"]) == (6, len(records))
    assert records[0]["players"] == ["simple", "random", "simple", "random"]
    places = [record["match"] for record in records]
    assert places[:2] == [[1, 1], [1, 2]]
    assert {match for match, _ in places} == set(range(1, 7))
    folder = tmp_path / "rounds"
    folder.mkdir()
    _, rounds, _ = evaluated(folder, "simple", "random", "--rules", "partnership", "--deals", 2)
    assert [len(record["hands"]) for record in rounds] == [2] * 4
    assert all(record["final"] is None for record in rounds)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["simple"], "agents: name at least two"),
        (["simple", "expart"], "'expart' is no agent"),
        (["simple", "no.safetensors"], "no.safetensors: there is no such policy file"),
        (["simple", "random", "--rules", "clasic"], "did you mean 'classic'"),
        (["simple", "random", "--rule_fields", "{knock_limit: 12}"], "knock_limit=12: must be"),
        (["simple", "random", "--deals", "1"], "deals=1: an interval needs at least 2"),
        (["simple", "random", "--deals", "many"], "deals"),
        (["simple", "random", "--json", "nowhere/out.json"], "there is no folder"),
        (["simple", "random", "--json", "."], "json=.: is a folder"),
        (["simple", "random", "--json", "o", "--replays", "./o"], "are the same file"),
        (["simple", "random", "--episode", "round"], "episode=round: must be hand, game or match"),
        (["simple", "random", "--rules", "cutthroat"], "agents: name at least three"),
        (["simple", "--rules", "partnership"], "agents: name at least two"),
        (["simple", "random", "--rule_fields", "{best_of: 2}"], "best_of=2: must be odd"),
        (["simple", "random", "--dealz", "5"], "dealz"),
    ],
)
def test_evaluate_refuses_by_name(args: list[str], message: str, refusal: Refusal) -> None:
    assert message in refusal(evaluate.main, args)


def test_training_writes_its_folder(trained: Path) -> None:
    folder = trained / "runs" / "smoke"
    names = {path.name for path in folder.iterdir()}
    assert {"config.yaml", "policy.safetensors", "state.pt"} < names
    assert any(name.startswith("events") for name in names)
    settings = yaml.safe_load((folder / "config.yaml").read_text())
    assert (settings["decisions"], settings["actor"]["width"]) == (16384, 16)


def test_every_tag_is_explained(trained: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from agents import strength

    events = EventAccumulator(str(trained / "runs" / "smoke"))
    events.Reload()
    text, _, _ = (ROOT / "docs" / "TENSORBOARD.md").read_text().partition("## Watching")
    tags = [tag for tag in events.Tags()["scalars"] if not tag.startswith("final/")]
    explained = set()
    for tag, suffixes in re.findall(r"^\| `([\w/]+)`((?:, `_\w+`)*) \|", text, re.MULTILINE):
        ends = ["", *re.findall(r"_\w+", suffixes)]
        names = strength.PANEL if tag.endswith("NAME") else [""]
        explained |= {tag.replace("NAME", name) + end for name in names for end in ends}
    assert explained == set(tags)
    for tag in tags:
        steps = [event.step for event in events.Scalars(tag)]
        assert steps == sorted(set(steps))


def test_a_policy_file_is_an_agent(trained: Path) -> None:
    policy = trained / "runs" / "smoke" / "policy.safetensors"
    done = run("evaluate.py", policy, "random", "--deals", 20, "--json", "p.json", cwd=trained)
    assert done.returncode == 0, done.stderr
    (pair,) = json.loads((trained / "p.json").read_text())["pairs"]
    assert pair["illegal"] == {"a": 0, "b": 0}


def test_rules_never_trained_on_bring_a_warning(trained: Path) -> None:
    policy = trained / "runs" / "smoke" / "policy.safetensors"
    done = run("evaluate.py", policy, "random", "--deals", 5, "--rules", "straight", cwd=trained)
    assert done.returncode == 0
    assert "warning" in done.stderr
    assert "never trained on knock_limit=0 (trained on 10)" in done.stderr


def test_another_deck_or_layout_is_refused_by_name(trained: Path, tmp_path: Path) -> None:
    from safetensors import safe_open
    from safetensors.torch import save_file

    policy = trained / "runs" / "smoke" / "policy.safetensors"
    done = run(
        "evaluate.py", policy, "random", "--rule_fields",
        "{num_ranks: 10, hand_size: 7}", cwd=trained,
    )  # fmt: skip
    assert refused(done, "trained with num_ranks=13, these rules have num_ranks=10")
    with safe_open(policy, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = file.metadata()
    old = tmp_path / "old.safetensors"
    save_file(tensors, old, metadata | {"layout": "ginenv-observation/0"})
    done = run("evaluate.py", old, "random", cwd=tmp_path)
    assert refused(done, "trained on observation layout 'ginenv-observation/0'")
    save_file(tensors, tmp_path / "odd.safetensors", metadata | {"rules": "[1]"})
    done = run("evaluate.py", "odd.safetensors", "random", cwd=tmp_path)
    assert refused(done, "odd.safetensors: damaged header")
    (tmp_path / "bad.safetensors").write_bytes(b"not a policy")
    done = run("evaluate.py", "bad.safetensors", "random", cwd=tmp_path)
    assert refused(done, "bad.safetensors: not a safetensors file")


def test_print_config_shows_every_setting(tmp_path: Path) -> None:
    done = run(
        "train.py", "--config", ROOT / "configs" / "quick.yaml", "--lanes", 7, "--print_config",
        cwd=tmp_path,
    )  # fmt: skip
    settings = yaml.safe_load(done.stdout)
    assert (settings["lanes"], settings["name"], settings["clip"]) == (7, "quick", 0.2)


GAMES_ALONE = re.compile(r"small_[a-z]")  # rules without a run: see tests/test_small_games.py
CONFIGS = [p for p in (ROOT / "configs").glob("*.yaml") if not GAMES_ALONE.fullmatch(p.stem)]


@pytest.mark.parametrize("path", sorted(CONFIGS), ids=lambda path: path.stem)
def test_every_config_is_valid(path: Path) -> None:
    config, resume, _ = train.parse_args(["--config", str(path), "--name", "unused"])
    assert not resume
    assert yaml.safe_load(path.read_text())["name"] == path.stem
    assert config.decisions > 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--lanez", "5"], "lanez"),
        (["--lanes", "many"], "lanes"),
        (["--lanes", "0"], "lanes=0: must be greater than 0"),
        (["--rules", "clasic"], "did you mean 'classic'"),
        (["--actor.widht", "5"], "widht"),
        (["--resume"], "there is no snapshot in runs/run"),
        (["--config", "nowhere.yaml"], "nowhere.yaml"),
        (["--start", "no.safetensors"], "no.safetensors: there is no such policy file"),
        (["--opponents", "[nobody]"], "'nobody' is no agent"),
    ],
)
def test_train_refuses_by_name(args: list[str], message: str, refusal: Refusal) -> None:
    assert message in refusal(train.main, args)


def test_an_unknown_field_of_a_config_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("name: x\nlearning_rat: 0.1\n")
    assert refused(run("train.py", "--config", "c.yaml", cwd=tmp_path), "learning_rat")


def test_a_run_is_not_overwritten_and_not_resumed_with_other_settings(trained: Path) -> None:
    smoke = ["--config", ROOT / "configs" / "smoke.yaml"]
    assert refused(run("train.py", *smoke, cwd=trained), "holds a run: go on with --resume")
    done = run("train.py", *smoke, "--resume", "--clip", 0.3, cwd=trained)
    assert refused(done, "clip=0.3: the run in runs/smoke has 0.2")


def test_a_resumed_run_keeps_its_settings_and_its_curves_have_no_gap(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    config = ROOT / "configs" / "smoke.yaml"
    hands = ("--name", "r", "--episodes", "[hand]")
    run("train.py", "--config", config, *hands, "--decisions", 8192, cwd=tmp_path)
    time.sleep(1)  # event files are named by the second
    done = run("train.py", "--name", "r", "--resume", "--decisions", 16384, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "decisions=16384 instead of 8192" in done.stdout
    events = EventAccumulator(str(tmp_path / "runs" / "r"))
    events.Reload()
    steps = [event.step for event in events.Scalars("loss/value")]
    assert steps == [4096, 8192, 12288, 16384]
    assert [event.step for event in events.Scalars("strength/points_v_simple")] == [8192, 16384]
    saved = torch.load(tmp_path / "runs/r/state.pt", weights_only=True)
    assert len(saved["commands"]) == 2


def test_a_policy_tells_of_the_one_that_it_began_with(trained: Path, tmp_path: Path) -> None:
    """Also when the run goes on, and the file that it began with is gone."""
    first = tmp_path / "first.safetensors"
    first.write_bytes((trained / "runs/smoke/policy.safetensors").read_bytes())
    before = read_header(first)
    config = ROOT / "configs" / "smoke.yaml"
    begin = ("train.py", "--config", config, "--start", first, "--name", "r")
    for more in (("--decisions", 4096), ("--decisions", 8192, "--resume")):
        done = run(*begin, *more, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        first.unlink(missing_ok=True)
    after = read_header(tmp_path / "runs/r/policy.safetensors")
    assert after["decisions"] == before["decisions"] + 8192
    assert after["commands"][:1] == before["commands"]
    assert len(after["commands"]) == 3
    assert after["seconds"] > before["seconds"]


def test_a_damaged_snapshot_is_one_clear_error(trained: Path, tmp_path: Path) -> None:
    config = ROOT / "configs" / "smoke.yaml"
    folder = tmp_path / "runs" / "d"
    shutil.copytree(trained / "runs" / "smoke", folder)
    (folder / "state.pt").write_bytes(b"garbage")
    done = run("train.py", "--config", config, "--name", "d", "--resume", cwd=tmp_path)
    assert refused(done, "runs/d: damaged snapshot")
    (folder / "config.yaml").unlink()
    done = run("train.py", "--config", config, "--name", "d", "--resume", cwd=tmp_path)
    assert refused(done, "config.yaml")
