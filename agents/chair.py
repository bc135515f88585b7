"""One process of a program that plays hands by ``ginenv-protocol/1``, docs/PROTOCOL.md.

All questions of a batch are sent, then all answers are read. A bad answer forfeits its hand. What
can't be told to belong to a hand, and silence, and a crash, end the process: the question that has
been open longest forfeits its hand, and a new process is told the others from their deal on, a
bounded number of times.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from agents.process import LineProcess, wait
from agents.told import FORFEIT, Told
from ginenv import actions
from ginenv.rules import Rules

PROTOCOL = "ginenv-protocol/1"


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a program may take, in seconds, and how often it may fall."""

    move: float = 10.0
    """From a question, or from the last answer while more questions are open, to an answer."""
    each: float = 0.01
    """More for each open question: time to read them, or to answer them all at once."""
    start: float = 60.0
    """From its start to its hello."""
    end: float = 2.0
    """From bye to its end, before it is killed."""
    restarts: int = 10
    """Of each chair."""


@dataclass(slots=True)
class Question:
    """What to play in a hand."""

    told: Told
    legal: list[str]
    """In words."""


class FaultError(Exception):
    """What ends the process. ``hand``: the number of the hand to blame, if it is known."""

    def __init__(self, reason: str, detail: str, hand: int | None = None) -> None:
        super().__init__(detail)
        self.reason, self.hand = reason, hand


