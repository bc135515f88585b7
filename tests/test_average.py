"""Policies averaged: the mean of the weights, what the file says, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from agents import average
from agents.network import Actor, Critic
from agents.policy import Policy, load_critic, read_header, save_policy
from agents.ppo_config import NetworkConfig
from ginenv.rules import preset

SIZE = NetworkConfig(width=8, layers=1)


def written(path: Path, seed: int, *rules: str, size: NetworkConfig = SIZE, **more: Any) -> Actor:
    torch.manual_seed(seed)
    actor, critic = Actor(size), Critic(SIZE)
    for weight in [*actor.parameters(), *critic.parameters()]:
        torch.nn.init.normal_(weight)
    header = {
        "rules": [preset(each).to_dict() for each in rules or ("classic",)],
        "episodes": ["hand", "game"], "decisions": 100 * seed, "seconds": seed,
        "commands": ["python train.py --seed 0", f"python train.py --seed {seed}"], **more,
    }  # fmt: skip
    save_policy(path, actor, header, (critic, 20.0))
    return actor


def test_weights_are_the_mean_and_the_header_names_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = [f"{letter}.safetensors" for letter in "abc"]
    every = [("oklahoma", "classic"), ("classic",), ("straight", "classic")]
    found = [written(Path(n), k, *r) for k, (n, r) in enumerate(zip(names, every, strict=True), 1)]
    monkeypatch.setattr(sys, "argv", ["average", *names, "--out", "mean.safetensors"])
    average.main()
    policy = Policy.load(Path("mean.safetensors"), preset("classic"))
    states = [actor.state_dict() for actor in found]
    for name, weight in policy.actor.state_dict().items():
        torch.testing.assert_close(weight, sum(s[name] for s in states) / 3)
    critics = [load_critic(Path(name)) for name in (*names, "mean.safetensors")]
    heads = [each[0].body.single_head.weight for each in critics if each]
    torch.testing.assert_close(heads[3], (heads[0] + heads[1] + heads[2]) / 3)
    header = read_header(Path("mean.safetensors"))
    assert header["rules"] == [preset("classic").to_dict()]
    assert (header["decisions"], header["seconds"]) == (300, 3)
    assert header["commands"] == [
        "python train.py --seed 0",  # in the history of all
        *(f"python train.py --seed {seed}" for seed in (1, 2, 3)),
        f"python -m agents.average {' '.join(names)} --out mean.safetensors",
    ]


def test_without_critics_and_with_bare_headers(tmp_path: Path) -> None:
    paths = [tmp_path / "a.safetensors", tmp_path / "b.safetensors"]
    for path in paths:
        save_policy(path, Actor(SIZE), {"rules": [preset("classic").to_dict()]})
    average.average(paths, tmp_path / "mean.safetensors", "command")
    header = read_header(tmp_path / "mean.safetensors")
    assert (header["decisions"], header["commands"]) == (0, ["command"])
    assert load_critic(tmp_path / "mean.safetensors") is None
    with pytest.raises(ValueError, match="two or more"):
        average.average(paths[:1], tmp_path / "one.safetensors", "command")


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"size": NetworkConfig(width=16, layers=1)}, "b.safetensors: network is"),
        ({"episodes": ["hand"]}, "b.safetensors: episodes is ['hand']"),
        ({"rules": [preset("straight").to_dict()]}, "no rules in common"),
        (None, "b.safetensors: not a safetensors file"),
    ],
)
def test_what_has_no_mean_is_refused(
    second: dict[str, Any] | None,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    written(Path("a.safetensors"), 1)
    if second is None:
        Path("b.safetensors").write_text("no policy")
    else:
        written(Path("b.safetensors"), 2, **second)
    arguments = ["average", "a.safetensors", "b.safetensors", "--out", "mean.safetensors"]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as ended:
        average.main()
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
    assert not Path("mean.safetensors").exists()
