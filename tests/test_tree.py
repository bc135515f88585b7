"""Best responses and equilibria on games whose answers are published.

Kuhn poker: the first player's value is -1/18 (Kuhn 1950); exploitability of uniform random play on
Kuhn and Leduc poker as OpenSpiel's tests have it (NashConv 11/12 and 4.747222...).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Protocol

import numpy as np
import pytest

from agents.tree import CFRPlus, Level, Tree, best_response, exploitability, value


class Position(Protocol):
    """A game's position, plainly."""

    def player(self) -> int: ...
    def moves(self) -> Iterable[tuple[Hashable, float]]: ...
    def after(self, move: Hashable) -> Position: ...
    def knows(self) -> Hashable: ...
    def payoff(self) -> float: ...


CHANCE, END = -1, -2


class Kuhn:
    """Three cards, one each; pass or bet, ante and bet 1."""

    def __init__(self, cards: tuple[int, ...] = (), bets: str = "") -> None:
        self.cards, self.bets = cards, bets

    def player(self) -> int:
        if len(self.cards) < 2:
            return CHANCE
        return END if self.bets in ("pp", "pbp", "pbb", "bp", "bb") else len(self.bets) % 2

    def moves(self) -> list[tuple[Hashable, float]]:
        if self.player() == CHANCE:
            left = [card for card in range(3) if card not in self.cards]
            return [(card, 1 / len(left)) for card in left]
        return [("p", 1.0), ("b", 1.0)]

    def after(self, move: Hashable) -> Kuhn:
        if self.player() == CHANCE:
            return Kuhn((*self.cards, int(move)), self.bets)  # type: ignore[call-overload]
        return Kuhn(self.cards, self.bets + str(move))

    def knows(self) -> Hashable:
        return self.cards[self.player()], self.bets

    def payoff(self) -> float:
        better = 1.0 if self.cards[0] > self.cards[1] else -1.0
        return {"pp": better, "pbp": -1.0, "bp": 1.0}.get(self.bets, 2 * better)


