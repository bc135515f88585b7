"""Recorded games: write them, read them, re-run them through the engine, show them as text.

A record is one line of JSON (``ginenv-game/1``, docs/REPLAYS.md): a game, or a hand played singly.
Rules, first dealer, decks and actions determine all else; results, scores and who sits where are
there to read, and to check the re-run against.

``python -m ginenv.replay FILE`` checks every line of a file and prints its first game move by move,
or with ``--show N`` its N-th. With ``--tensorboard FOLDER`` the games also go into a TensorBoard
log, to be played in its tab Gin Rummy.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ginenv import actions, engine, match, scoring
from ginenv.board import board, score_sheet
from ginenv.engine import State
from ginenv.files import whole_file
from ginenv.play import Play
from ginenv.records import FORMAT, Hand, ReplayError, check_deck, entry_of, in_hand, parse
from ginenv.rules import Rules

__all__ = [
    "FORMAT",
    "Game",
    "Hand",
    "ReplayError",
    "check",
    "check_deck",
    "decode",
    "hands_of",
    "is_single",
    "legal_words",
    "main",
    "outcome",
    "parse",
    "read",
    "record",
    "rerun",
    "show",
    "shown_names",
    "write",
]


def hands_of(play: Play, lane: int, chosen: Sequence[Sequence[int]]) -> list[Hand]:
    """The hands that lie at the tables of an episode, to be recorded before the next are dealt.

    ``chosen``: the action ids played at each table.
    """
    hands = []
    for table, taken in enumerate(chosen):
        at = lane * play.rules.num_tables + table
        first, second = play.seats[lane, table].tolist()
        hands.append(
            Hand(
                dealer=int(play.hands.dealer[at]),
                deck=tuple(play.hands.deck[at].tolist()),
                actions=tuple(taken),
                seats=None if play.rules.seating == "heads_up" else (first, second),
                forfeited=bool(play.hands.kind[at] == scoring.FORFEIT),
            )
        )
    return hands


def legal_words(state: State) -> list[str]:
    """The legal actions of a hand (a state of one lane) in words."""
    mask = actions.mask(engine.legal(state))[0]
    return [actions.format(action) for action in np.flatnonzero(mask).tolist()]


# Records.


def record(
    rules: Rules, players: Sequence[str], hands: Iterable[Hand], game: bool = False, **extra: Any
) -> dict[str, Any]:
    """The record of a hand played singly (partnership: of a round), or of a ``game`` so far.

    ``hands``: in the order in which they were played, of a round the table of player 0 first;
    results, scores and final are found by playing them again. ``extra``: further keys, such as
    ``seed`` or ``date``. Raises ReplayError for what :func:`check` would not accept.
    """
    played = list(hands)
    if not game and len(played) != rules.num_tables:
        raise ReplayError(f"{len(played)} hands, and without game=True it is {rules.num_tables}")
    entries = [entry_of(hand) for hand in played]
    made = {
        "format": FORMAT,
        "rules": rules.to_dict(),
        "players": list(players),
        "hands": entries,
        "final": None,
        **extra,
    }
    parse(made)
    again = Game(rules, played[0])
    for number, (hand, entry) in enumerate(zip(played, entries, strict=True), start=1):
        with in_hand(number):
            entry["result"] = again.play(hand)
            entry["scores"] = again.scores
    if game:
        made["final"] = again.final
    return made


class Game:
    """A game played again hand by hand, on a sheet of its own."""

    def __init__(self, rules: Rules, first: Hand) -> None:
        # In cutthroat the seats tell who deals: it is who has none.
        dealer = 3 - sum(first.seats or ()) if rules.seating == "cutthroat" else first.dealer
        # A record is one game: who wins it has not won a match.
        self.rules = dataclasses.replace(rules, best_of=1)
        self.sheet = match.start(self.rules, np.array([dealer]))
        self._round: list[tuple[int, int]] = []

    def play(self, hand: Hand) -> dict[str, Any]:
        """The result of the next hand, entered on the sheet.

        Raises ReplayError if by the rules another hand, or none, comes next, and as
        :func:`rerun` does.
        """
        if self.sheet.winner[0] != match.NOBODY:
            raise ReplayError("comes after the end of the game")
        table = len(self._round)
        if hand.seats is not None:
            seats = match.seats(self.sheet)[0, table].tolist()
            _same("seats", list(hand.seats), seats, "by the rules it is")
        dealer = int(match.dealer_seats(self.sheet)[0, table])
        _same("dealer", hand.dealer, dealer, "by the rules it is")
        result = outcome(self.rules, hand)
        self.enter(result)
        return result

    def enter(self, result: dict[str, Any]) -> bool:
        """Enter a hand's result; whether it went onto the sheet, as a whole round does."""
        winner = match.NOBODY if result["winner"] is None else result["winner"]
        self._round.append((winner, result["points"]))
        if len(self._round) < self.rules.num_tables:
            return False
        winners, points = np.array(self._round).T[:, None]
        match.enter(self.sheet, np.array([0]), winners, points)
        self._round = []
        return True

    @property
    def scores(self) -> list[Any]:
        """The running totals by player."""
        totals: list[Any] = match.sheet(self.sheet, 0)["totals"]
        return totals

    @property
    def final(self) -> list[int] | None:
        """What each player's game came to; None while it is played."""
        final: list[int] | None = match.sheet(self.sheet, 0)["final"]
        return final


