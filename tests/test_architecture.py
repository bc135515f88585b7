"""Imports run one way, and the environment needs neither torch nor the agents."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import agents

ROOT = Path(__file__).parent.parent
LAYERS = [
    {"cards", "files", "lanes"},
    {"rules"},
    {"melds", "actions", "match"},
    {"scoring", "records"},
    {"engine"},
    {"observation", "board"},
    {"play"},
    {"replay"},
    {"aec_wrappers"},
    {"gin_rummy_v0"},
    {"gym_env", "gym_vector"},
    {"text"},
]
WATCHING = [{"frames"}, {"pictures", "words"}, {"summary"}, {"plugin"}]
"""Of ginenv.tensorboard, on top of them all."""


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: a relative import"
            assert node.module is not None
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def test_every_module_of_the_package_has_a_layer() -> None:
    modules = {path.stem for path in (ROOT / "ginenv").glob("*.py")} - {"__init__"}
    assert modules == set().union(*LAYERS)
    watching = {path.stem for path in (ROOT / "ginenv" / "tensorboard").glob("*.py")}
    assert watching - {"__init__"} == set().union(*WATCHING)


def test_imports_run_one_way() -> None:
    for level, layer in enumerate(LAYERS):
        allowed = set().union(*LAYERS[: level + 1])
        for module in layer:
            names = imported(ROOT / "ginenv" / f"{module}.py")
            own = {name.split(".")[1] for name in names if name.startswith("ginenv.")}
            own &= set().union(*LAYERS)
            assert own <= allowed, f"{module} imports {own - allowed}"
    for level, layer in enumerate(WATCHING):
        allowed = set().union(*WATCHING[:level])
        for module in layer:
            names = imported(ROOT / "ginenv" / "tensorboard" / f"{module}.py")
            own = {name.split(".")[2] for name in names if name.startswith("ginenv.tensorboard.")}
            assert own & set().union(*WATCHING) <= allowed, f"{module} imports {own - allowed}"


def test_the_package_imports_neither_torch_nor_agents() -> None:
    for path in (ROOT / "ginenv").rglob("*.py"):
        roots = {name.split(".")[0] for name in imported(path)}
        assert not roots & {"torch", "agents", "train", "evaluate"}, path.name
        if path.parent.name != "tensorboard":
            assert not roots & {"tensorboard", "PIL"}, path.name
    code = (
        "import sys, ginenv.gin_rummy_v0, ginenv.replay\n"
        "assert not {'torch', 'agents', 'tensorboard', 'PIL'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_agents_see_views_and_never_the_state() -> None:
    """An agent may know the engine's phases; state, dealing and stepping are out of reach."""
    files = {agents.AGENTS[name].__module__.replace(".", "/") + ".py" for name in agents.AGENTS}
    for file in {*files, "agents/policy.py"}:
        tree = ast.parse((ROOT / file).read_text())
        assert "ginenv.engine.State" not in imported(ROOT / file), file
        used = {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "engine"
        }
        assert used <= {*map(str.upper, ("discarding", "offer", "draw", "discard"))}, file
