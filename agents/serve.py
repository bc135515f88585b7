"""Let an agent of this project play in another's harness: ``ginenv-protocol/1``, docs/PROTOCOL.md.

    python -m agents.serve simple
    python -m agents.serve runs/quick/policy.safetensors --seed 1

It speaks the program's side on standard input and output.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import agents
from agents.chair import PROTOCOL
from agents.told import Asked
from agents.tracker import Tracker, view
from ginenv import actions, cards
from ginenv import rules as rules_module
from ginenv.actions import Legal
from ginenv.rules import Rules


class ProtocolError(ValueError):
    """A line that is not of the protocol."""


class Server:
    """An agent that is spoken to in lines."""

    def __init__(self, name: str, seed: int | None = None) -> None:
        self.name = name
        self.generator = np.random.default_rng(seed)
        self.hands: dict[int, Tracker] = {}
        """Those in play, by number."""
        self._rules: Rules | None = None
        self._agent: agents.Agent | None = None
        self._asked: dict[int, str] = {}
        """The legal actions where it is asked to move."""

    def hear(self, line: str) -> list[str]:
        """What to say to a line.

        Raises ProtocolError for a line that is not of the protocol, and as :func:`agents.load`
        does when the rules are told. A word that it does not know is left alone.
        """
        word, _, rest = line.strip().partition(" ")
        try:
            return self._hear(word, rest)
        except (KeyError, IndexError, TypeError) as error:
            raise ProtocolError(f"{line.strip()!r}: {error!r}") from None

    def _hear(self, word: str, rest: str) -> list[str]:
        if word == "hello":
            if rest.split()[:1] != [PROTOCOL]:
                raise ProtocolError(f"this speaks {PROTOCOL}, not {rest!r}")
            return [f"hello {PROTOCOL} {self.name}"]
        if word == "rules":
            self._rules = rules_module.from_dict(json.loads(rest))
            self._agent = _load(self.name, self._rules)
        elif word == "go":
            return list(self._answers())
        elif word in ("deal", "score", "did", "ask", "result"):
            number, _, rest = rest.partition(" ")
            self._hear_of_hand(word, int(number), rest)
        return []

    def _hear_of_hand(self, word: str, number: int, rest: str) -> None:
        if word == "deal":
            if self._rules is None:
                raise ProtocolError("a deal before the rules")
            self.hands[number] = Tracker(self._rules, _deal(rest))
        elif word == "score":
            self.hands[number].score = json.loads(rest)
        elif word == "did":
            self.hands[number].hear(rest)
        elif word == "ask":
            self._asked[number] = rest
        else:
            del self.hands[number]

    def _answers(self) -> Iterator[str]:
        asked, self._asked = self._asked, {}
        if not asked or self._agent is None:
            return
        legal = _legal([words.split(", ") for words in asked.values()])
        known = view([self.hands[number] for number in asked])
        chosen = self._agent.act(known, legal, self.generator)
        for number, action in zip(asked, chosen.tolist(), strict=True):
            yield f"{number} {actions.format(action)}"


def _load(name: str, rules: Rules) -> agents.Agent:
    agent = agents.load(name, rules)
    if isinstance(agent, Asked):
        raise agents.UnknownAgentError(f"{name}: is a program already")
    return agent


def _deal(text: str) -> dict[str, str]:
    """``seat 0 dealer 1 limit 10 upcard 7s hand 4c 5c ...``: by word."""
    head, _, hand = text.partition(" hand ")
    words = head.split()
    return dict(zip(words[::2], words[1::2], strict=True)) | {"hand": hand}


def _legal(words: Sequence[Sequence[str]]) -> Legal:
    """Legal actions in words as sets of actions, a lane for each list."""
    sets = np.zeros((2, len(words)), dtype=np.uint64)
    others = np.zeros(len(words), dtype=np.uint8)
    bits = {
        actions.STOCK: actions.OTHER_STOCK,
        actions.TAKE: actions.OTHER_TAKE,
        actions.PASS: actions.OTHER_PASS,
        actions.BIG_GIN: actions.OTHER_BIG_GIN,
    }
    for lane, listed in enumerate(words):
        for action in map(actions.parse, listed):
            if action in bits:
                others[lane] |= bits[action]
            else:
                kind, card = divmod(action, actions.KNOCK)
                sets[kind, lane] |= cards.BIT[card]
    return Legal(sets[0], sets[1], others)


def serve(server: Server, lines: Any, out: Any) -> None:
    """Answer lines until there are no more, or bye."""
    for line in lines:
        if line.strip() == "bye":
            return
        said = server.hear(line)
        if said:
            out.write("".join(f"{answer}\n" for answer in said))
            out.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: 0, or 2 after an error in one line on stderr."""
    parser = argparse.ArgumentParser(prog="python -m agents.serve", description=__doc__)
    parser.add_argument("agent", help="name of an agent, or a policy file (.safetensors)")
    parser.add_argument("--seed", type=int, default=None, help="of its choices (default: none)")
    chosen = parser.parse_args(arguments)
    if chosen.agent.endswith(".safetensors"):
        import torch

        # Several of these may play side by side.
        torch.set_num_threads(1)
    try:
        serve(Server(chosen.agent, chosen.seed), sys.stdin, sys.stdout)
    except BrokenPipeError:
        # Nobody listens; what is still buffered must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except ValueError as error:
        print(f"agents.serve: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