def rerun(rules: Rules, hand: Hand) -> Iterator[State]:
    """The positions of a hand, as dealt, after each action and after a forfeit: one State, stepped
    in place.

    Raises ReplayError at an action that is not legal, that comes after the end, where the actions
    stop before the end, and at a forfeit after the end.
    """
    state = engine.deal(rules, np.array([hand.deck], np.uint8), np.array([hand.dealer]))
    yield state
    for number, action in enumerate(hand.actions, start=1):
        where = f"action {number}, {actions.format(action)!r}"
        if state.over[0]:
            raise ReplayError(f"{where}: goes on after the hand has ended")
        if not actions.mask(engine.legal(state))[0, action]:
            raise ReplayError(f"{where}: not legal; legal: {', '.join(legal_words(state))}")
        engine.step(state, np.array([action]))
        yield state
    if hand.forfeited:
        _forfeit(state)
        yield state
    if not state.over[0]:
        raise ReplayError(f"the actions stop after {len(hand.actions)}, before the hand has ended")


def _forfeit(state: State) -> None:
    if state.over[0]:
        kind = scoring.KINDS[int(state.kind[0])]
        raise ReplayError(f"result, kind: recorded 'forfeit', and the hand re-runs to {kind!r}")
    engine.forfeit(state, np.array([0]))


def outcome(rules: Rules, hand: Hand) -> dict[str, Any]:
    """The result of a hand that is re-run to its end. Raises ReplayError as :func:`rerun` does."""
    *_, state = rerun(rules, hand)
    return engine.result(state, 0)


def check(made: Any) -> None:
    """Re-run all that a record holds. Raises ReplayError that names the first difference."""
    rules, hands = parse(made)
    game = Game(rules, hands[0])
    for number, (hand, entry) in enumerate(zip(hands, made["hands"], strict=True), start=1):
        with in_hand(number):
            for key, value in game.play(hand).items():
                _same(f"result, {key}", entry["result"].get(key, "missing"), value)
            _same("scores", entry["scores"], game.scores)
    if not is_single(rules, made):
        _same("final", made["final"], game.final, "the game re-runs to")


def is_single(rules: Rules, made: dict[str, Any]) -> bool:
    """Whether this may be a hand, or round, that was not played as part of a game."""
    return made["final"] is None and len(made["hands"]) <= rules.num_tables


def _same(where: str, written: Any, again: Any, how: str = "the hand re-runs to") -> None:
    # As text: to Python True is 1 and 14.0 is 14.
    if json.dumps(written) != json.dumps(again):
        raise ReplayError(f"{where}: recorded {written!r}, and {how} {again!r}")


# Files.


def write(path: str | os.PathLike[str], records: Iterable[dict[str, Any]]) -> None:
    """Write a file of records, one a line. The file appears whole or not at all."""
    with whole_file(path) as file:
        for made in records:
            file.write((json.dumps(made, allow_nan=False) + "\n").encode())


