"""Lanes on which a policy plays: what is seen on them, played, and paid.

It plays both seats, or on some lanes one against an agent. Lanes are shared out among the rules
that are trained on and, of each, among single hands and hands of games. A hand is what is paid for:
singly its points, in a game the change in the chance to win the game, which goes by what each side
has won lately on these lanes. So a hand is an episode of learning, also in a game.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from agents import Agent, playouts, prospects
from agents.chances import winning_chances
from agents.hand_counts import HandCounts
from ginenv import actions, cards, engine, match, play
from ginenv.actions import Legal
from ginenv.lanes import Lanes, columns
from ginenv.rules import Rules

MOST_POINTS = 255
"""Hands that bring more count as this many in the table of chances."""
FIRST_GUESS = 20.0
"""Mean points of a won hand before any has been played: the guess falls off geometrically."""


class Look(NamedTuple):
    """What the networks are told, [B] lanes."""

    seen: NDArray[np.uint8]
    """What the movers see, [B, prospects.SIZE]."""
    hidden: NDArray[np.uint8]
    """The hands hidden from them, for the critic alone, [B, 52]."""
    masks: NDArray[np.uint8]
    """[B, 108]."""
    movers: NDArray[np.intp]
    """Seats, [B]."""


class _Group:
    """Lanes with the same rules, the same kind of episode and the same opponent, if any."""

    def __init__(
        self,
        rules: Rules,
        episode: str,
        opponent: Agent | None,
        lanes: int,
        generator: np.random.Generator,
        random_scores: float,
    ) -> None:
        self.generator = generator
        self.rules = rules
        self.opponent = opponent
        """He has seat 0 on even lanes, seat 1 on odd ones."""
        self.points: NDArray[np.floating[Any]] = np.tile(FIRST_GUESS_SHARES * 500, (2, 1))
        """How often hands brought 0, 1, 2, ... points to the policy and to the opponent, or to the
        two players that it is, [2, MOST_POINTS + 1]."""
        self.tries: list[playouts.Tries] = []
        dealers = match.cut(rules, generator, lanes)
        self.play = play.start(rules, episode, self._decks(lanes), dealers)
        self.random_scores = random_scores if episode == "game" else 0.0
        self._draw_scores(np.arange(lanes))
        self.new_chances()

    def _decks(self, lanes: int) -> NDArray[np.uint8]:
        return engine.shuffle(self.rules, self.generator, lanes)[:, None]

    def _draw_scores(self, lanes: NDArray[np.intp]) -> None:
        """On some of these lanes, where games begin, both players have points already.

        And as many boxes as it takes on average to win them, one hand for each.
        """
        if not self.random_scores:
            return
        drawn = lanes[self.generator.random(len(lanes)) < self.random_scores]
        totals = self.generator.integers(0, self.rules.target, (len(drawn), 2))
        sheets = self.play.match
        sheets.totals[drawn, 0] = totals
        sheets.boxes[drawn, 0] = boxes_of(totals)
        sheets.rounds[drawn] = sheets.boxes[drawn, 0].sum(axis=1)

    def new_chances(self) -> None:
        """Take up what hands have brought into the table of chances; old hands fade."""
        if self.play.episode == "game":
            points = self.points
            if self.opponent is None:  # it is both players
                points = points + points[::-1]
            self.table = winning_chances(self.rules.target, points)
            self.chance = self._chances(np.arange(len(self.play)))
        self.points = self.points * 0.5

    def _chances(self, lanes: NDArray[np.intp]) -> NDArray[np.float32]:
        """Player 0's chance to win each game as it stands, [N]."""
        return self._chances_at(lanes, self.play.match.totals[lanes, 0])

    def _chances_at(
        self, lanes: NDArray[np.intp], totals: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        """The same with these totals, [N, 2]; only one of the two can be at the target."""
        first, second = np.minimum(totals, self.rules.target - 1).T
        won, lost = (totals >= self.rules.target).T
        # The table is the policy's, who is player 0 on odd lanes.
        chance = np.where(lanes % 2, self.table[first, second], 1 - self.table[second, first])
        return np.where(won, 1, np.where(lost, 0, chance)).astype(np.float32)

    def answers(self) -> NDArray[np.intp]:
        """What the opponent does where he is on move, elsewhere NO_ACTION, [B]."""
        chosen = np.full(len(self.play), engine.NO_ACTION)
        if self.opponent is not None:
            his = self.play.hands.mover == np.arange(len(chosen)) % 2
            lanes = his.nonzero()[0]
            chosen[lanes] = self.ask(self.opponent, lanes)
        return chosen

    def ask(self, agent: Agent, lanes: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
        """What an agent would do on these lanes, or all of them."""
        hands = play.hands_on_move(self.play, lanes)
        view = play.view(self.play, hands, lanes)
        return agent.act(view, engine.legal(hands), self.generator)

    def try_actions(self, likely: NDArray[np.float32]) -> None:
        """Note what is likely now, [B, 108], to be played out by :meth:`advantages`."""
        game = self.play
        if self.opponent is not None:
            his = game.hands.mover == np.arange(len(game)) % 2
            likely = np.where(his[:, None], np.float32(0), likely)
        rows, actions = playouts.candidates(likely)
        hands, sheets = play.hands_on_move(game, rows), game.match.take(rows)
        self.tries.append(playouts.Tries(likely, rows, actions, hands, sheets))

    def advantages(
        self, then: playouts.Continuation, point_scale: float, chance_scale: float
    ) -> list[NDArray[np.float32]]:
        """By how much actions beat their mean, as hands go on after them.

        [B, 108] for each step since the last call, 0 where nothing was tried.
        """
        tries, self.tries = self.tries, []
        in_games = self.play.episode == "game"
        other = self.opponent or then.agent
        winner, points, judged = playouts.play_out(tries, in_games, then, other, self.generator)
        movers = np.concatenate([each.hands.mover for each in tries])
        if in_games:
            totals = np.concatenate([each.sheets.totals[:, 0] for each in tries])
            lanes = np.concatenate([each.rows for each in tries])
            before = self._chances_at(lanes, totals)
            # A hand that nobody has won adds 0.
            totals[np.arange(len(totals)), winner] += points
            worth = (self._chances_at(lanes, totals) - before) / chance_scale
            worth = np.where(movers == 0, worth, -worth)
        else:
            worth = np.where(winner == movers, points, -points) / point_scale
        worth = worth + judged
        parts = np.split(worth, np.cumsum([len(each.rows) for each in tries])[:-1])
        return [each.advantages(part) for each, part in zip(tries, parts, strict=True)]

    def step(
        self,
        chosen: NDArray[np.intp],
        point_scale: float,
        chance_scale: float,
        counts: HandCounts,
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Play, deal again; what it paid the movers, float32 [B], and which hands ended."""
        game = self.play
        movers = game.hands.mover.copy()
        ended = play.step(game, chosen)
        lanes = ended.lanes
        paid = np.zeros(len(game), np.float32)
        over = np.zeros(len(game), np.bool_)
        if not len(lanes):
            return paid, over
        over[lanes] = True
        self._count(lanes, movers, counts)
        if game.episode == "hand":
            paid[lanes] = ended.payoffs[:, 0] / point_scale
        else:
            after = self._chances(lanes)
            paid[lanes] = (after - self.chance[lanes]) / chance_scale
        paid[movers == 1] *= -1
        self._deal(lanes)
        return paid, over

    def _deal(self, lanes: NDArray[np.intp]) -> None:
        game = self.play
        done = game.over[lanes]
        if len(again := lanes[done]):
            dealers = match.cut(self.rules, self.generator, len(again))
            play.restart(game, again, self._decks(len(again)), dealers)
            self._draw_scores(again)
        if len(going_on := lanes[~done]):
            play.deal(game, going_on, self._decks(len(going_on)), self.generator)
        if game.episode == "game":
            self.chance[lanes] = self._chances(lanes)

    def _count(self, lanes: NDArray[np.intp], movers: NDArray[np.intp], counts: HandCounts) -> None:
        hands = self.play.hands
        counts.count(hands, lanes, movers)
        points, winners = np.minimum(hands.points[lanes], MOST_POINTS), hands.winner[lanes]
        for side, player in enumerate((1 - lanes % 2, lanes % 2)):
            won = points[winners == player]
            self.points[side] += np.bincount(won, minlength=MOST_POINTS + 1)

    def state_dict(self) -> dict[str, Any]:
        """Tensors that :meth:`load_state_dict` goes on from."""
        game = self.play
        return {
            "hands": _tensors(game.hands),
            "match": _tensors(game.match),
            "points": torch.from_numpy(self.points.copy()),
            "chances": torch.from_numpy(self.table.copy()) if game.episode == "game" else None,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what :meth:`state_dict` gave."""
        _load(self.play.hands, state["hands"])
        _load(self.play.match, state["match"])
        self.load_chances(state)

    def load_chances(self, state: dict[str, Any]) -> None:
        """Take over what hands have brought so far, and the table made of it; no lanes."""
        points = state["points"].numpy()
        # Runs of before did not tell the sides apart.
        self.points = np.tile(points / 2, (2, 1)) if points.ndim == 1 else points.copy()
        if state["chances"] is not None:
            self.table = state["chances"].numpy().copy()
            self.chance = self._chances(np.arange(len(self.play)))


def _tensors(lanes: Lanes) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(getattr(lanes, name).copy()) for name in columns(type(lanes))}


def _load(lanes: Lanes, saved: dict[str, torch.Tensor]) -> None:
    for name, column in saved.items():
        setattr(lanes, name, column.numpy().copy())


_FALL = 1 - 1 / FIRST_GUESS
FIRST_GUESS_SHARES: NDArray[np.floating[Any]] = (1 - _FALL) * _FALL ** np.arange(-1, MOST_POINTS)
"""Shares of 0 (not of use), 1, 2, ... points."""


def boxes_of(totals: NDArray[np.integer[Any]]) -> NDArray[np.int32]:
    """How many hands it takes on average to win so many points."""
    return np.ceil(totals / FIRST_GUESS).astype(np.int32)


class SelfPlay:
    """All lanes of a trainer, in groups that share rules and kind of episode."""

    def __init__(
        self,
        rules: Sequence[Rules],
        episodes: Sequence[str],
        lanes: int,
        generator: np.random.Generator,
        opponents: Sequence[Agent] = (),
        opponent_share: float = 0.0,
        random_scores: float = 0.0,
    ) -> None:
        """On ``opponent_share`` of the lanes one of the ``opponents`` has a seat.

        ``random_scores``: the share of games that begin at totals drawn evenly below the target.
        """
        others: list[Agent | None] = [None, *opponents]
        parts = [1 - opponent_share, *[opponent_share / len(opponents) for _ in opponents]]
        kinds = [(*each, other) for each in product(rules, episodes) for other in others]
        # Named twice, twice the lanes, but one group: a call of numpy takes as long for few lanes.
        weights: dict[tuple[Rules, str, Agent | None], float] = {}
        for kind, part in zip(kinds, parts * (len(kinds) // len(others)), strict=True):
            weights[kind] = weights.get(kind, 0.0) + part
        ends = np.cumsum([0.0, *weights.values()])
        shares = np.diff((ends / ends[-1] * lanes + 1e-9).astype(int))
        self.generator = generator
        self.groups = [
            _Group(*kind, count, generator, random_scores)
            for kind, count in zip(weights, shares.tolist(), strict=True)
        ]
        ends = np.cumsum(shares).tolist()
        self._slices = [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]

    def look(self) -> Look:
        """What the movers see on every lane."""
        seen, hidden, legal, movers = [], [], [], []
        for group in self.groups:
            hands = group.play.hands
            seen.append(prospects.encode(play.view(group.play, hands)))
            hidden.append(hands.hands[np.arange(len(hands)), 1 - hands.mover])
            legal.append(engine.legal(hands))
            movers.append(hands.mover)
        every = Legal(*(np.concatenate(parts) for parts in zip(*legal, strict=True)))
        return Look(
            np.concatenate(seen) if len(seen) > 1 else seen[0],
            cards.bits(np.concatenate(hidden)),
            actions.mask(every),
            np.concatenate(movers),
        )

    def step(
        self,
        chosen: NDArray[np.intp],
        point_scale: float,
        chance_scale: float,
        counts: HandCounts,
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Play one action on each lane: what it paid the movers, and which hands ended."""
        parts = [
            group.step(chosen[lanes], point_scale, chance_scale, counts)
            for group, lanes in zip(self.groups, self._slices, strict=True)
        ]
        paid, over = zip(*parts, strict=True)
        return np.concatenate(paid), np.concatenate(over)

    def answers(self) -> NDArray[np.intp]:
        """What opponents do on the lanes where they are on move, elsewhere NO_ACTION, [B]."""
        return np.concatenate([group.answers() for group in self.groups])

    def ask(self, agent: Agent) -> NDArray[np.intp]:
        """What an agent would do on each lane, [B]."""
        return np.concatenate([group.ask(agent) for group in self.groups])

    def try_actions(self, likely: NDArray[np.float32]) -> None:
        """Note what is likely on each lane now, [B, 108]: see :mod:`agents.playouts`."""
        for group, lanes in zip(self.groups, self._slices, strict=True):
            group.try_actions(likely[lanes])

    def advantages(
        self, then: playouts.Continuation, point_scale: float, chance_scale: float
    ) -> NDArray[np.float32]:
        """By how much the actions noted beat their mean, [T, B, 108] of the steps since."""
        parts = [group.advantages(then, point_scale, chance_scale) for group in self.groups]
        return np.concatenate(parts, axis=1)

    def new_chances(self) -> None:
        """Work out the tables of chances anew from the hands since."""
        for group in self.groups:
            group.new_chances()

    def state_dict(self) -> dict[str, Any]:
        """All lanes and the generator."""
        return {
            "groups": [group.state_dict() for group in self.groups],
            "generator": self.generator.bit_generator.state,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what :meth:`state_dict` gave, with the same rules and lanes."""
        for group, saved in zip(self.groups, state["groups"], strict=True):
            group.load_state_dict(saved)
        self.generator.bit_generator.state = state["generator"]

    def close(self) -> None:
        """Nothing to end: see :class:`agents.workers.Workers`."""

    def load_chances(self, state: dict[str, Any]) -> None:
        """Take over the tables of chances alone, from any number of lanes with the same rules."""
        for group, saved in zip(self.groups, state["groups"], strict=True):
            group.load_chances(saved)
