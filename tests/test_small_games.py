"""Small decks written out through the engine: perfect recall, what agents do there, and learning.

What happens in the trees is counted by ``benchmarks/small_games.py``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import yaml

import agents
import agents.ppo
import evaluate
import train
from agents import arena, exploitability, small, tree
from agents.policy import Policy
from agents.ppo import Trainer
from agents.ppo_config import NetworkConfig, PPOConfig
from agents.selfplay import Look, SelfPlay
from agents.small import SmallGame
from ginenv import actions, engine, observation
from ginenv.rules import Rules, preset

CONFIGS = Path(__file__).parent.parent / "configs"
GAMES = ("small_a", "small_b", "small_c", "small_d")
TINY = {"num_ranks": 4, "num_suits": 2, "hand_size": 3, "stock_floor": 0, "turn_limit": 2}
BONUSES = {"knock_limit": 5, "gin_bonus": 5, "undercut_bonus": 5}


def rules_of(name: str) -> Rules:
    settings = yaml.safe_load((CONFIGS / f"{name}.yaml").read_text())
    return preset(settings["rules"], **settings["rule_fields"])


@pytest.fixture(scope="module")
def tiny() -> SmallGame:
    return small.build(preset("classic", **TINY, **BONUSES))


def test_information_sets_are_what_a_player_has_noticed() -> None:
    """The same tree by the plain definition: one hand after another, histories as tuples."""
    rules = preset("classic", **TINY, knock_limit=5)
    found: dict[object, set[tuple[int, ...]]] = defaultdict(set)
    nodes = 0

    def walk(state: engine.State, told: tuple[tuple[object, ...], ...]) -> None:
        nonlocal nodes
        nodes += 1
        if state.over[0]:
            return
        mover = int(state.mover[0])
        legal = np.flatnonzero(actions.unpack(actions.words(engine.legal(state)))[0])
        found[mover, told[mover]].add(tuple(legal.tolist()))
        for action in legal.tolist():
            after = state.copy()
            engine.step(after, np.array([action]))
            card = int(after.drawn[0])
            parts = []
            for seat in (0, 1):
                own = (action, card) if action == actions.STOCK and seat == mover else (action,)
                parts.append((*told[seat], own))
            walk(after, tuple(parts))

    decks = small.deals(rules)[::40]
    for deck in decks:
        state = engine.deal(rules, deck[None], np.array([1]))
        hands = [int(hand) for hand in state.hands[0]]
        walk(state, ((hands[0], int(state.top[0])), (hands[1], int(state.top[0]))))
    whole = small.build(rules)
    assert all(len(legal) == 1 for legal in found.values())
    assert nodes < whole.tree.nodes
    every = _sets_reached(whole, np.arange(len(whole.tree.deals)) % 40 == 0)
    assert every == (nodes, len(found), sum(len(next(iter(x))) for x in found.values()))


def _sets_reached(game: SmallGame, dealt: np.ndarray) -> tuple[int, int, int]:
    """Nodes, information sets and choices below some deals."""
    nodes, choices = int(dealt.sum()), []
    for level in game.tree.levels:
        edges = dealt[level.parent].nonzero()[0]
        choices.append(level.choice[edges])
        dealt = dealt[level.parent]
        nodes += int(dealt.sum())
    some = np.unique(np.concatenate(choices))
    return nodes, len(np.unique(game.tree.set_of[some])), len(some)


def test_deals_are_all_and_alike() -> None:
    """8 cards: C(8,3) x C(5,3) pairs of hands, two cards left to be the upcard."""
    decks = small.deals(preset("classic", **TINY))
    assert len(decks) == 56 * 10 * 2
    assert len(np.unique(decks, axis=0)) == len(decks)
    assert (np.sort(decks, axis=1) == np.sort(decks[0])).all()


def test_who_deals_makes_no_difference_but_for_the_seat(tiny: SmallGame) -> None:
    """Exploitability where the deal is cut: each dealer's tree has the other's figures."""
    other = small.build(tiny.rules, dealer=0)
    for name in ("random", "simple", "expert"):
        agent = agents.load(name, tiny.rules)
        ours, theirs = (
            tree.exploitability(game.tree, game.strategy(agent)) for game in (tiny, other)
        )
        assert theirs.responses == pytest.approx(ours.responses[::-1])
        assert theirs.value == pytest.approx(-ours.value)


@pytest.mark.parametrize("name", ["random", "simple"])
def test_an_agent_acts_as_its_probabilities_say(name: str, tiny: SmallGame) -> None:
    agent = agents.load(name, tiny.rules)
    said = agents.probabilities(agent, tiny.view, tiny.legal)
    rng = np.random.default_rng(0)
    plays = 400
    counts = np.zeros_like(said)
    lanes = np.arange(len(said))
    for _ in range(plays):
        counts[lanes, agent.act(tiny.view, tiny.legal, rng)] += 1
    assert (counts[said == 0] == 0).all()
    np.testing.assert_allclose(said.sum(axis=1), 1)
    # Standard errors of so many plays are at most 1/40; over some 10,000 entries none is 6 away.
    assert np.abs(counts / plays - said).max() < 6 / 40


def test_the_arena_and_the_tree_agree(tiny: SmallGame) -> None:
    """What simple wins from itself as non-dealer, and random from itself."""
    rules = preset("classic", **{**tiny.rules.to_dict(), "first_dealer": 1})
    for name in ("random", "simple"):
        agent = agents.load(name, rules)
        exact = tree.value(tiny.tree, tiny.strategy(agent))
        decks, choices = np.random.default_rng(1), np.random.default_rng(2)
        results = arena.play(rules, [agent, agent], 20_000, decks, choices)
        # Each deal is played twice; the first play has agent 0 as player 0.
        won = results.settlement[::2, 0]
        assert won.mean() == pytest.approx(exact, abs=4 * won.std() / len(won) ** 0.5)


def test_a_best_response_wins_in_play_what_the_tree_says(tiny: SmallGame) -> None:
    """Follow its choices from every deal: the mean of the payoffs is its value."""
    strategy = tiny.strategy(agents.load("simple", tiny.rules))
    told, best = tree.best_response(tiny.tree, strategy, 0)
    mixed = strategy.copy()
    mine = tiny.tree.set_player[tiny.tree.set_of] == 0
    mixed[mine] = 0
    mixed[best[best >= 0]] = 1
    assert tree.value(tiny.tree, mixed) == pytest.approx(told)
    assert told > tree.value(tiny.tree, strategy)


def test_an_agent_that_cannot_tell_its_probabilities_is_named(tiny: SmallGame) -> None:
    class Whim:
        def act(self, view: object, legal: object, generator: np.random.Generator) -> object:
            return generator.integers(0, 2, 5)

    with pytest.raises(agents.NoProbabilitiesError, match="Whim does not tell"):
        tiny.strategy(Whim())  # type: ignore[arg-type]


@pytest.mark.parametrize("name", GAMES)
def test_configs_of_small_games_can_be_written_out(name: str) -> None:
    assert 1_000 < len(small.deals(rules_of(name))) < 20_000
    files = [f"--config={CONFIGS / part}.yaml" for part in (name, "small")]
    config, _, _ = train.parse_args([*files, "--name=unused"])
    assert config.make_rules() == [rules_of(name)]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, "num_ranks=13, num_suits=4, hand_size=10: about 10"),
        ({"num_ranks": 4, "num_suits": 3, "hand_size": 4, "stock_floor": 0}, "num_ranks=4"),
    ],
)
def test_what_is_too_big_is_said_at_once(fields: dict[str, int], told: str) -> None:
    with pytest.raises(small.TooBigError, match=told):
        small.build(preset("classic", **fields))


def test_a_tree_that_grows_too_big_names_the_turn_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small, "MOST_NODES", 5_000)
    with pytest.raises(small.TooBigError, match="turn_limit=2"):
        small.build(preset("classic", **TINY))


def test_evaluate_tells_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exploitability, "SOLVER_ITERATIONS", 100)
    config = tmp_path / "tiny.yaml"
    config.write_text(yaml.safe_dump({"rule_fields": {**TINY, "knock_limit": 5}}))
    files = {name: str(tmp_path / f"out.{name}") for name in ("json", "markdown")}
    options = [f"--{name}={file}" for name, file in files.items()]
    assert evaluate.main(["random", "--exploitability", f"--config={config}", *options]) == 0
    assert "random" in capsys.readouterr().out
    figures = json.loads(Path(files["json"]).read_text())["agents"]
    assert [row["agent"] for row in figures] == ["random", "(CFR+)"]
    assert figures[0]["share_of_random"] == 1
    assert 0 < figures[1]["share_of_random"] < 0.01
    assert "| random |" in Path(files["markdown"]).read_text()


@pytest.mark.parametrize(
    ("extra", "told"),
    [
        (["--episode=game"], "episode='game'"),
        (["--rules=cutthroat"], "seating='cutthroat'"),
        ([], "num_ranks=13"),
    ],
)
def test_evaluate_says_what_is_wrong(
    extra: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate.main(["random", "--exploitability", *extra]) == 2
    assert told in capsys.readouterr().err


def test_evaluate_refuses_what_it_would_ignore(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        evaluate.main(["random", "--exploitability", "--replays=x.jsonl"])
    assert ended.value.code == 2
    assert "replays=x.jsonl" in capsys.readouterr().err


def learnt_share(game: SmallGame) -> float:
    """What is left of random play's exploitability after 131,072 decisions, 9 s of one core."""
    network = NetworkConfig(width=32, layers=1)
    config = PPOConfig(
        rules="classic", rule_fields={**TINY, **BONUSES}, episodes=["hand"], decisions=131_072,
        lanes=512, steps=16, minibatch=512, actor=network, critic=network, learning_rate=4e-3,
        reward_scale=5.0,
    )  # fmt: skip
    trainer = Trainer(config)
    while not trainer.done:
        trainer.iterate()
    found, uniform = (
        tree.exploitability(game.tree, strategy).mean
        for strategy in (game.strategy(Policy(trainer.magnet)), game.tree.uniform())
    )
    return found / uniform


LEARNT = 0.05
"""Of random play's exploitability: 2 to 3 % is what is left without a fault."""


@pytest.mark.slow
def test_the_learner_comes_near_an_equilibrium(tiny: SmallGame) -> None:
    assert learnt_share(tiny) < LEARNT


@pytest.mark.slow
def test_an_advantage_with_the_wrong_sign_is_found(
    tiny: SmallGame, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = agents.ppo.advantages
    monkeypatch.setattr(agents.ppo, "advantages", lambda *given: -right(*given))
    assert learnt_share(tiny) > 4 * LEARNT


@pytest.mark.slow
def test_a_hand_that_leaks_in_training_is_found(
    tiny: SmallGame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In training the other hand is where known cards of it should be; in play it is not."""
    look = SelfPlay.look

    def leaking(lanes: SelfPlay) -> Look:
        seen = look(lanes)
        seen.seen[:, observation.LAYOUT["opponent_known"]] = seen.hidden
        return seen

    monkeypatch.setattr(SelfPlay, "look", leaking)
    assert learnt_share(tiny) > 1.5 * LEARNT
