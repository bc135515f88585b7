"""A player of ginenv-protocol/1 in plain Python: docs/PROTOCOL.md.

    python evaluate.py "cmd:python examples/bot.py" simple

It takes an upcard that it can meld, throws what leaves the least deadwood and knocks at once.
"""

import itertools
import sys

RANKS = "A23456789TJQK"
POINTS = {rank: min(points, 10) for points, rank in enumerate(RANKS, start=1)}
RUNS = [RANKS[first:end] for first, end in itertools.combinations(range(14), 2) if end - first > 2]


def melds(hand):
    """Every set and run of these cards."""
    for rank in RANKS:
        same = [card for card in hand if card[0] == rank]
        yield from map(set, [*itertools.combinations(same, 3), *itertools.combinations(same, 4)])
    for suit, run in itertools.product("cdhs", RUNS):
        if all(rank + suit in hand for rank in run):
            yield {rank + suit for rank in run}


def deadwood(hand, choices):
    """The least points that are in none of these melds, each card in one at most."""
    least = sum(POINTS[card[0]] for card in hand)
    for place, meld in enumerate(choices, start=1):
        if meld <= hand:
            least = min(least, deadwood(hand - meld, choices[place:]))
    return least


def choose(hand, upcard, legal):
    """One of the legal actions, which come with the knocks after the discards."""
    if legal[0] not in ("stock", "take", "pass"):
        choices = list(melds(hand))
        return min(reversed(legal), key=lambda action: deadwood(hand - {action[-2:]}, choices))
    if "take" in legal and any(upcard in meld for meld in melds(hand | {upcard})):
        return "take"
    return "pass" if "pass" in legal else "stock"


hands, upcards = {}, {}
for line in sys.stdin:
    word, number, *rest = [*line.split(), ""]
    if word == "hello":
        print("hello ginenv-protocol/1 bot", flush=True)
    elif word == "deal":  # seat 0 dealer 1 limit 10 upcard 7s hand 4c ...
        hands[number], upcards[number] = set(rest[9:-1]), rest[7]
    elif word == "did":  # you stock 5h
        who, what, card = rest[:3]
        upcards[number] = card if what == "discard" else upcards[number]
        hands[number] ^= {card} if who == "you" and card else set()  # in, or out of the hand
    elif word == "ask":
        legal = " ".join(rest[:-1]).split(", ")
        print(number, choose(hands[number], upcards[number], legal), flush=True)
