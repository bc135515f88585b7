"""Local best response: a second lower bound of what can be won from a frozen agent.

At each of its decisions the responder imagines hands of the opponent that agree with all that it
has seen, weighs each by how likely the agent would have acted so with it, tries every action on the
likelier ones, lets the agent itself play both seats to the end, and takes the action that brings
most if that is surely more than the agent's own one does (Lisy and Bowling 2017, arXiv 1612.07547,
with rollouts by the agent in place of checks).

What it wins is measured in real hands, so its mean is that of a strategy that could be played: it
is never too high but by the chance of the deals, which the interval tells. It is too low: the
responder plans one step only, few imagined hands make its choices noisy, and its belief is blurred
(DOUBT).

    python -m agents.local_response simple --deals 200
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from jsonargparse import ArgumentParser
from numpy.typing import NDArray

from agents import Agent, load, probabilities
from agents.intervals import Moments, mean_interval
from ginenv import actions, engine, match, observation
from ginenv.engine import State
from ginenv.rules import Rules, preset

DOUBT = 0.2
"""How far the responder takes the agent to act at random: of an agent that leaves little to chance,
hardly any imagined hand could have acted so throughout, and those that nearly could tell most."""
SURE = 3.0
"""Standard errors by which an action must be better than the agent's own one to be preferred: the
best of a dozen noisy figures would else be a random one."""
_AT_ONCE = 200_000
"""Imagined hands that are played out together."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard the responder thinks at each decision."""

    imagined: int = 64
    """Hands of the opponent that are weighed."""
    tried: int = 16
    """Of them, drawn by weight: each action is tried on these."""


