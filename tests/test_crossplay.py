"""Tallies, and runs of several agents that are cut short, gone on from and told."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import agents
import evaluate
from agents import arena, crossplay, tables
from agents.crossplay import CrossPlay, CrossPlayError
from agents.figures import Tally, deals_needed, report, report_tally
from agents.results import Results
from agents.simple import Simple
from ginenv import actions, replay
from ginenv.rules import Rules, preset

ROOT = Path(__file__).parent.parent
KINDS = [
    ("classic", "hand", 1),
    ("classic", "game", 1),
    ("partnership", "hand", 1),
    ("partnership", "match", 3),
    ("cutthroat", "hand", 1),
    ("cutthroat", "game", 1),
]


class Slow(Simple):
    """Does not knock before the eighth discard."""

    def act(self, view, legal, generator):  # type: ignore[no-untyped-def]
        chosen = super().act(view, legal, generator)
        waits = (chosen >= actions.KNOCK) & (chosen < actions.STOCK) & (view.turn < 8)
        return chosen - np.where(waits, actions.KNOCK, 0)


class Rude(Simple):
    """Says something illegal now and then."""

    def act(self, view, legal, generator):  # type: ignore[no-untyped-def]
        chosen = super().act(view, legal, generator)
        return np.where(generator.random(len(chosen)) < 0.1, -1, chosen)


class Stopped(Simple):
    """Somebody presses Ctrl-C at the n-th question."""

    def __init__(self, questions: int) -> None:
        self.questions = questions

    def act(self, view, legal, generator):  # type: ignore[no-untyped-def]
        self.questions -= 1
        if self.questions < 0:
            raise KeyboardInterrupt
        return super().act(view, legal, generator)


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Four deals each; the panel is simple, slow and rude."""
    monkeypatch.setattr(crossplay, "EPISODES_A_BATCH", 8)
    for name in [name for name in agents.AGENTS if name not in ("random", "simple")]:
        monkeypatch.delitem(agents.AGENTS, name)
    monkeypatch.setitem(agents.AGENTS, "slow", Slow)
    monkeypatch.setitem(agents.AGENTS, "rude", Rude)
    monkeypatch.setattr(agents, "POLICIES", {})
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.chdir(tmp_path)


def results(name: str, episode: str, best_of: int, deals: int = 12) -> Results:
    rules = preset(name, best_of=best_of, target=40, tie="draw")
    players = [Rude(), Slow(), Simple()][: rules.num_sides]
    generators = (np.random.default_rng(0), np.random.default_rng(1))
    return arena.play(rules, players, deals, *generators, episode=episode)


def run(*args: object, status: int = 0) -> None:
    assert evaluate.main([*map(str, args)]) == status


def held(path: str = "o.json") -> Any:
    return json.loads(Path(path).read_text())


def tallies(path: str = "o.json") -> dict[tuple[str, ...], dict[str, Any]]:
    """Without the time that it took, by names."""
    made = held(path)
    return {
        tuple(c[x] for x in "abc" if x in c): {**c["tally"], "seconds": 0}
        for c in made.get("pairs", made.get("triples"))
    }


# Tallies.