class Chair:
    """The hands of a chair, and the process that plays them.

    ``note``: called with reason and details for each hand that is forfeited.
    """

    def __init__(
        self,
        command: Sequence[str],
        rules: Rules,
        limits: Limits,
        note: Callable[[str, str], None],
    ) -> None:
        self.command, self.rules, self.limits, self.note = command, rules, limits, note
        self.answers: dict[Told, int] = {}
        """To the questions of this batch."""
        self.open: dict[int, Question] = {}
        """Those without an answer, by the number of the hand; the oldest first."""
        self._batch: dict[int, Told] = {}
        self._numbers: dict[Told, int] = {}
        """Of hands in play."""
        self._hands = 0
        """Numbers given so far."""
        self._sent: dict[Told, int] = {}
        """Events that this process has been told of, by hand."""
        self._starts_left = 1 + self.limits.restarts
        self._gone = "it has been started as often as it may"
        self._greeted = False
        self.deadline = 0.0
        """When its time for an answer, or for its hello, is up."""
        self.process: LineProcess | None = None

    # Talking.

    def ask(self, questions: Iterable[Question]) -> None:
        """Send the questions of a batch."""
        self.answers.clear()
        self._batch.clear()
        for question in questions:
            number = self._number(question.told)
            self.open[number], self._batch[number] = question, question.told
        if self.process is None:
            self._start()
        try:
            self._check_peace()
        except FaultError as fault:
            self._fall(fault)
        else:
            self._send_questions()

    def end_hand(self, told: Told, result: dict[str, Any]) -> None:
        """Tell how a hand has ended."""
        if self.process is None:
            self._start()
        number = self._number(told)
        self._send([*self._news(number, told), f"result {number} {json.dumps(result)}"])
        del self._numbers[told]
        self._sent.pop(told, None)

    def _number(self, told: Told) -> int:
        if told not in self._numbers:
            self._hands += 1
            self._numbers[told] = self._hands
        return self._numbers[told]

    def _news(self, number: int, told: Told) -> list[str]:
        """What this process has not been told of a hand."""
        lines = []
        if told not in self._sent:
            self._sent[told] = 0
            lines.append(
                f"deal {number} seat {told.seat} dealer {told.dealer} limit {told.limit} "
                f"upcard {told.upcard} hand {told.hand}"
            )
            if told.score is not None:
                lines.append(f"score {number} {json.dumps(told.score)}")
        new = told.events[self._sent[told] :]
        self._sent[told] += len(new)
        return lines + [f"did {number} {event}" for event in new]

    def _send(self, lines: Iterable[str]) -> None:
        if self.process is not None:
            self.process.send("".join(line + "\n" for line in lines))

    def _send_questions(self) -> None:
        if not self.open:
            return
        lines = []
        for number, question in self.open.items():
            lines += self._news(number, question.told)
            lines.append(f"ask {number} {', '.join(question.legal)}")
        self._send([*lines, "go"])
        self._wind()

    def _wind(self) -> None:
        """Let the time for the next answer begin."""
        if self._greeted:
            limits = self.limits
            self.deadline = time.monotonic() + limits.move + limits.each * len(self.open)

    # Listening.

    def hear(self) -> None:
        """Take in what the process has said, and see whether it is in time."""
        try:
            self._hear()
        except FaultError as fault:
            self._fall(fault)

    def _check_peace(self) -> None:
        """Raise FaultError if since the last batch the process has ended or spoken out of turn."""
        process = self.process
        if process is None:
            return
        process.read()
        while (line := process.peek()) is not None:
            if self._greeted:
                raise self._not_asked(line)
            process.drop()
            self._greet(line)
        if process.closed:
            raise self._broken_off(process)

    def _broken_off(self, process: LineProcess) -> FaultError:
        code = process.exit_code(0.2)
        how = "closed its output" if code is None else f"ended with exit code {code}"
        return FaultError("crashed" if self._greeted else "did not start", f"it {how}")

    def _not_asked(self, line: str) -> FaultError:
        number = self._number_in(line)
        known = number if number in self._batch else None
        return FaultError("not asked", f"it said {line[:80]!r}, and was not asked that", known)

    def _hear(self) -> None:
        process = self.process
        if process is None:
            return
        while (line := process.peek()) is not None:
            if not self.open and self._number_in(line) not in self._batch:
                return  # the next batch will pay for it
            process.drop()
            if self._greeted:
                self._take(line)
            else:
                self._greet(line)
        if not self.open:
            return
        if process.closed:
            raise self._broken_off(process)
        if time.monotonic() > self.deadline:
            if not self._greeted:
                raise FaultError("did not start", f"no hello within {self.limits.start:g} s")
            raise FaultError("silent", f"no answer within {self.limits.move:g} s a move")

    def _greet(self, line: str) -> None:
        if line.split()[:2] != ["hello", PROTOCOL]:
            raise FaultError("did not start", f"it said {line[:80]!r} and not 'hello {PROTOCOL}'")
        self._greeted = True
        self._wind()

    @staticmethod
    def _number_in(line: str) -> int | None:
        """The number that a line begins with."""
        word = (line.split() or [""])[0]
        return int(word) if word.isascii() and word.isdigit() and len(word) < 10 else None

    def _take(self, line: str) -> None:
        """An answer, or what should be one."""
        number = self._number_in(line)
        if number is None:
            raise FaultError("no answer", f"it said {line[:80]!r}, which is no answer")
        if number not in self.open:
            raise self._not_asked(line)
        question = self.open.pop(number)
        words = " ".join(line.split()[1:])
        legal = words in question.legal
        if not legal:
            told = f"legal: {', '.join(question.legal)}"
            self.note("illegal move", f"{words[:80]!r} in hand {number}; {told}")
        self.answers[question.told] = actions.parse(words) if legal else FORFEIT
        self._wind()

    # Falling.

    def _fall(self, fault: FaultError) -> None:
        """End the process, forfeit a hand, and go on with another process."""
        if self.process is not None:
            self.process.end()
            self.process = None
        if not self._greeted:
            self._starts_left = 0  # it would not start another time either
        number = next(iter(self.open)) if fault.hand is None else fault.hand
        self.open.pop(number, None)
        told = self._batch[number]
        if self.answers.get(told) != FORFEIT:  # not by an illegal move already
            self.answers[told] = FORFEIT
            self.note(fault.reason, str(fault))
        self._start()
        self._send_questions()

    def _start(self) -> None:
        """Start a process, or where that is not to be tried any more give up what is open."""
        if self._starts_left > 0:
            self._starts_left -= 1
            try:
                self.process = LineProcess(self.command)
            except OSError as error:
                self._starts_left, self._gone = 0, f"it does not start: {error}"
        if self.process is None:
            for question in self.open.values():
                self.answers[question.told] = FORFEIT
                self.note("not started again", self._gone)
            self.open.clear()
            return
        self._greeted = False
        self._sent.clear()
        self.deadline = time.monotonic() + self.limits.start
        self._send([f"hello {PROTOCOL}", f"rules {json.dumps(self.rules.to_dict())}"])


def work(chairs: Sequence[Chair]) -> None:
    """Wait for what the processes of chairs with open questions say, and take it in."""
    first = min(chair.deadline for chair in chairs)
    processes = [chair.process for chair in chairs if chair.process is not None]
    wait(processes, first - time.monotonic())
    for chair in chairs:
        chair.hear()
