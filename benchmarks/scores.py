"""What the score of the game does to a policy's knocking, and what knowing it is worth.

    python benchmarks/scores.py best
    python benchmarks/scores.py best --deals 10000

Positions are those of the policy's own games in which it could knock, and gin was not at hand; each
is shown to it again with other scores and the chance that it knocks is taken down. With ``--deals``
it also plays games against the same weights that are not shown the score: they take every hand for
one played singly, by points. (A twin that has learnt on nothing else is trained by ``--episodes
'[hand]'``, and met by ``evaluate.py``.)
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import agents  # noqa: E402
from agents import POLICIES, arena  # noqa: E402
from agents.expert import own_turn  # noqa: E402
from agents.figures import Tally, report_tally  # noqa: E402
from agents.hand_counts import HandCounts  # noqa: E402
from agents.intervals import rate_interval  # noqa: E402
from agents.policy import Policy, PolicyFileError  # noqa: E402
from agents.selfplay import SelfPlay, boxes_of  # noqa: E402
from ginenv import actions, engine, melds, play  # noqa: E402
from ginenv.actions import Legal  # noqa: E402
from ginenv.observation import Standing, View  # noqa: E402
from ginenv.rules import Rules, preset  # noqa: E402

SCORES = ((0, 0), (95, 20), (20, 95), (80, 80), (75, 20), (95, 95))
"""Own total, the opponent's."""
TURNS = ((1, 3), (4, 6), (7, 99))
"""Own turns of a column, from and to."""


def positions(policy: Policy, rules: Rules, lanes: int, steps: int) -> list[tuple[View, Legal]]:
    """Where the policy could knock without gin, while it played games with itself."""
    generator = np.random.default_rng(0)
    games = SelfPlay([rules], ["game"], lanes, generator)
    played, found = games.groups[0].play, []
    for _ in range(steps):
        hands = play.hands_on_move(played)
        view, legal = play.view(played, hands), engine.legal(hands)
        least = melds.deadwood_after_discard(view.hand).min(axis=1)
        may = ((legal.knocks != 0) & (legal.discards != 0) & (least > 0)).nonzero()[0]
        if len(may):
            some = play.hands_on_move(played, may)
            found.append((play.view(played, some, may), engine.legal(some)))
        games.step(policy.act(view, legal, generator), 1.0, 1.0, HandCounts())
    return found


def at_score(game: Standing, score: tuple[int, int]) -> Standing:
    """As it is, but for the totals, the boxes that go with them and the hands that those took."""
    totals = np.broadcast_to(np.array(score, np.int32)[:, None, None], game.totals.shape).copy()
    boxes = boxes_of(totals)
    return replace(game, totals=totals, boxes=boxes, rounds=boxes[:, 0].sum(axis=0))


def knocks(policy: Policy, view: View, legal: Legal, score: tuple[int, int]) -> NDArray[np.float32]:
    """The chance to knock at a score, [B]."""
    assert view.game is not None
    shown = replace(view, game=at_score(view.game, score))
    likely = policy.probabilities(shown, legal)
    chance: NDArray[np.float32] = likely[:, actions.KNOCK : actions.STOCK].sum(axis=1)
    return chance


def table(policy: Policy, rules: Rules, lanes: int, steps: int) -> str:
    """Chances to knock by score and own turn, as Markdown."""
    found = positions(policy, rules, lanes, steps)
    turns = np.concatenate([own_turn(view) for view, _ in found])
    lines = [
        "| own total - opponent's | all | "
        + " | ".join(f"turns {a} to {b}" for a, b in TURNS)
        + " |",
        "| --- |" + " ---: |" * (1 + len(TURNS)),
    ]
    for score in SCORES:
        chance = np.concatenate([knocks(policy, *each, score) for each in found])
        parts = [(turns >= a) & (turns <= b) for a, b in TURNS]
        cells = [chance.mean(), *(chance[part].mean() for part in parts)]
        shown = " | ".join(f"{100 * cell:.1f} %" for cell in cells)
        lines.append(f"| {score[0]} - {score[1]} | {shown} |")
    return "\n".join([*lines, "", f"{len(turns):,} positions."])


def unaware(policy: Policy, rules: Rules, deals: int) -> str:
    """Games against the same weights that are not shown the score."""
    blind = Policy(policy.actor, in_games=False)
    decks, choices = (np.random.default_rng(each) for each in arena.seeds(1))
    results = arena.play(rules, (policy, blind), deals, decks, choices, episode="game")
    tally = Tally.of(results, 1.0)
    wins = rate_interval(tally.wins(0))
    points = report_tally(("policy", "unaware"), tally)["points_per_hand"]
    low, high = 100 * wins["low"], 100 * wins["high"]
    return (
        f"Against itself not shown the score: {100 * wins['mean']:.2f} % of games "
        f"[{low:.2f}, {high:.2f}], {points['mean']:+.2f} points a hand, {deals:,} deals twice."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("policy", help=f"{', '.join(POLICIES)} or a policy file")
    parser.add_argument("--rules", default="classic", help="preset (default classic)")
    parser.add_argument("--lanes", type=int, default=256, help="games at once for positions")
    parser.add_argument("--steps", type=int, default=400, help="decisions of each")
    parser.add_argument("--deals", type=int, default=0, help="of games against itself unaware")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rules = preset(options.rules)
    try:
        policy = agents.load(options.policy, rules)
    except (PolicyFileError, ValueError) as error:
        parser.error(str(error))
    if not isinstance(policy, Policy) or not policy.in_games:
        parser.error(f"{options.policy}: must be a policy that was trained on games")
    print(table(policy, rules, options.lanes, options.steps))
    if options.deals:
        print("\n" + unaware(policy, rules, options.deals))


if __name__ == "__main__":
    main()