class Table:
    """Hands in play between a responder and a frozen agent, B lanes.

    What the responder uses of ``hands`` is what its seat has seen: its own cards as dealt and
    drawn, the upcard, and the actions of both.
    """

    def __init__(
        self,
        hands: State,
        seats: NDArray[np.intp],
        victim: Agent,
        effort: Effort,
        generator: np.random.Generator,
    ) -> None:
        self.hands = hands
        self.seats = seats
        """The responder's, [B]."""
        self.victim = victim
        self.effort = effort
        self.generator = generator
        longest = 2 * hands.rules.turn_limit + 8
        self.played = np.full((longest, len(hands)), engine.NO_ACTION)
        """The actions of each lane, [T, B]."""
        self.length = np.zeros(len(hands), np.intp)

    def step(self) -> None:
        """One action on each lane that is not over."""
        live = (~self.hands.over).nonzero()[0]
        own = self.hands.mover[live] == self.seats[live]
        chosen = np.full(len(self.hands), engine.NO_ACTION)
        if len(others := live[~own]):
            chosen[others] = _act(self.victim, self.hands.take(others), self.generator)
        per_lane = self.effort.imagined + self.effort.tried * 12
        mine = live[own]
        for some in np.split(mine, range(_AT_ONCE // per_lane, len(mine), _AT_ONCE // per_lane)):
            if len(some):
                chosen[some] = self._respond(some)
        engine.step(self.hands, chosen)
        self.played[self.length[live], live] = chosen[live]
        self.length[live] += 1

    def _respond(self, lanes: NDArray[np.intp]) -> NDArray[np.intp]:
        """The responder's actions on these lanes, [N]."""
        legal = actions.unpack(actions.words(engine.legal(self.hands.take(lanes)))).astype(bool)
        chosen = _act(self.victim, self.hands.take(lanes), self.generator)
        rows = (legal.sum(axis=1) > 1).nonzero()[0]
        if not len(rows):
            return chosen
        hands, different = self._likely(lanes[rows])
        tried = self.effort.tried
        row, action = legal[rows].nonzero()
        at = (row[:, None] * tried + np.arange(tried)).reshape(-1)
        trial = hands.take(at)
        engine.step(trial, np.repeat(action, tried))
        seats = np.repeat(self.seats[lanes[rows]][row], tried)
        gains = self._play_out(trial, seats).reshape(-1, tried)
        # Against the agent's own action on the same imagined hands.
        kept = np.zeros((len(rows), tried))
        own = action == chosen[rows][row]
        kept[row[own]] = gains[own]
        more = gains - kept[row]
        error = more.std(axis=1) / np.maximum(different[row] - 1, 0.1) ** 0.5
        sure = more.mean(axis=1) - SURE * error
        worth = np.full((len(rows), actions.NUM_ACTIONS), -np.inf)
        worth[row, action] = np.where(sure > 0, more.mean(axis=1), 0.0)
        worth[np.arange(len(rows)), chosen[rows]] = 1e-9  # where nothing is surely better
        chosen[rows] = worth.argmax(axis=1)
        return chosen

    def _likely(self, lanes: NDArray[np.intp]) -> tuple[State, NDArray[np.intp]]:
        """Imagined hands at the point where these lanes are, ``tried`` for each: [N * tried]; and
        how many of them are different, [N]."""
        count = self.effort.imagined
        which = np.repeat(lanes, count)
        decks = np.concatenate([self._imagine(lane, count) for lane in lanes.tolist()])
        hands = engine.deal(self.hands.rules, decks, self.hands.dealer[which])
        likely = np.zeros(len(which))
        for t in range(int(self.length[lanes].max())):
            played = self.played[t, which]
            his = ((hands.mover != self.seats[which]) & (played != engine.NO_ACTION)).nonzero()[0]
            if len(his):
                some = hands.take(his)
                view, legal = observation.view(some), engine.legal(some)
                told = probabilities(self.victim, view, legal)[np.arange(len(his)), played[his]]
                even = 1 / np.bitwise_count(actions.words(legal)).sum(axis=1)
                likely[his] += np.log((1 - DOUBT) * told + DOUBT * even)
            engine.step(hands, played)
        weights = likely.reshape(-1, count)
        weights = np.exp(weights - weights.max(axis=1, keepdims=True)).cumsum(axis=1)
        marks = self.generator.random((len(lanes), self.effort.tried)) * weights[:, -1:]
        drawn = (weights[:, None, :] > marks[:, :, None]).argmax(axis=2)
        different = (np.diff(np.sort(drawn, axis=1), axis=1) != 0).sum(axis=1) + 1
        at = (drawn + np.arange(len(lanes))[:, None] * count).reshape(-1)
        return hands.take(at), different

    def _imagine(self, lane: int, count: int) -> NDArray[np.uint8]:
        """Decks that agree with what the responder has seen, all alike likely: [count, D].

        Each card that the opponent has thrown, and not taken from the pile before, was dealt to him
        or drawn by him before that. Placing these in the order of their throws, each on any free
        one of its places, makes every deck equally likely: how many are free depends on the number
        of throws alone.
        """
        known, his, stock, thrown = self._places(lane)
        deck = self.hands.deck[lane]
        decks = np.tile(deck, (count, 1))
        for row in decks:
            free, left = list(his), [card for card in deck.tolist() if card not in known]
            for card, draws in thrown:
                places = [place for place in free if place in draws]
                place = places[self.generator.integers(len(places))]
                row[place] = card
                free.remove(place)
                left.remove(card)
            row[free + stock] = self.generator.permutation(left)
        return decks

    def _places(
        self, lane: int
    ) -> tuple[set[int], list[int], list[int], list[tuple[int, set[int]]]]:
        """Cards whose place in the deck the responder knows; the places of the opponent's cards and
        of the rest of the stock; his throws, each with the places where it can have been."""
        state, seat = self.hands, int(self.seats[lane])
        rules, deck = state.rules, state.deck[lane].tolist()
        first = 2 * rules.hand_size
        offset = 0 if int(state.dealer[lane]) != seat else 1
        known = {*deck[offset:first:2], deck[first]}
        his = list(range(1 - offset, first, 2))
        mover, top, pile = 1 - int(state.dealer[lane]), first + 1, [deck[first]]
        taken: set[int] = set()
        thrown: list[tuple[int, set[int]]] = []
        for action in self.played[: self.length[lane], lane].tolist():
            if action == actions.STOCK:
                if mover == seat:
                    known.add(deck[top])
                else:
                    his.append(top)
                top += 1
            elif action == actions.TAKE:
                card = pile.pop()
                if mover != seat:
                    taken.add(card)
            elif action < actions.KNOCK:
                if mover != seat and action not in taken and action not in known:
                    thrown.append((action, set(his)))
                pile.append(action)
            if action == actions.PASS or action < actions.KNOCK:
                mover = 1 - mover
        return known, his, list(range(top, len(deck))), thrown

    def _play_out(self, hands: State, seats: NDArray[np.intp]) -> NDArray[np.float64]:
        """Play these hands to the end, the agent in both seats: what they pay these seats."""
        while len(live := (~hands.over).nonzero()[0]):
            chosen = np.full(len(hands), engine.NO_ACTION)
            chosen[live] = _act(self.victim, hands.take(live), self.generator)
            engine.step(hands, chosen)
        return _paid(hands, seats)


def _act(agent: Agent, hands: State, generator: np.random.Generator) -> NDArray[np.intp]:
    return agent.act(observation.view(hands), engine.legal(hands), generator)


def _paid(hands: State, seats: NDArray[np.intp]) -> NDArray[np.float64]:
    return np.where(hands.winner == seats, 1.0, -1.0) * hands.points


def measure(
    rules: Rules, victim: Agent, deals: int, seed: int, effort: Effort | None = None
) -> dict[str, float]:
    """What the responder wins, points a hand with a 95 % interval over deals.

    Each deal is played twice with the seats swapped, the dealer as the rules say.
    """
    deck_seed, action_seed = np.random.SeedSequence(seed).spawn(2)
    generator = np.random.default_rng(deck_seed)
    decks = np.repeat(engine.shuffle(rules, generator, deals), 2, axis=0)
    dealers = np.repeat(match.cut(rules, generator, deals), 2)
    seats = np.tile(np.array([0, 1]), deals)
    hands = engine.deal(rules, decks, dealers)
    table = Table(hands, seats, victim, effort or Effort(), np.random.default_rng(action_seed))
    while not hands.over.all():
        table.step()
    won = _paid(hands, seats).reshape(-1, 2).sum(axis=1)
    return mean_interval(Moments.of(won, np.full(deals, 2)))


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""
    parser = ArgumentParser(description="What a local best response wins from an agent.")
    parser.add_argument("--config", action="config", help="YAML file with any of these options")
    parser.add_argument("agent", help="name of an agent, or a policy file")
    parser.add_argument("--deals", type=int, default=200, help="each played twice")
    parser.add_argument("--imagined", type=int, default=64, help="hands weighed at a decision")
    parser.add_argument("--tried", type=int, default=16, help="hands each action is tried on")
    parser.add_argument("--rules", type=str, default="classic", help="name of a preset")
    parser.add_argument("--rule_fields", type=dict[str, Any], default={}, help="what differs")
    parser.add_argument("--seed", type=int, default=0, help="of the decks and of all choices")
    options = parser.parse_args(args)
    for name, least in (("deals", 2), ("imagined", 1), ("tried", 2), ("seed", 0)):
        if options[name] < least:
            parser.error(f"{name}={options[name]}: must be {least} or more")
    try:
        rules = preset(options.rules, **options.rule_fields)
        effort = Effort(options.imagined, options.tried)
        found = measure(rules, load(options.agent, rules), options.deals, options.seed, effort)
    except ValueError as error:
        print(f"local_response: error: {error}", file=sys.stderr)
        return 2
    print(
        f"A local best response wins {found['mean']:+.3f} [{found['low']:+.3f}, "
        f"{found['high']:+.3f}] points a hand from {options.agent}: a lower bound"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
