"""The examples run, and the page about them and the migration note say what is so."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ginenv import actions, cards, engine, gin_rummy_v0, observation
from ginenv.rules import Rules

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
ECOSYSTEM = (ROOT / "docs" / "ECOSYSTEM.md").read_text()
MIGRATION = (ROOT / "docs" / "MIGRATION.md").read_text()

POINTS = r"[+-]\d+\.\d ± \d+\.\d points a hand"
LEARNT = rf"before: {POINTS}\n(.*\n)*after:  {POINTS}\n"
RUNS = {
    "sb3_maskable_ppo": ("sb3_contrib", ["--steps", "1", "--hands", "8"], LEARNT),
    "torchrl_ppo": ("torchrl", ["--steps", "2048", "--hands", "8"], LEARNT),
    "tianshou_dqn": ("tianshou", ["--steps", "1000", "--hands", "8"], LEARNT),
    "rllib_ppo": ("ray[rllib]", ["--steps", "1", "--hands", "8"], LEARNT),
    "openspiel_bot": ("pyspiel", ["--hands", "8"], rf"{POINTS}; \d+ choices replaced\n"),
    "text_agent": (
        "gymnasium",
        ["--hands", "2"],
        r"2 hands: \S+ points, \d+ answers refused\n",
    ),
}
"""By example: the library that it needs, arguments for a short run, and what it prints in the end.
Players of a protocol are run by that protocol's tests."""


def installed(library: str) -> bool:
    """Whether it is here. It is not imported: its warnings would be this test's errors."""
    modules = ["ray", "tree"] if library == "ray[rllib]" else [library]
    return all(importlib.util.find_spec(module) for module in modules)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_an_example_runs_where_its_library_is_installed(name: str, tmp_path: Path) -> None:
    library, arguments, printed = RUNS[name]
    if not installed(library):
        pytest.skip(f"{library} is not installed")
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{name}.py"), *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(printed, done.stdout), done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_is_told_of(path: Path) -> None:
    code = path.read_text()
    compile(code, str(path), "exec")
    assert len(code.splitlines()) < 60
    assert f"[{path.name}](../examples/{path.name})" in ECOSYSTEM


def test_the_page_tells_of_no_example_that_is_not_there() -> None:
    named = set(re.findall(r"examples/(\w+\.py)", ECOSYSTEM))
    assert named == {path.name for path in EXAMPLES}


def test_the_page_tells_of_each_librarys_version_and_install() -> None:
    for name in RUNS:
        row = next(line for line in ECOSYSTEM.splitlines() if f"/{name}.py)" in line)
        assert re.search(r"\| [^|]*\d+\.\d+[^|]* \| `pip install [^`]+` \|$", row), row


def migration() -> dict[str, Any]:
    """What the note's code defines, its first block apart, which needs PettingZoo's own game."""
    namespace: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", MIGRATION, re.DOTALL)[1:]:
        exec(compile(code, "MIGRATION.md", "exec"), namespace)
    return namespace


def test_the_notes_code_runs(capsys: pytest.CaptureFixture[str]) -> None:
    migration()
    assert capsys.readouterr().out.strip() in ("knock", "gin", "undercut", "dead")


def test_the_note_maps_cards_and_actions() -> None:
    note = migration()
    theirs = [rank + suit for suit in "shdc" for rank in "A23456789TJQK"]
    for card, name in enumerate(theirs):
        assert cards.name(note["other"](card)) == name
        assert actions.format(note["to_ours"](6 + card)) == f"discard {name}"
        assert actions.format(note["to_ours"](58 + card)) == f"knock {name}"
        assert note["other"](note["other"](card)) == card
    mapped = {action: note["to_ours"](action) for action in range(6)}
    words = {action: actions.format(ours) for action, ours in mapped.items() if ours is not None}
    assert words == {2: "stock", 3: "take"}


def test_the_notes_planes_are_of_the_hand_and_the_pile() -> None:
    deck = engine.shuffle(Rules(), np.random.default_rng(0), 1)[0]
    env = gin_rummy_v0.env()
    env.reset(options={"deck": deck.tolist(), "dealer": 1})
    for action in ("pass", "pass", "stock", f"discard {cards.name(int(deck[21]))}", "take"):
        env.step(actions.parse(action))
    names = np.array([rank + suit for suit in "shdc" for rank in "A23456789TJQK"])
    seen = env.observe("player_0")["observation"]
    hand, top, below, known = (set(names[row == 1]) for row in migration()["planes"](seen))
    assert hand == {cards.name(int(card)) for card in deck[0:20:2]}
    assert top == {cards.name(int(deck[20]))}
    assert below == set()
    assert known == {cards.name(int(deck[21]))}


@pytest.mark.parametrize(
    ("result", "paid"),
    [
        ({"kind": "gin", "winner": 1, "deadwood": [30, 0]}, [-0.3, 1.0]),
        ({"kind": "knock", "winner": 0, "deadwood": [5, 20]}, [0.5, -0.2]),
        ({"kind": "undercut", "winner": 0, "deadwood": [5, 9]}, [-0.05, 0.5]),
        ({"kind": "dead", "winner": None, "deadwood": [40, 12]}, [-0.4, -0.12]),
    ],
)
def test_the_notes_old_rewards(result: dict[str, Any], paid: list[float]) -> None:
    assert [migration()["old_reward"](result, player) for player in (0, 1)] == paid


def test_the_note_names_parts_of_the_observation_that_there_are() -> None:
    table = MIGRATION.split("## Observations")[1].split("## Rewards")[0]
    named = re.findall(r'^\| \d \| .* \| `"(\w+)"` \|$', table, re.MULTILINE)
    assert named == ["hand", "upcard", "buried", "opponent_known"]
    assert set(named) <= set(observation.LAYOUT)


def test_the_note_agrees_with_rlcard() -> None:
    events = pytest.importorskip("rlcard.games.gin_rummy.utils.action_event")
    utils = pytest.importorskip("rlcard.games.gin_rummy.utils.utils")
    note = migration()
    assert events.ActionEvent.get_num_actions() == 110
    for action in range(6, 110):
        theirs = events.ActionEvent.decode_action(action)
        ours = note["to_ours"](action)
        assert note["other"](utils.get_card_id(theirs.card)) == ours % 52
        assert isinstance(theirs, events.DiscardAction) == (ours < actions.KNOCK)
    single = {
        events.DrawCardAction: actions.STOCK,
        events.PickUpDiscardAction: actions.TAKE,
        events.DeclareDeadHandAction: None,
        events.GinAction: None,
    }
    assert {kind: note["to_ours"](kind().action_id) for kind in single} == single