class Leduc:
    """Six cards in two suits; two rounds of betting, raises 2 and 4, two raises a round; a public
    card between; a pair beats the higher card."""

    def __init__(self, cards: tuple[int, ...] = (), rounds: tuple[str, ...] = ("",)) -> None:
        self.cards, self.rounds = cards, rounds

    def player(self) -> int:
        bets = self.rounds[-1]
        if len(self.cards) < 2:
            return CHANCE
        if bets.endswith("f"):
            return END
        if bets.endswith("c") and len(bets) > 1:
            return END if len(self.rounds) == 2 else CHANCE
        if len(self.rounds) == 2 and len(self.cards) == 2:
            return CHANCE
        return len(bets) % 2

    def moves(self) -> list[tuple[Hashable, float]]:
        if self.player() == CHANCE:
            left = [card for card in range(6) if card not in self.cards]
            return [(card, 1 / len(left)) for card in left]
        bets = self.rounds[-1]
        raised, facing = bets.count("r"), bets.endswith("r")
        return [(m, 1.0) for m in ("f" * facing) + "c" + ("r" * (raised < 2))]

    def after(self, move: Hashable) -> Leduc:
        if self.player() != CHANCE:
            return Leduc(self.cards, (*self.rounds[:-1], self.rounds[-1] + str(move)))
        rounds = self.rounds if len(self.cards) < 2 else (*self.rounds, "")
        return Leduc((*self.cards, int(move)), rounds)  # type: ignore[call-overload]

    def knows(self) -> Hashable:
        return self.cards[self.player()], self.cards[2:], self.rounds

    def paid(self) -> list[int]:
        paid = [1, 1]
        for raise_, bets in zip((2, 4), self.rounds, strict=False):
            for number, bet in enumerate(bets):
                player = number % 2
                if bet != "f":
                    paid[player] = max(paid) + raise_ * (bet == "r")
        return paid

    def payoff(self) -> float:
        paid = self.paid()
        if self.rounds[-1].endswith("f"):
            folder = (len(self.rounds[-1]) - 1) % 2
            return float(-paid[0] if folder == 0 else paid[1])
        worth = [(card // 2 == self.cards[2] // 2, card // 2) for card in self.cards[:2]]
        return float(paid[0] * ((worth[0] > worth[1]) - (worth[0] < worth[1])))


def write_out(root: Position) -> tuple[Tree, list[Hashable], list[Hashable]]:
    """The tree of a game, what is known at each information set, and the move of each choice."""
    levels, players = [], []
    known: dict[Hashable, int] = {}
    choices: dict[tuple[int, Hashable], int] = {}
    nodes: list[Position] = [root]
    while nodes:
        player = [node.player() for node in nodes]
        edges = []
        for number, node in enumerate(nodes):
            if player[number] == END:
                continue
            for move, chance in node.moves():
                choice = -1
                if player[number] != CHANCE:
                    key = (player[number], node.knows())
                    if key not in known:
                        known[key] = len(known)
                        players.append(player[number])
                    choice = choices.setdefault((known[key], move), len(choices))
                edges.append((number, choice, chance, node.after(move)))
        parent, choice, chance = (np.array([edge[i] for edge in edges]) for i in range(3))
        payoff = [node.payoff() if at == END else 0 for node, at in zip(nodes, player, strict=True)]
        levels.append(
            Level(
                player=np.maximum(player, -1).astype(np.int8),
                payoff=np.array(payoff, dtype=float),
                parent=parent.astype(np.int32),
                choice=choice.astype(np.int32),
                chance=chance.astype(float),
            )
        )
        nodes = [edge[3] for edge in edges]
    set_of = np.array([owner for owner, _ in choices], dtype=np.int32)
    assert (np.diff(set_of) >= 0).all()
    tree = Tree(levels, np.ones(1), np.array(players, dtype=np.int8), set_of)
    return tree, list(known), [move for _, move in choices]


def test_kuhn_uniform() -> None:
    tree, known, _ = write_out(Kuhn())
    assert len(known) == 12
    found = exploitability(tree, tree.uniform())
    assert found.value == pytest.approx(0.125)
    assert found.nash_conv == pytest.approx(11 / 12)
    assert found.mean == pytest.approx(11 / 24)


def test_kuhn_equilibrium() -> None:
    tree, known, moves = write_out(Kuhn())
    solver = CFRPlus(tree)
    for _ in range(3000):
        solver.iterate()
    found = exploitability(tree, solver.average)
    assert found.value == pytest.approx(-1 / 18, abs=1e-4)
    assert found.mean < 2e-4
    # The second player never passes the best card when bet to, nor calls with the worst.
    chance = {
        (known[owner], move): solver.average[number]
        for number, (owner, move) in enumerate(zip(tree.set_of, moves, strict=True))
    }
    assert chance[(1, (2, "b")), "b"] > 0.999
    assert chance[(1, (0, "b")), "b"] < 0.001


def test_the_best_response_to_a_fixed_strategy_by_hand() -> None:
    """Against who always bets: call with the middle (even) and best card (+2), fold the worst.

    As second player: the worst card folds, -1; the middle wins or loses 2, 0; the best wins 2:
    1/3 in the mean.
    """
    tree, known, moves = write_out(Kuhn())
    bets = np.array([float(move == "b") for move in moves])
    gain, choice = best_response(tree, bets, 1)
    assert gain == pytest.approx(1 / 3)
    chosen = {known[owner]: moves[pick] for owner, pick in enumerate(choice) if pick >= 0}
    assert (chosen[1, (0, "b")], chosen[1, (2, "b")]) == ("p", "b")


def test_leduc() -> None:
    tree, _, _ = write_out(Leduc())
    found = exploitability(tree, tree.uniform())
    assert found.nash_conv == pytest.approx(4.747222222222222, abs=1e-9)
    solver = CFRPlus(tree)
    for _ in range(300):
        solver.iterate()
    found = exploitability(tree, solver.average)
    assert found.value == pytest.approx(-0.0856, abs=2e-3)
    assert found.mean < 5e-3
    assert value(tree, solver.average) == found.value


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_openspiel_agrees(name: str) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    from open_spiel.python import policy
    from open_spiel.python.algorithms import exploitability as theirs

    game = pyspiel.load_game(name)
    tree, _, _ = write_out({"kuhn_poker": Kuhn, "leduc_poker": Leduc}[name]())
    uniform = policy.UniformRandomPolicy(game)
    found = exploitability(tree, tree.uniform())
    assert found.nash_conv == pytest.approx(theirs.nash_conv(game, uniform), abs=1e-6)
    assert found.mean == pytest.approx(theirs.exploitability(game, uniform), abs=1e-6)
