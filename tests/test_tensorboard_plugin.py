"""Games in TensorBoard: what is written into a log, and what the tab is told of it."""

from __future__ import annotations

import argparse
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tensorboard import errors
from tensorboard.plugins import base_plugin
from werkzeug.test import Client

from ginenv import cards, engine, melds, replay
from ginenv.rules import preset
from ginenv.tensorboard import frames, pictures, summary, words
from ginenv.tensorboard.plugin import GAMES_KEPT, GinRummyLoader
from tests.logs import MARKUP, data, recorded, states, written

ROOT = Path(__file__).parent.parent
STATIC = resources.files("ginenv.tensorboard") / "static"


def write_text(writer: summary.Log, tag: str, text: str, step: int) -> None:
    """A record as it is, damaged or not."""
    made = summary.Summary()
    summary._add_tensor(made, tag, text, "gin_rummy")
    writer.add_summary(made, step)


Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """What the page asks, and the answer."""
    folder = tmp_path_factory.mktemp("logs")
    good = json.dumps(recorded())
    with summary.log(folder / "run") as writer:
        summary.add_game(writer, "vs_simple", recorded(), 10)
        summary.add_game(writer, "vs_simple", recorded(seed=1), 30, pictured=False)
        summary.add_game(writer, "vs_simple", recorded(seed=2), 20)
        write_text(writer, "game/cut", good[: len(good) // 2], 1)
        write_text(writer, "game/newer", good.replace("ginenv-game/1", "ginenv-game/2"), 1)
        write_text(writer, "game/wrong", good.replace(", discard", ", knock", 1), 1)
        write_text(writer, "game/strange", '{"players": 3}', 1)
        write_text(writer, "game/empty", "", 1)
    context = base_plugin.TBContext(data_provider=data(folder), logdir=str(folder))
    plugin = GinRummyLoader().load(context)
    assert plugin is not None
    apps = plugin.get_plugin_apps()

    def asked(question: str, **place: object) -> Any:
        answer = Client(apps[f"/{question}"]).get("/", query_string=place)
        assert answer.status_code == 200
        return answer.json if answer.is_json else answer.data

    return asked


def test_the_tab_is_found_once_the_package_is_installed() -> None:
    found = metadata.entry_points(group="tensorboard_plugins")
    ours = [point for point in found if point.name == "gin_rummy"]
    if not ours:
        pytest.skip("the package is not installed")
    assert ours[0].load() is GinRummyLoader


def test_runs_tags_and_steps(ask: Ask) -> None:
    bad = ["game/cut", "game/empty", "game/newer", "game/strange"]
    assert ask("tags") == {"run": [*bad, "game/vs_simple", "game/wrong"]}
    assert ask("steps", run="run", tag="game/vs_simple") == [
        {"step": step, "title": "ann v bob"} for step in (10, 20, 30)
    ]
    assert ask("steps", run="run", tag="game/cut") == [{"step": 1, "title": "damaged"}]
    assert ask("steps", run="run", tag="game/strange") == [{"step": 1, "title": "damaged"}]
    assert ask("steps", run="nobody", tag="game/cut") == []


def test_a_game_is_told_as_it_was_written(ask: Ask) -> None:
    for step, seed in ((10, 0), (30, 1), (20, 2)):
        told = ask("game", run="run", tag="game/vs_simple", step=step)
        assert told == json.loads(json.dumps(frames.expand(recorded(seed=seed))))
    for step in (11, "x", ""):
        with pytest.raises(errors.NotFoundError):
            ask("game", run="run", tag="game/vs_simple", step=step)


@pytest.mark.parametrize(
    ("tag", "reason"),
    [
        ("cut", "not a line of JSON"),
        ("newer", "format 'ginenv-game/2': this version reads 'ginenv-game/1'"),
        ("wrong", "hand 1: action"),
        ("strange", "'format' is missing"),
        ("empty", "not a line of JSON"),
    ],
)
def test_what_cannot_be_shown_is_one_line(ask: Ask, tag: str, reason: str) -> None:
    told = ask("game", run="run", tag=f"game/{tag}", step=1)
    assert list(told) == ["error"]
    assert reason in told["error"]
    assert len(told["error"]) < 400
    assert "\n" not in told["error"]


def test_the_page_needs_nothing_from_elsewhere(ask: Ask) -> None:
    names = [file.name for file in STATIC.iterdir()]
    assert {"index.js", "style.css"} <= set(names)
    for name in names:
        text = ask(name).decode()
        assert text == (STATIC / name).read_text()
        addresses = set(re.findall(r"https?://[^'\"\s]+", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}, name
        assert set(re.findall(r"from '\./(.*?)'", text)) <= set(names)
        for unsafe in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert unsafe not in text


def test_tensorboard_keeps_the_games() -> None:
    flags = argparse.Namespace(samples_per_plugin={})
    GinRummyLoader().fix_flags(flags)
    assert flags.samples_per_plugin == {"gin_rummy": GAMES_KEPT}
    flags = argparse.Namespace(samples_per_plugin={"gin_rummy": 5})
    GinRummyLoader().fix_flags(flags)
    assert flags.samples_per_plugin == {"gin_rummy": 5}
    assert GinRummyLoader().load(base_plugin.TBContext()) is None


GAMES = [
    *[(name, "game") for name in ("classic", "oklahoma", "big_gin", "hollywood", "cutthroat")],
    ("partnership", "game"), ("classic", "hand"), ("cutthroat", "hand"), ("partnership", "hand"),
]  # fmt: skip


@pytest.mark.parametrize(("rules_name", "episode"), GAMES)
def test_positions_are_the_engines(rules_name: str, episode: str) -> None:
    made = recorded(rules_name, episode)
    told = frames.expand(made)
    assert told["players"] == made["players"]
    assert told["final"] == made["final"]
    assert told["single"] == (episode == "hand")
    for number, (hand, entry) in enumerate(zip(told["hands"], made["hands"], strict=True)):
        assert hand["result"] == entry["result"]
        assert hand["sheet"]["totals"] == entry["scores"]
        assert hand["seats"] == entry.get("seats", [0, 1])
        assert hand["dealer"] == entry["dealer"]
        words_said = entry["actions"].split(", ")
        rules, positions = states(made, number)
        assert len(hand["frames"]) == len(positions) == len(words_said) + 1
        for at, (frame, state) in enumerate(zip(hand["frames"], positions, strict=True)):
            check_position(frame, state, rules.hand_size)
            if at:
                check_action(frame["last"], words_said[at - 1], positions[at - 1], state)
            thought = entry["policy"][at] if at < len(words_said) else None
            chosen = {"chosen": words_said[at]} if thought else {}
            assert (frame["thought"] or {}) == {**(thought or {}), **chosen}
        check_end(hand["frames"][-1], entry["result"])


def check_position(frame: dict[str, Any], state: engine.State, size: int) -> None:
    for seat, held in enumerate(frame["hands"]):
        melded = [card for meld in held["melds"] for card in meld]
        shown = [*melded, *held["rest"], *held.get("laid_off", [])]
        assert cards.parse(shown) == state.hands[0, seat]
        assert len(shown) == len(set(shown))
        if "laid_down" not in held:
            assert held["points"] == cards.points(cards.parse(held["rest"]).reshape(1))[0]
            assert held["points"] == melds.deadwood(state.hands[:1, seat])[0]
            after = melds.deadwood_after_discard(state.hands[:1, seat]).min()
            eleven = len(shown) > size
            assert held["least"] == (min(after, held["points"]) if eleven else held["points"])
            assert cards.parse(held["known"]) == state.hands[0, seat] & state.seen[0]
    assert frame["mover"] == (None if state.over[0] else state.mover[0])
    assert frame["stock"] == state.stock_left[0]
    pile = state.pile[0, : state.pile_size[0]].tolist()
    assert frame["pile"] == [cards.name(card) for card in pile]


def check_action(
    last: dict[str, Any], word: str, before: engine.State, state: engine.State
) -> None:
    what, _, card = word.partition(" ")
    if what in ("stock", "take"):
        card = cards.name(int(state.drawn[0]))
    assert last == {"seat": before.mover[0], "what": what, "card": card or None}


def check_end(frame: dict[str, Any], result: dict[str, Any]) -> None:
    if result["kind"] in ("dead", "forfeit"):
        assert not any("laid_down" in held for held in frame["hands"])
        return
    for seat, held in enumerate(frame["hands"]):
        assert [" ".join(meld) for meld in held["melds"]] == result["melds"][seat]
        assert held["points"] == result["deadwood"][seat]
    assert [c for held in frame["hands"] for c in held["laid_off"]] == result["layoffs"]


def test_a_forfeit_is_a_position_of_its_own() -> None:
    made = recorded("classic", "hand")
    rules, (hand,) = replay.parse(made)
    hand = replay.Hand(hand.dealer, hand.deck, hand.actions[:3], forfeited=True)
    told = frames.expand(replay.record(rules, ["ann", "bob"], [hand]))["hands"][0]
    assert [frame["last"] and frame["last"]["what"] for frame in told["frames"]][-1] == "forfeit"
    assert told["frames"][-1]["mover"] is None
    assert "forfeits" in told["ending"]
    words.table({"hands": [told], "players": ["ann", "bob"]}, 0)
    pictures.moving({"hands": [told], "players": ["ann", "bob"]}, 0)


def test_pictures_and_texts_are_of_the_hand_with_the_most_points(tmp_path: Path) -> None:
    with summary.log(tmp_path) as writer:
        summary.add_game(writer, "v <b>|x", recorded(), 5)
    log = written(tmp_path)
    assert {tag: kind for tag, ((_, kind, _),) in log.items()} == {
        "game/v_b_x": "gin_rummy", "hand/v_b_x": "text", "replay/v_b_x": "image",
    }  # fmt: skip
    games = [hand["result"]["points"] for hand in recorded()["hands"]]
    best = games.index(max(games))
    assert f"Hand {best + 1} of {len(games)}" in log["hand/v_b_x"][0][2].decode()
    picture = log["replay/v_b_x"][0][2]
    image = Image.open(io.BytesIO(picture))
    assert (image.format, image.size) == ("GIF", (pictures.WIDTH, pictures.HEIGHT))
    moves = recorded()["hands"][best]["actions"].split(", ")
    draws = sum(move in ("stock", "take") for move in moves)
    assert image.n_frames == len(moves) + 1 - draws
    assert len(picture) < 200_000
    assert image.info["loop"] == 0


def test_a_game_takes_a_few_kib(tmp_path: Path) -> None:
    with summary.log(tmp_path) as writer:
        summary.add_game(writer, "x", recorded("classic", "hand"), 5, pictured=False)
    (file,) = tmp_path.iterdir()
    assert file.stat().st_size < 6_000


def test_names_cannot_upset_the_table_of_text() -> None:
    made = recorded("classic", "hand", names=(MARKUP, "a\nb"))
    told = frames.expand(made)
    assert told["players"] == [MARKUP, "'a\\nb'"]
    text = words.table(told, 0)
    assert "<img" not in text
    assert "*bold*" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {7}


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


def test_any_recorded_game_goes_into_a_log(tmp_path: Path) -> None:
    file = tmp_path / "my games.jsonl"
    replay.write(file, [recorded(), recorded("classic", "hand"), recorded("oklahoma")])
    folder = tmp_path / "logs" / "y"
    done = run("-m", "ginenv.replay", file, "--show", 2, "--tensorboard", folder)
    assert done.returncode == 0, done.stderr
    assert f"tensorboard --logdir {folder}, then http" in done.stdout.splitlines()[-1]
    log = written(folder)
    steps, _, games = zip(*log["game/my_games"], strict=True)
    assert steps == (1, 2, 3)
    assert [json.loads(game) for game in games] == list(replay.read(file))
    assert [step for step, _, _ in log["replay/my_games"]] == [2]


def test_a_damaged_file_leaves_no_log(tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    file.write_text(json.dumps(recorded()) + "\n{}\n")
    done = run("-m", "ginenv.replay", file, "--show", 0, "--tensorboard", tmp_path / "log")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "log").exists()
    replay.write(file, [recorded("classic", "hand")])
    done = run("-m", "ginenv.replay", file, "--show", 0, "--tensorboard", file)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "games.jsonl" in done.stderr


def test_evaluate_writes_games_worth_watching(tmp_path: Path) -> None:
    done = run(
        "evaluate.py", "simple", "random", "--deals", 60, "--tensorboard", tmp_path / "x"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    line = done.stdout.splitlines()[-1]
    assert "tensorboard --logdir" in line
    log = written(tmp_path / "x")
    games = {tag: json.loads(log[tag][0][2]) for tag in log if tag.startswith("game/")}
    assert {"game/best", "game/worst", "game/random"} <= set(games)
    gains = {}
    for tag, made in games.items():
        replay.check(made)
        result = made["hands"][0]["result"]
        simple = made["players"].index("simple")
        sign = {simple: 1, None: 0}.get(result["winner"], -1)
        gains[tag] = sign * result["points"]
        assert tag not in ("game/gin", "game/undercut") or f"game/{result['kind']}" == tag
        assert any(made["hands"][0]["policy"])
    assert max(gains.values()) == gains["game/best"]
    assert min(gains.values()) == gains["game/worst"]


def test_evaluate_wants_a_folder_for_its_games(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "x"):
        done = run("evaluate.py", "simple", "random", "--deals", 2, "--tensorboard", folder)
        assert done.returncode == 2
        assert "cannot write a folder there" in done.stderr
        assert "Traceback" not in done.stderr


def test_every_preset_can_be_drawn() -> None:
    for name in ("hollywood", "cutthroat", "partnership"):
        told = frames.expand(recorded(name))
        assert preset(name).num_players == len(told["players"])
        number = words.best_hand(told)
        assert words.table(told, number).startswith("**Hand")
        assert pictures.moving(told, number)[2].startswith(b"GIF8")