def part(whole: Results, start: int, stop: int) -> Results:
    """Some of the deals; illegal choices count to the first."""
    rows = slice(start * whole.plays, stop * whole.plays)
    of = (whole.hands.episode // whole.plays >= start) & (whole.hands.episode // whole.plays < stop)
    hands = whole.hands.take(of)
    return dataclasses.replace(
        whole,
        winner=whole.winner[rows],
        unfinished=whole.unfinished[rows],
        settlement=whole.settlement[rows],
        games=whole.games[rows],
        illegal=whole.illegal * (start == 0),
        hands=dataclasses.replace(hands, episode=hands.episode - start * whole.plays),
    )


@pytest.mark.parametrize(("name", "episode", "best_of"), KINDS)
def test_tallies_add_up_to_that_of_the_whole(name: str, episode: str, best_of: int) -> None:
    whole = results(name, episode, best_of)
    tally = Tally.of(whole, 6.0)
    parts = [Tally.of(part(whole, *ends), 2.0) for ends in ((0, 3), (3, 4), (4, 12))]
    assert parts[0] + parts[1] + parts[2] == tally
    assert parts[2] + (parts[1] + parts[0]) == tally
    assert Tally.from_dict(json.loads(json.dumps(tally.to_dict()))) == tally
    names = "abc"[: len(whole.illegal)]
    assert report_tally(names, tally) == report(names, whole, 6.0)
    with pytest.raises(ValueError, match="different kinds"):
        tally + dataclasses.replace(tally, plays=5)


def interval(mean: float, error: float, samples: int) -> dict[str, float]:
    half = stats.t.ppf(0.975, samples - 1) * error
    return {"mean": mean, "low": mean - half, "high": mean + half}


@pytest.mark.parametrize(("name", "episode", "best_of"), KINDS)
def test_figures_of_a_tally_are_those_of_the_samples(name: str, episode: str, best_of: int) -> None:
    """The formulas on arrays of deals, none of which a tally keeps."""
    whole = results(name, episode, best_of)
    deals, hands = whole.deals, whole.hands
    made = report("abc"[: len(whole.illegal)], whole, 1.0)
    for agent, letter in enumerate("abc"[: len(whole.illegal)]):
        if len(whole.illegal) == 2 and agent:
            continue
        own = {
            figure: made[figure] if len(whole.illegal) == 2 else made[figure][letter]
            for figure in ("points_per_hand", "win_rate", "settlement")
            if figure in made
        }
        gains = whole.hands_by_deal(hands.gains(agent))
        counts = whole.hands_by_deal(hands.played_by(agent))
        ratio = gains.sum() / counts.sum()
        error = (gains - ratio * counts).std(ddof=1) / deals**0.5 / counts.mean()
        assert own["points_per_hand"] == pytest.approx(interval(ratio, error, deals), rel=1e-12)
        scores = whole.by_deal(whole.scores(agent))
        if episode == "hand" and whole.tables == 1:
            scores = whole.hands_by_deal(hands.winner == agent) / counts
        mean, variance, z = scores.mean(), scores.var(ddof=1) / deals, stats.norm.ppf(0.975)
        n = mean * (1 - mean) / variance
        centre = (mean + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * (mean * (1 - mean) / n + (z / (2 * n)) ** 2) ** 0.5
        assert own["win_rate"] == pytest.approx(
            {"mean": mean, "low": centre - half, "high": centre + half}, rel=1e-12
        )
        if "settlement" in own:
            paid = whole.by_deal(whole.settlement[:, agent])
            spread = paid.std(ddof=1) / deals**0.5
            assert own["settlement"] == pytest.approx(
                interval(paid.mean(), spread, deals), rel=1e-12
            )


def coins(**deals: int) -> Tally:
    """Deals of two games each, by the first agent's wins."""
    scores = {{"none": "0 4", "one": "2 2", "both": "4 0"}[wins]: n for wins, n in deals.items()}
    return dataclasses.replace(Tally.of(results("classic", "game", 1, 2), 1.0), scores=scores)


def test_as_many_deals_as_are_needed_find_a_difference_four_times_in_five() -> None:
    fair = deals_needed(coins(none=25_000, one=50_000, both=25_000))
    assert fair == pytest.approx(2.8016**2 * 0.125 / 0.01**2, rel=1e-3)
    rng = np.random.default_rng(0)
    found = rng.binomial(2 * fair, 0.51, 4000) / (2 * fair) - 0.5
    told = np.abs(found) > 1.96 * (0.125 / fair) ** 0.5
    assert told.mean() == pytest.approx(0.8, abs=0.02)
    # The same games, so far apart that most deals are alike, tell the same of even ones.
    assert deals_needed(coins(none=25, one=950, both=9025)) == pytest.approx(fair, rel=0.02)
    # Deals whose two games pull against each other take fewer.
    assert deals_needed(coins(none=5, one=90, both=5)) < fair / 4
    assert deals_needed(coins(both=100)) is None


# What is played.


def test_every_pair_has_the_same_decks_and_every_batch_its_own() -> None:
    rules = Rules()
    play = CrossPlay(rules, "hand", 3)
    places = play.enter(["simple", "slow", "random"])
    contests = play.contests(places)
    assert contests == [(0, 1), (0, 2), (1, 2)]
    assert play.plan(contests, 10, None, "")
    assert play.batches == [4, 4, 2]
    decks: dict[Any, list[Any]] = {}
    for contest in contests:
        players = [agents.load(name, rules) for name in play.names(contest)]
        while play.missing(contest):
            kept: list[Any] = []
            first = play.deals(contest)
            play.play(contest, players, recorder=lambda _, games, kept=kept: kept.append(games))
            decks[contest, first] = [games[0][0].deck for games in kept]
    for first in (0, 4, 8):
        assert decks[(0, 1), first] == decks[(0, 2), first] == decks[(1, 2), first]
    assert len({deck for first in (0, 4, 8) for deck in decks[(0, 1), first]}) == 10
    # The first batch is what arena.compare plays.
    compared: list[Any] = []
    arena.compare(
        rules, "ab", [Simple(), Slow()], 4, 3, recorder=lambda _, games: compared.append(games)
    )
    assert [games[0][0].deck for games in compared] == decks[(0, 1), 0]


def test_a_run_in_two_calls_is_a_run_in_one() -> None:
    run("simple", "slow", "rude", "--deals", 8, "--json", "one.json")
    for _ in range(2):
        run("simple", "slow", "rude", "--deals", 4, "--json", "two.json")
    assert tallies("one.json") == tallies("two.json")
    assert all(sum(tally["scores"].values()) == 8 for tally in tallies("two.json").values())
    assert held("one.json")["ratings"] == held("two.json")["ratings"]
    assert len(held("two.json")["commands"]) == 2


@pytest.mark.parametrize("questions", [1, 40, 70])
def test_a_run_that_is_cut_short_is_completed(
    questions: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ("simple", "slow", "rude", "--deals", 8, "--replays", "o.jsonl", "--json")
    run(*args, "whole.json")
    with monkeypatch.context() as patch:
        patch.setitem(agents.AGENTS, "slow", lambda: Stopped(questions))
        capsys.readouterr()
        run(*args, "o.json", status=130)
        told = capsys.readouterr()
    assert told.err == "evaluate.py: stopped; the same command goes on from o.json\n"
    assert "wins" not in told.out
    before = tallies()
    begun = {names: sum(tally["scores"].values()) for names, tally in before.items()}
    assert set(begun.values()) <= {4, 8}
    assert len(list(replay.read("o.jsonl"))) == 2 * sum(begun.values())
    assert begun != dict.fromkeys([("simple", "slow"), ("simple", "rude"), ("slow", "rude")], 8)
    run(*args, "o.json")
    after, whole = tallies(), tallies("whole.json")
    assert after.keys() == whole.keys()
    # Stopped plays as Simple does: what slow had not begun is as if nothing had been.
    untouched = [names for names in whole if "slow" not in names or names not in before]
    assert untouched
    assert all(after[names] == whole[names] for names in untouched)
    assert all(sum(tally["scores"].values()) == 8 for tally in after.values())
    assert len(held()["commands"]) == 1


def test_without_a_file_nothing_is_left_of_a_run_that_is_cut_short(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(agents.AGENTS, "slow", lambda: Stopped(3))
    run("simple", "slow", "--deals", 4, status=130)
    assert capsys.readouterr().err == "evaluate.py: stopped; nothing kept\n"


def test_a_plan_of_which_nothing_was_played_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(agents.AGENTS, "slow", lambda: Stopped(3))
        run("simple", "slow", "--deals", 4000, "--json", "o.json", status=130)
    run("simple", "slow", "--deals", 2, "--json", "o.json")
    assert held()["batches"] == [2]
    assert len(held()["commands"]) == 1


def test_a_new_agent_catches_up_and_then_all_get_more(capsys: pytest.CaptureFixture[str]) -> None:
    run("simple", "slow", "--deals", 6, "--json", "o.json")
    before = tallies()
    run("random", "all", "--deals", 4, "--json", "o.json")
    assert "o.json: 5 of 6 lack some of 6 deals, and get those first" in capsys.readouterr().out
    assert [agent["name"] for agent in held()["agents"]] == ["simple", "slow", "random", "rude"]
    assert held()["batches"] == [4, 2]
    assert tallies()["simple", "slow"] == before["simple", "slow"]
    assert len(tallies()) == 6
    run("slow", "rude", "--deals", 4, "--json", "o.json")
    assert "o.json: 4 more deals after 6" in capsys.readouterr().out
    deals = {names: sum(tally["scores"].values()) for names, tally in tallies().items()}
    assert deals.pop(("slow", "rude")) == 10
    assert set(deals.values()) == {6}


def test_all_is_the_panel_without_random() -> None:
    assert crossplay.expand(["all"]) == ["simple", "slow", "rude"]
    assert crossplay.expand(["random", "all", "x.safetensors", "slow"]) == [
        "random", "simple", "rude", "x.safetensors", "slow",
    ]  # fmt: skip
    assert crossplay.expand(["all", "all"]) == ["simple", "slow", "rude"]
    assert crossplay.expand(["slow", "slow"]) == ["slow", "slow"]


def test_a_named_policy_is_of_the_panel_and_told_apart_by_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that began with another policy of that name is not gone on with."""
    file = tmp_path / "best.safetensors"
    monkeypatch.setattr(agents, "POLICIES", {"best": file})
    assert crossplay.expand(["all"])[-1] == "best"
    file.write_bytes(b"one")
    before = crossplay.fingerprint("best")
    file.write_bytes(b"two")
    assert before is not None
    assert before != crossplay.fingerprint("best")
    assert crossplay.fingerprint("simple") is None


def test_an_agent_that_is_named_twice_is_two() -> None:
    run("simple", "slow", "simple", "--deals", 4, "--json", "o.json")
    assert list(held()["ratings"]) == sorted(
        ["simple", "slow", "simple #2"], key=lambda label: -held()["ratings"][label]["elo"]
    )
    assert [pair["players"] for pair in held()["pairs"]] == [[0, 1], [0, 2], [1, 2]]
    run("simple", "simple", "slow", "--deals", 4, "--json", "o.json")
    assert [pair["deals"] for pair in held()["pairs"]] == [8, 8, 8]


def test_three_play_every_three(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossplay, "EPISODES_A_BATCH", 12)
    args = ("simple", "slow", "rude", "random", "--rules", "cutthroat", "--deals", 2)
    for deals in (2, 4):
        run(*args, "--json", "o.json", "--markdown", "o.md")
        assert [triple["deals"] for triple in held()["triples"]] == [deals] * 4
    assert "ratings" not in held()
    assert "| 4. C random |" in Path("o.md").read_text()
    assert "each six times" in Path("o.md").read_text()


# Until.


def half_width(pair: dict[str, Any]) -> float:
    """Of its points a hand."""
    points = pair["points_per_hand"]
    return float(points["high"] - points["low"]) / 2


def test_a_pair_stops_when_its_interval_is_narrow_enough(
    capsys: pytest.CaptureFixture[str],
) -> None:
    args = ("simple", "slow", "random", "--json", "o.json", "--until")
    run(*args, 1000, "--deals", 12)
    assert [pair["deals"] for pair in held()["pairs"]] == [4, 4, 4]
    assert sum(held()["batches"]) == 12
    capsys.readouterr()
    run(*args, 1000, "--deals", 12)
    assert "all is played, and no interval is wider than asked" in capsys.readouterr().out
    assert (sum(held()["batches"]), len(held()["commands"])) == (12, 1)
    # Of three pairs the one with the narrowest interval is not played on.
    narrow = min(map(half_width, held()["pairs"])) * 1.0001
    stops = [half_width(pair) <= narrow for pair in held()["pairs"]]
    run(*args, narrow, "--deals", 12)
    for stopped, pair in zip(stops, held()["pairs"], strict=True):
        assert (pair["deals"] == 4) == stopped
        assert half_width(pair) <= narrow or pair["deals"] == 12
    run(*args, 0.001, "--deals", 12)
    assert [pair["deals"] for pair in held()["pairs"]] == [12, 12, 12]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--until", "0"], "until=0.0: must be greater than 0"),
        (["--until", "-1"], "until"),
        (["--until", ".nan"], "until=nan: must be greater than 0"),
        (["--until", "narrow"], "until"),
        (["--json", "o", "--markdown", "./o"], "json and markdown are the same file, ./o"),
        (["--markdown", "nowhere/o.md"], "markdown=nowhere/o.md: there is no folder"),
        (["--markdown", "."], "markdown=.: is a folder"),
    ],
)
def test_what_can_not_be_is_refused_by_name(
    args: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run("simple", "random", *args)
    assert ended.value.code == 2
    assert told in capsys.readouterr().err
    assert not list(Path().iterdir())


# Files.


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--seed", "1"], "seed=0, not 1"),
        (["--episode", "game"], "episode='hand', not 'game'"),
        (["--rule_fields", "{knock_limit: 5}"], "knock_limit=10, not 5"),
        (["--rules", "hollywood"], "score_sheet='single', not 'hollywood'"),
        (["--rules", "straight", "--seed", "2"], "knock_limit=10, not 0; seed=0, not 2"),
    ],
)
def test_a_file_of_other_settings_is_refused(
    args: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run("simple", "slow", "--deals", 2, "--json", "o.json")
    before = Path("o.json").read_bytes()
    capsys.readouterr()
    run("simple", "slow", "--deals", 2, "--json", "o.json", *args, status=2)
    assert capsys.readouterr().err == (
        f"evaluate.py: error: o.json: made with {told}; name another file\n"
    )
    assert Path("o.json").read_bytes() == before


def test_a_policy_file_that_has_changed_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    load = agents.load
    monkeypatch.setattr(
        agents, "load", lambda name, rules: Slow() if "." in name else load(name, rules)
    )
    Path("p.safetensors").write_bytes(b"one")
    args = ("simple", "p.safetensors", "--deals", 2, "--json", "o.json")
    run(*args)
    one, two = (hashlib.sha256(content).hexdigest() for content in (b"one", b"two"))
    assert held()["agents"][1] == {"name": "p.safetensors", "sha256": one}
    Path("p.safetensors").write_bytes(b"two")
    before = Path("o.json").read_bytes()
    capsys.readouterr()
    run(*args, status=2)
    assert capsys.readouterr().err == (
        "evaluate.py: error: o.json: p.safetensors has changed since it played: its sha256 was "
        f"{one}, now it is {two}; name another file\n"
    )
    assert Path("o.json").read_bytes() == before
    # Others can go on without it.
    run("simple", "slow", "--deals", 2, "--json", "o.json")
    Path("p.safetensors").write_bytes(b"one")
    run(*args)
    assert [pair["deals"] for pair in held()["pairs"]] == [4, 2]


def test_a_file_that_never_played_may_change() -> None:
    play = CrossPlay(Rules(), "hand", 0)
    Path("p.py").write_text("1")
    play.enter(["simple", "cmd:python3 p.py"])
    Path("p.py").write_text("2")
    play.enter(["simple", "cmd:python3 p.py"])
    assert play.entries[1].sha256 == hashlib.sha256(b"2").hexdigest()
    play.tallies[0, 1] = coins(one=4)
    Path("p.py").write_text("3")
    with pytest.raises(CrossPlayError, match=r"cmd:python3 p.py has changed since it played"):
        play.enter(["cmd:python3 p.py"])


def broken(made: Any) -> Iterator[tuple[bytes, str]]:
    """Files that are none of ours, or no longer."""
    yield b"", "can't be read as JSON"
    yield b"[]", "format is None, not 'ginenv-crossplay/1'"
    yield b'{"rules": {}, "pairs": []}', "format is None"
    for field in ("rules", "episode", "agents", "batches", "pairs"):
        yield json.dumps({k: v for k, v in made.items() if k != field}).encode(), "damaged"
    for field, value in (
        ("rules", {"knock_limit": 99}), ("episode", "round"), ("batches", [3]), ("batches", [-2]),
        ("agents", []), ("agents", [1]), ("pairs", [1]),
        ("pairs", [{**made["pairs"][0], "players": [1, 0]}]),
        ("pairs", [{**made["pairs"][0], "tally": {}}]),
        ("pairs", [{**made["pairs"][0], "tally": {**made["pairs"][0]["tally"], "scores": {}}}]),
    ):  # fmt: skip
        yield json.dumps({**made, field: value}).encode(), "damaged"


def test_a_file_that_is_none_of_ours_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    args = ("simple", "slow", "--deals", 2, "--json", "o.json")
    run(*args)
    for content, told in broken(held()):
        Path("o.json").write_bytes(content)
        capsys.readouterr()
        run(*args, status=2)
        error = capsys.readouterr().err
        assert error.startswith(f"evaluate.py: error: o.json: {told}"), error
        assert error.count("\n") == 1
        assert Path("o.json").read_bytes() == content


def test_a_real_interrupt_loses_one_batch_at_most(tmp_path: Path) -> None:
    command = [
        sys.executable, str(ROOT / "evaluate.py"), "random", "random", "--deals", "10_000_000",
        "--json", "o.json",
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for sent, status in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
        process = subprocess.Popen(
            command,
            cwd=tmp_path,
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
            # Who starts the tests in the background may have them ignore it.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        before = held()["pairs"][0]["deals"] if Path("o.json").exists() else 0
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            pairs = held()["pairs"] if Path("o.json").exists() else []
            if pairs and pairs[0]["deals"] > before:
                break
            time.sleep(0.05)
        process.send_signal(sent)
        error = process.communicate(timeout=60)[1]
        assert process.returncode == status
        assert error.count("\n") == (sent == signal.SIGINT)
        assert held()["pairs"][0]["deals"] >= before + 2048
        assert held()["pairs"][0]["deals"] % 2048 == 0


# What is told.


def test_the_json_of_a_panel() -> None:
    run("all", "random", "--deals", 4, "--episode", "game", "--json", "o.json")
    made = held()
    assert list(made) == [
        "format", "commands", "rules", "episode", "seed", "agents", "batches", "pairs",
        "anchor", "ratings", "by_agent",
    ]  # fmt: skip
    assert made["format"] == "ginenv-crossplay/1"
    assert Rules(**made["rules"]) == Rules()
    labels = ["simple", "slow", "rude", "random"]
    pairs = [tuple(pair["players"]) for pair in made["pairs"]]
    assert pairs == list(itertools.combinations(range(4), 2))
    for pair in made["pairs"]:
        assert [pair["a"], pair["b"]] == [labels[place] for place in pair["players"]]
        assert (pair["deals"], pair["games"]) == (4, 8)
        tally = Tally.from_dict(pair["tally"])
        told = {**report_tally((pair["a"], pair["b"]), tally), "deals_needed": pair["deals_needed"]}
        assert {**told, "players": pair["players"], "tally": pair["tally"]} == pair
    assert made["anchor"] == "simple"
    ratings = made["ratings"]
    assert ratings["simple"] == {"elo": 1000, "low": 1000, "high": 1000}
    assert list(ratings)[-1] == "random"
    assert [r["elo"] for r in ratings.values()] == sorted(
        (r["elo"] for r in ratings.values()), reverse=True
    )
    for label, place in zip(labels, range(4), strict=True):
        of = made["by_agent"][label]
        own = [
            pair["tally"]["agents"][pair["players"].index(place)]
            for pair in made["pairs"]
            if place in pair["players"]
        ]
        assert of["hands"] == sum(counts["hands"] for counts in own)
        assert of["illegal"] == sum(counts["illegal"] for counts in own)
        assert of["gin"] == sum(counts["ended"].get("gin", 0) for counts in own) / of["hands"]
        assert (of["illegal"] > 0) == (label == "rude")
        assert of["forfeits"] == 0
        undercut = sum(counts["lost"].get("undercut", 0) for counts in own)
        assert of["undercut_suffered"] == undercut / of["hands"]


def table(text: str, title: str) -> list[list[str]]:
    """The cells of the Markdown table under this title."""
    lines = text.split(f"**{title}")[1].split("\n\n")[1].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_tables_of_a_panel(capsys: pytest.CaptureFixture[str]) -> None:
    args = [
        "all", "random", "--deals", "4", "--episode", "game", "--rule_fields", "{target: 60}",
        "--json", "o.json", "--markdown", "o.md",
    ]  # fmt: skip
    run(*args)
    printed, text, made = capsys.readouterr().out, Path("o.md").read_text(), held()
    assert "    python evaluate.py all random --deals 4 --episode game --rule_fields" in text
    assert "Rules: `classic` with `target=60`. Episode: game. Seed: 0." in text
    assert "4 deals of every pair, each twice, seats swapped" in text
    ranks = {label: rank for rank, label in enumerate(made["ratings"], start=1)}
    wins = table(text, "Games won in %, row v column")
    points = table(text, "Points a hand, row v column")
    assert wins[0] == points[0] == ["", "1", "2", "3", "4"]
    names = [f"{rank}. {label}" for label, rank in ranks.items()]
    assert [row[0] for row in wins[2:]] == [row[0] for row in points[2:]] == names
    for pair in made["pairs"]:
        a, b = ranks[pair["a"]], ranks[pair["b"]]
        won, gained = pair["win_rate"], pair["points_per_hand"]
        half = 50 * (won["high"] - won["low"])
        assert wins[1 + a][b] == f"{100 * won['mean']:.1f} ±{half:.1f}"
        assert wins[1 + b][a] == f"{100 - 100 * won['mean']:.1f} ±{half:.1f}"
        half = gained["high"] - gained["mean"]
        assert points[1 + a][b] == f"{gained['mean']:+.2f} ±{half:.2f}"
        assert points[1 + b][a] == f"{-gained['mean']:+.2f} ±{half:.2f}"
    assert all(wins[1 + rank][rank] == "" for rank in ranks.values())
    elo = table(text, "Elo by Bradley-Terry, simple = 1000")
    assert [row[0] for row in elo[2:]] == names
    assert elo[1 + ranks["simple"]][1:] == ["1000", ""]
    rates = table(text, "Of each agent")
    assert rates[0] == [
        "", "gin", "knock", "deadwood", "undercuts made", "suffered", "turns", "illegal",
        "hands a game", "games/s",
    ]  # fmt: skip
    assert int(rates[1 + ranks["rude"]][7]) == made["by_agent"]["rude"]["illegal"] > 0
    assert "Telling 51 % from 50 % takes about" in text
    for told in ("Games won in %", "Elo by Bradley-Terry, simple = 1000", *names, "Telling 51 %"):
        assert told in printed
    assert [path.name for path in sorted(Path().iterdir())] == ["o.json", "o.md"]


def test_without_simple_the_first_agent_is_the_anchor() -> None:
    run("random", "slow", "rude", "--deals", 4, "--markdown", "o.md", "--json", "o.json")
    assert held()["anchor"] == "random"
    assert held()["ratings"]["random"]["elo"] == 1000
    assert "Elo by Bradley-Terry, random = 1000" in Path("o.md").read_text()


def test_two_agents_have_the_tables_of_a_pair(capsys: pytest.CaptureFixture[str]) -> None:
    run("rude", "slow", "--deals", 6, "--json", "o.json", "--markdown", "o.md")
    assert "ratings" not in held()
    text = Path("o.md").read_text()
    assert text.startswith("# rude v slow\n")
    (pair,) = held()["pairs"]
    row = table(text, "Each deal twice, seats swapped")[2]
    assert row[:3] == ["1. rude", "slow", "12"]
    assert row[3].startswith(f"{pair['points_per_hand']['mean']:+.2f} ±")
    rates = table(text, "Of A / of B")
    assert rates[0] == ["", "gin", "knock", "undercut made", "dead", "turns", "illegal", "hands/s"]
    assert rates[2][6] == f"{pair['illegal']['a']} / 0"
    assert pair["illegal"]["a"] > 0
    assert "Of A / of B, in % of all hands" in capsys.readouterr().out


def test_who_was_never_met_is_not_rated() -> None:
    run("simple", "slow", "--deals", 2, "--json", "o.json")
    run("random", "rude", "--deals", 2, "--json", "o.json", "--markdown", "o.md")
    assert set(held()["ratings"]) == {"simple", "slow"}
    text = Path("o.md").read_text()
    assert table(text, "Elo by")[-1] == ["4. rude", "-", ""]
    assert table(text, "Hands won in %")[2][3:] == ["", ""]


def test_forfeits_have_a_column_where_there_are_any() -> None:
    play = CrossPlay(Rules(), "game", 0)
    play.enter(["simple", "a | b", "slow"])
    tally = coins(none=2, one=5, both=9)
    counts = dataclasses.replace(tally.agents[1], lost={"knock": 1, "forfeit": 3})
    tally = dataclasses.replace(tally, agents=[tally.agents[0], counts])
    play.batches, play.tallies = [16], {(0, 1): tally, (0, 2): tally, (1, 2): tally}
    text = tables.markdown(tables.page(play, crossplay.summary(play)), "t", [])
    assert table(text, "Of each agent")[0][8] == "forfeits"
    forfeits = {row[0][3:]: row[8] for row in table(text.replace("\\|", "/"), "Of each agent")[2:]}
    assert forfeits == {"simple": "0", "a / b": "3", "slow": "6"}
    assert play.reports()[0]["forfeits"] == {"a": 0, "b": 3}
    assert "forfeits" not in tables.markdown(
        tables.page(dataclasses.replace(play, tallies={(0, 1): coins(one=4, both=2)}), {}), "t", []
    )


def test_games_that_did_not_end_are_told_by_pair() -> None:
    play = CrossPlay(Rules(), "game", 0)
    play.enter(["simple", "slow", "rude"])
    tally = coins(none=2, one=5, both=9)
    play.tallies = {(0, 1): tally, (1, 2): dataclasses.replace(tally, unfinished=3)}
    (note,) = [
        part
        for part in tables.page(play, crossplay.summary(play))
        if isinstance(part, str) and "not finished" in part
    ]
    assert note.startswith("slow v rude: 3 of ")
