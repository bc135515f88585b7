"""Games worth watching: chosen from many, with what the players thought, for TensorBoard.

A thought is the chances of the likeliest actions, and what the hand is worth to the player on move
where a critic says so. The critic sees both hands: it judges what is shown afterwards, and no
player ever asks it.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import agents
from agents import Agent, arena
from ginenv import actions, engine, observation, play, replay, scoring
from ginenv.actions import Legal
from ginenv.play import Play
from ginenv.replay import Hand
from ginenv.rules import Rules

if TYPE_CHECKING:
    from agents.policy import Judge
    from ginenv.tensorboard.summary import Writer

SHOWN = 5
"""Actions of a thought."""
RARE = 0.005
"""Less likely ones are left out."""
REASONS = ("best", "worst", "undercut", "gin", "random")
"""What games are chosen for."""

Kept = tuple[tuple[str, ...], list[Hand]]
"""A game, or a hand or round played singly: the players' names, and its hands."""


# Thoughts.


def annotate(
    made: dict[str, Any], thinkers: Sequence[Agent | None], judge: Judge | None = None
) -> dict[str, Any]:
    """The record with the thoughts of those players who can tell how likely their actions are.

    ``thinkers``: by player, None for one whose thoughts are not wanted.
    """
    rules, hands = replay.parse(made)
    game = replay.Game(rules, hands[0])
    episode = "hand" if replay.is_single(rules, made) else "game"
    tables = rules.num_tables
    played: Play | None = None
    entries: list[tuple[dict[str, Any], list[dict[str, Any] | None]]] = []
    for start in range(0, len(hands), tables):
        together = hands[start : start + tables]
        if len(together) < tables:
            break  # of a round that was not finished
        decks = np.array([[hand.deck for hand in together]], np.uint8)
        if played is None:
            played = play.start(game.rules, episode, decks, game.sheet.dealer)
        else:
            play.deal(played, np.array([0]), decks, np.random.default_rng(0))
        thoughts = _round(played, together, thinkers, judge)
        entries += zip(made["hands"][start : start + tables], thoughts, strict=True)
    told = [{**entry, "policy": thought} for entry, thought in entries]
    return {**made, "hands": [*told, *made["hands"][len(told) :]]}


def _round(
    played: Play, hands: list[Hand], thinkers: Sequence[Agent | None], judge: Judge | None
) -> list[list[dict[str, Any] | None]]:
    """Play the hands of a round again; the thoughts before each action, by table."""
    thoughts: list[list[dict[str, Any] | None]] = [[] for _ in hands]
    while not played.waits[0]:
        table = int(played.table[0])
        hand, done = hands[table], thoughts[table]
        if len(done) == len(hand.actions):
            engine.forfeit(played.hands, played.on_move)
            play.step(played, np.array([engine.NO_ACTION]))
            continue
        thinker = thinkers[int(played.mover[0])]
        chosen = hand.actions[len(done)]
        done.append(None if thinker is None else _thought(played, thinker, chosen, judge))
        play.step(played, np.array([chosen]))
    return thoughts


def _thought(
    played: Play, thinker: Agent, chosen: int, judge: Judge | None
) -> dict[str, Any] | None:
    if not hasattr(thinker, "probabilities"):
        return None  # it plays its one choice
    state = play.hands_on_move(played)
    legal: Legal = engine.legal(state)
    chances = agents.probabilities(thinker, play.view(played, state), legal)[0]
    likely = np.argsort(-chances, kind="stable")[:SHOWN].tolist()
    shown = [action for action in likely if chances[action] >= RARE]
    if chosen not in shown:
        shown.append(chosen)
    top = [[actions.format(action), round(float(chances[action]), 3)] for action in shown]
    value = None
    if judge is not None:
        hidden = state.hands[np.array([0]), 1 - state.mover]
        value = round(float(judge.points(observation.view(state), hidden)[0]), 1)
    return {"top": top, "value": value}


# Choosing.


def choose(rules: Rules, kept: Sequence[Kept], name: str, seed: int) -> dict[str, int]:
    """Which games to watch of the player of that name: places in ``kept`` by REASONS.

    Best and worst by his points less those of his opponents; undercut and gin are left out where
    there was none.
    """
    results = _results(rules, [hand for _, hands in kept for hand in hands])
    ends = np.cumsum([len(hands) for _, hands in kept])
    gains, kinds = [], []
    for (players, hands), end in zip(kept, ends.tolist(), strict=True):
        here = results.take(np.arange(end - len(hands), end))
        gains.append(_gain(rules, players.index(name), hands, here))
        kinds.append(set(here.kind.tolist()))
    places = {"best": int(np.argmax(gains)), "worst": int(np.argmin(gains))}
    rng = np.random.default_rng(seed)
    for reason, kind in (("undercut", scoring.UNDERCUT), ("gin", scoring.GIN)):
        with_it = [place for place, found in enumerate(kinds) if kind in found]
        if with_it:
            places[reason] = int(rng.choice(with_it))
    return {**places, "random": int(rng.integers(len(kept)))}


