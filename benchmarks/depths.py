"""How far actions must be played out: luck and error of what a critic says by depth.

    python benchmarks/depths.py best expert_k5

Positions are those of hands that the policy plays against an opponent. Each action that it would
try there is played out over and over, each time with the stock in another order, the same one for
all actions of a position: to the end of the hand, and to some depths where the policy's own critic
is asked what the hand is worth. Luck is the variance of what one such play says of an action; the
error is what remains of the difference to the mean at the hands' ends when luck is taken off.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import agents  # noqa: E402
from agents import Agent, playouts  # noqa: E402
from agents.hand_counts import HandCounts  # noqa: E402
from agents.playouts import Continuation, Tries  # noqa: E402
from agents.policy import Policy, PolicyFileError  # noqa: E402
from agents.selfplay import SelfPlay  # noqa: E402
from agents.watch import judge_of  # noqa: E402
from ginenv import engine, observation  # noqa: E402
from ginenv.engine import State  # noqa: E402
from ginenv.match import Match  # noqa: E402
from ginenv.rules import preset  # noqa: E402

END = 0
DEPTHS = (END, 2, 4, 6, 8, 10, 12, 16)
STEPS = 60


def positions(
    policy: Policy, opponent: Agent, lanes: int, share: float, generator: np.random.Generator
) -> Tries:
    """What the policy would try in a share of its positions, as if all were lanes of one step."""
    rules = preset("classic")
    games = SelfPlay([rules], ["hand"], lanes, generator, [opponent], 1.0)
    group = games.groups[-1]
    for _ in range(STEPS):
        hands = group.play.hands
        view, legal = observation.view(hands), engine.legal(hands)
        likely = policy.probabilities(view, legal)
        group.try_actions(np.where(generator.random((lanes, 1)) < share, likely, np.float32(0)))
        answers = group.answers()
        chosen = policy.act(view, legal, generator)
        games.step(np.where(answers == engine.NO_ACTION, chosen, answers), 1.0, 1.0, HandCounts())
    some = [each for each in group.tries if len(each.rows)]
    firsts = np.cumsum([0, *(len(each.likely) for each in some)])
    return Tries(
        np.concatenate([each.likely for each in some]),
        np.concatenate([each.rows + first for each, first in zip(some, firsts, strict=False)]),
        np.concatenate([each.actions for each in some]),
        State.join([each.hands for each in some]),
        Match.join([each.sheets for each in some]),
    )


def other_stock(tries: Tries, generator: np.random.Generator) -> Tries:
    """The same with the cards in the stock in another order, alike on all lanes of a position."""
    hands = tries.hands.take(np.arange(len(tries.rows)))
    place = np.arange(hands.deck.shape[1])
    order = generator.random((len(tries.likely), len(place)))[tries.rows]
    order = np.where(place >= hands.stock_next[:, None], order, place - len(place))
    hands.deck = np.take_along_axis(hands.deck, order.argsort(axis=1), axis=1)
    return replace(tries, hands=hands)


@dataclass
class Depth:
    """What plays to one depth said."""

    gains: NDArray[np.float64]
    """Points over the mean of the position, [worlds, tries]."""
    seconds: float
    """Of a play, of one action."""


def play(
    tries: Tries, then: Continuation, opponent: Agent, scale: float, worlds: int, seed: int
) -> Depth:
    """Play every action out in so many worlds."""
    generator = np.random.default_rng(seed)
    start, gains = time.process_time(), []
    for _ in range(worlds):
        world = other_stock(tries, generator)
        winner, points, judged = playouts.play_out([world], False, then, opponent, generator)
        worth = np.where(winner == world.hands.mover, points, -points) + judged * scale
        gains.append(world.advantages(worth)[tries.rows, tries.actions])
    seconds = (time.process_time() - start) / worlds / len(tries.rows)
    return Depth(np.array(gains, np.float64), seconds)


def table(tries: Tries, found: dict[int, Depth]) -> str:
    """Luck, error and time by depth, as Markdown."""
    chance = tries.likely[tries.rows, tries.actions]
    weights = chance * (1 - chance)  # what is learnt of an action goes by

    def mean(values: NDArray[np.float64]) -> float:
        return float(np.average(values, weights=weights))

    end = found[END].gains
    rest = mean(end.var(axis=0, ddof=1)) / len(end)
    true = mean(end.mean(axis=0) ** 2) - rest
    lines = [
        f"{len(tries.rows):,} actions of {len(np.unique(tries.rows)):,} positions, each played "
        f"{len(end)} times; their gains differ by {true:.1f} squared points.",
        "",
        "| decisions | luck, squared points | error | gains kept | µs a play |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for depth, each in found.items():
        luck = mean(each.gains.var(axis=0, ddof=1))
        told = f"| {depth or 'to the end'} | {luck:.1f} |"
        if depth == END:
            told += " | |"
        else:
            error = mean((each.gains.mean(axis=0) - end.mean(axis=0)) ** 2) - luck / len(end) - rest
            kept = mean(each.gains.mean(axis=0) * end.mean(axis=0)) / true
            told += f" {error:.1f} | {100 * kept:.0f} % |"
        lines.append(f"{told} {1e6 * each.seconds:.0f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("policy", help="a policy with a critic: a name or a file")
    parser.add_argument("opponent", help="an agent")
    parser.add_argument("--lanes", type=int, default=512, help="hands at once for positions")
    parser.add_argument("--share", type=float, default=0.06, help="of the positions")
    parser.add_argument("--worlds", type=int, default=50, help="orders of the stock")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rules = preset("classic")
    try:
        policy, opponent = (agents.load(each, rules) for each in (options.policy, options.opponent))
        judge = judge_of(agents.policy_file(options.policy))
    except (PolicyFileError, ValueError) as error:
        parser.error(str(error))
    if not isinstance(policy, Policy) or judge is None:
        parser.error(f"{options.policy}: must be a policy with a critic of single hands")
    generator = np.random.default_rng(0)
    tries = positions(policy, opponent, options.lanes, options.share, generator)
    found = {
        depth: play(
            tries,
            Continuation(policy, depth, judge.worth),
            opponent, judge.scale, options.worlds, seed,
        )
        for seed, depth in enumerate(DEPTHS)
    }  # fmt: skip
    print(table(tries, found))


if __name__ == "__main__":
    main()
