"""A program in any language as an agent: ``ginenv-protocol/1``, docs/PROTOCOL.md.

It runs once for each chair (see :class:`agents.told.Told`); of each process many hands are asked at
a time.
"""

from __future__ import annotations

import shlex
import shutil
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents import UnknownAgentError
from agents.chair import Chair, Limits, Question, work
from agents.process import part
from agents.told import Told
from ginenv import actions
from ginenv.actions import Legal
from ginenv.observation import View
from ginenv.rules import Rules

_WORDS = [actions.format(action) for action in range(actions.NUM_ACTIONS)]


class FaultyProgramWarning(UserWarning):
    """A program has forfeited hands."""


def load(name: str, rules: Rules) -> Program:
    """The program of ``cmd:COMMAND``, or with another limit for a move ``cmd@SECONDS:COMMAND``.

    Raises UnknownAgentError that says what is wrong with it.
    """
    head, _, words = name.partition(":")
    _, at, seconds = head.partition("@")
    try:
        limits = Limits(move=float(seconds)) if at else Limits()
        command = shlex.split(words)
    except ValueError as error:
        raise UnknownAgentError(f"{name}: {error}") from None
    if not 0 < limits.move < float("inf"):
        raise UnknownAgentError(f"{name}: the seconds for a move must be above 0")
    if not command or shutil.which(command[0]) is None:
        raise UnknownAgentError(f"{name}: there is no such command; write cmd:COMMAND")
    return Program(name, command, rules, limits)


class Program:
    """A program that answers questions on its standard input; an :class:`agents.told.Asked`."""

    def __init__(
        self, name: str, command: Sequence[str], rules: Rules, limits: Limits | None = None
    ) -> None:
        self.name, self.command, self.rules = name, command, rules
        self.limits = limits or Limits()
        self.faults: Counter[str] = Counter()
        """Hands forfeited since the last :meth:`close`, by reason."""
        self.first_fault = ""
        self._chairs: dict[int, Chair] = {}

    def act(self, view: View, legal: Legal, generator: np.random.Generator) -> NDArray[np.intp]:
        """Raises TypeError: a program has to be told hands from the deal on."""
        raise TypeError(f"{self.name}: a program plays in the arena only")

    def ask(self, view: View, legal: Legal, hands: Sequence[Told]) -> NDArray[np.intp]:
        """See :class:`agents.told.Asked`. FORFEIT where the program has broken the rules."""
        questions: dict[int, list[Question]] = {}
        for told, mask in zip(hands, actions.mask(legal), strict=True):
            words = [_WORDS[action] for action in np.flatnonzero(mask).tolist()]
            questions.setdefault(told.chair, []).append(Question(told, words))
        asked = {number: self._chair(number) for number in questions}
        for number, chair in asked.items():
            chair.ask(questions[number])
        while open_chairs := [chair for chair in asked.values() if chair.open]:
            work(open_chairs)
        return np.array([asked[told.chair].answers[told] for told in hands], dtype=np.intp)

    def ended(self, hands: Sequence[Told], results: Sequence[dict[str, Any]]) -> None:
        """See :class:`agents.told.Asked`."""
        for told, result in zip(hands, results, strict=True):
            self._chair(told.chair).end_hand(told, result)

    def close(self) -> None:
        """End all processes; warn of what was forfeited."""
        chairs, self._chairs = self._chairs.values(), {}
        processes = [chair.process for chair in chairs if chair.process is not None]
        for process in processes:
            process.send("bye\n")
        part(processes, self.limits.end)
        faults, self.faults = self.faults, Counter()
        if faults:
            listed = ", ".join(f"{count} x {reason}" for reason, count in faults.most_common())
            hands = f"{faults.total()} hand{'s' * (faults.total() != 1)}"
            warnings.warn(
                f"{self.name} forfeited {hands} ({listed}); the first: {self.first_fault}",
                FaultyProgramWarning,
                stacklevel=2,
            )
            self.first_fault = ""

    def note(self, reason: str, detail: str) -> None:
        """A hand is forfeited."""
        self.first_fault = self.first_fault or detail
        self.faults[reason] += 1

    def _chair(self, number: int) -> Chair:
        if number not in self._chairs:
            self._chairs[number] = Chair(self.command, self.rules, self.limits, self.note)
        return self._chairs[number]