def _results(rules: Rules, hands: Sequence[Hand]) -> engine.State:
    """All hands played to their ends, side by side."""
    decks = np.array([hand.deck for hand in hands], np.uint8)
    state = engine.deal(rules, decks, np.array([hand.dealer for hand in hands]))
    most = max(len(hand.actions) for hand in hands)
    chosen = np.full((most, len(hands)), engine.NO_ACTION)
    for lane, hand in enumerate(hands):
        chosen[: len(hand.actions), lane] = hand.actions
    for row in chosen:
        engine.step(state, row)
    engine.forfeit(state, np.flatnonzero([hand.forfeited for hand in hands]))
    return state


def _gain(rules: Rules, player: int, hands: Sequence[Hand], results: engine.State) -> int:
    """Points that a player's side scored in these hands, less those scored against it."""
    gain = 0
    for hand, winner, points in zip(hands, results.winner, results.points, strict=True):
        seats = [seat % rules.num_sides for seat in hand.seats or (0, 1)]
        side = player % rules.num_sides
        if winner >= 0 and side in seats:
            gain += int(points) if seats[winner] == side else -int(points)
    return gain


# Into a log.


def write(
    writer: Writer,
    name: str,
    made: dict[str, Any],
    players: dict[str, Agent],
    step: int,
    judge: Judge | None = None,
) -> None:
    """Write a game with the thoughts of its players (agents by their names) into a log."""
    from ginenv.tensorboard import summary

    thinkers = [players.get(player) for player in made["players"]]
    summary.add_game(writer, name, annotate(made, thinkers, judge), step)


def write_chosen(
    folder: str,
    rules: Rules,
    kept: Sequence[Kept],
    players: dict[str, Agent],
    name: str,
    game: bool,
    seed: int,
) -> str:
    """Write the games of the player of that name worth watching; a line that says how to look.

    ``players``: agents by their names in ``kept``; a policy file's critic judges what it plays.
    ``game``: whether these are games, not hands played singly. The step is the decisions that the
    policy was trained on, 0 of other players.
    """
    from ginenv.tensorboard import summary

    own = [each for each in kept if name in each[0]]
    if not own:
        return f"{folder}: nothing was played by {name} in this call, so there is nothing to watch"
    step, judge = 0, None
    if name.endswith(".safetensors"):
        from agents.policy import read_header

        step, judge = read_header(Path(name)).get("decisions", 0), judge_of(Path(name))
    called = _called(list(players))
    agents_called = {called[each]: agent for each, agent in players.items()}
    chosen = choose(rules, own, name, seed)
    with summary.log(folder) as log:
        for reason, place in chosen.items():
            names, hands = own[place]
            made = replay.record(rules, [called[player] for player in names], hands, game=game)
            write(log, reason, made, agents_called, step, judge)
    return (
        f"replays ({', '.join(chosen)}): tensorboard --logdir {shlex.quote(folder)}, then "
        "http://localhost:6006/#gin_rummy"
    )


def _called(names: list[str]) -> dict[str, str]:
    """What players are called: policy files by their folder, where that tells them apart."""
    short = {
        name: Path(name).resolve().parent.name if name.endswith(".safetensors") else name
        for name in names
    }
    return short if len(set(short.values())) == len(short) else dict(zip(names, names, strict=True))


def play_one(
    writer: Writer,
    rules: Rules,
    names: tuple[str, str],
    players: tuple[Agent, Agent],
    step: int,
    judge: Judge | None = None,
    seed: int = 0,
) -> None:
    """Play a hand of two players and write it as ``vs_`` and the second one's name.

    The same ``seed`` deals the same cards each time: so one sees what has been learned.
    """
    games: list[list[Hand]] = []

    def keep(seated: tuple[int, ...], played: list[list[Hand]]) -> None:
        if seated[0] == 0:
            games.extend(played)

    decks, choices = (np.random.default_rng(each) for each in arena.seeds(seed))
    arena.play(rules, players, 1, decks, choices, recorder=keep)
    made = replay.record(rules, names, games[0])
    write(writer, f"vs_{names[1]}", made, dict(zip(names, players, strict=True)), step, judge)


def judge_of(path: Path) -> Judge | None:
    """The critic in a policy file, if there is one that knows what points are worth.

    (Of games alone it knows the chance to win.) Raises agents.policy.PolicyFileError for a damaged
    file.
    """
    from agents.policy import Judge, load_critic, read_header

    if "hand" not in read_header(path).get("episodes", ["hand"]):
        return None
    found = load_critic(path)
    return None if found is None else Judge(*found)