def read(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """The records of a file one by one, each checked by re-running it; empty lines are skipped.

    Raises ReplayError that begins with file and line number, and OSError.
    """
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                made = decode(line)
                check(made)
            except ReplayError as error:
                raise ReplayError(f"{os.fspath(path)}:{number}: {error}") from None
            yield made


def decode(line: bytes) -> Any:
    """What a line of JSON says, not checked. Raises ReplayError."""
    try:
        return json.loads(line.decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:  # bad UTF-8 and huge numbers among them
        raise ReplayError(f"not a line of JSON: {error}") from None


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON's")


def shown_names(players: Sequence[str]) -> list[str]:
    """The names as they are shown: they are anybody's text, and may upset a terminal."""
    return [name if name.isprintable() else ascii(name) for name in players]


def show(made: dict[str, Any]) -> Iterator[str]:
    """A checked record move by move, as blocks of text: the table as dealt, then each action.

    After each hand (partnership: round) of a game comes the score sheet.
    """
    rules, hands = parse(made)
    players = shown_names(made["players"])
    game = Game(rules, hands[0])
    for number, hand in enumerate(hands, start=1):
        names = [players[player] for player in hand.seats or (0, 1)]
        head = f"Hand {number}: {names[0]} against {names[1]}"
        mover = 0
        for at, state in enumerate(rerun(rules, hand)):
            if at:
                # After the last action comes at most a forfeit.
                done = [*map(actions.format, hand.actions[at - 1 : at]), "forfeits"][0]
                head = f"{at}. {names[mover]}: {done}"
            yield f"{head}\n{board(state, names=names)}\n"
            mover = int(state.mover[0])
        entered = game.enter(engine.result(state, 0))
        if entered and not is_single(rules, made):
            yield f"{score_sheet(game.sheet, 0, players)}\n"


# The command.


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"


def run(path: str, shown: int | None, folder: str | None = None) -> None:
    """Check a file; print game ``shown`` move by move (None: the first there is), and the count.

    ``folder``: of a TensorBoard log to be written once all is found to be good.
    """
    games = hands = 0
    chosen = None
    for games, made in enumerate(read(path), start=1):
        hands += len(made["hands"])
        if games == (1 if shown is None else shown):
            chosen = made
    if not games:
        raise ReplayError(f"{path}: no games in it")
    if shown is not None and not 0 <= shown <= games:
        raise ReplayError(f"--show {shown}: {path} has {_count(games, 'game')}")
    if chosen is not None:
        for text in show(chosen):
            print(text)
    print(f"{_count(games, 'game')}, {_count(hands, 'hand')}: re-run to the same result")
    if folder is not None:
        _to_tensorboard(path, 1 if shown is None else shown, folder)


def _to_tensorboard(path: str, shown: int, folder: str) -> None:
    """Write a log with every game of a checked file, its step its number; a picture of one."""
    try:
        from ginenv.tensorboard import summary
    except ModuleNotFoundError as error:
        raise ReplayError(
            f"--tensorboard: {error.name} is missing: pip install 'ginenv[tensorboard]'"
        ) from None
    with summary.log(folder) as log:
        for number, made in enumerate(read(path), start=1):
            summary.add_game(log, Path(path).stem, made, number, pictured=number == shown)
    print(f"tensorboard --logdir {shlex.quote(folder)}, then http://localhost:6006/#gin_rummy")


def _fail(message: str) -> int:
    print(" ".join(message.splitlines()), file=sys.stderr)
    return 2


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: 0, or 2 after an error in one line on stderr."""
    parser = argparse.ArgumentParser(prog="python -m ginenv.replay", description=__doc__)
    parser.add_argument("file", help="recorded games, one a line")
    parser.add_argument(
        "--show", type=int, metavar="N", help="which game to print (default the first, 0 for none)"
    )
    parser.add_argument(
        "--tensorboard", metavar="FOLDER", help="write the games into a TensorBoard log there"
    )
    chosen = parser.parse_args(arguments)
    try:
        run(chosen.file, chosen.show, chosen.tensorboard)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough; what is still buffered must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        return _fail(f"{error.filename or 'standard output'}: {error.strerror}")
    except ValueError as error:
        return _fail(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
