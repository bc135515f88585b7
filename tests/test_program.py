"""Programs as players: what they are told and no more, and that none of them stops a run."""

from __future__ import annotations

import ast
import dataclasses
import json
import os
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import agents
from agents import arena, chair, program, serve
from agents.chair import Limits
from agents.figures import Results
from agents.program import FaultyProgramWarning, Program
from agents.simple import Simple
from agents.told import Asked, Telling, result
from ginenv import actions, cards, engine, observation, replay, scoring
from ginenv import play as playing
from ginenv.observation import View
from ginenv.rules import PRESETS, Rules, preset

ROOT = Path(__file__).parent.parent
RULES = {
    **{name: preset(name) for name in PRESETS},
    "fiftieth card": Rules(last_discard="may_knock", stock_floor=17, big_gin_bonus=31),
    "doubles": Rules(spade_upcard_doubles=True, spade_knock_doubles=True, tie="draw"),
    "short": Rules(turn_limit=7, first_upcard="open", best_of=3, target=30),
    "small deck": Rules(num_ranks=5, num_suits=3, hand_size=4, stock_floor=0),
}


def play(
    rules: Rules, players: list[Any], deals: int, episode: str = "hand", seed: int = 0, **more: Any
) -> Results:
    generators = np.random.default_rng(seed), np.random.default_rng(1)
    return arena.play(rules, players, deals, *generators, episode=episode, **more)


def forfeits(results: Results, agent: int) -> int:
    hands = results.hands
    lost = (hands.kind == scoring.FORFEIT) & (hands.winner != agent)
    return int((lost & hands.played_by(agent)).sum())


# Programs that keep to the rules.


class InProcess:
    """Stands in for a process: an agent of ours that is spoken to in lines."""

    started: list[InProcess]

    def __init__(self, command: list[str]) -> None:
        self.server = serve.Server(command[0], seed=5)
        self.said: list[str] = []
        self.log: list[str] = []
        self.closed = self.unsent = False
        self.started.append(self)

    def send(self, text: str) -> None:
        for line in text.splitlines():
            self.log.append(line)
            answers = self.server.hear(line)
            self.said += answers
            self.log += [f"< {answer}" for answer in answers]

    def peek(self) -> str | None:
        return self.said[0] if self.said else None

    def drop(self) -> None:
        self.said.pop(0)

    def read(self) -> None: ...
    def end(self) -> None: ...
    def hang_up(self) -> None: ...
    def exit_code(self, seconds: float) -> None: ...
    def register(self, selector: Any) -> None: ...


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> type[InProcess]:
    InProcess.started = []
    monkeypatch.setattr(chair, "LineProcess", InProcess)
    return InProcess


class Mixed:
    """Plays as Simple does, but now and then anything; it keeps the views that it was given."""

    def __init__(self) -> None:
        self.seen: list[View] = []

    def act(self, view, legal, generator):  # type: ignore[no-untyped-def]
        self.seen.append(view)
        chosen = Simple().act(view, legal, generator)
        anything = agents.load("random", Rules()).act(view, legal, generator)
        return np.where(generator.random(len(view)) < 0.15, anything, chosen)


def same(one: Any, other: Any) -> None:
    """Both have the same fields with the same values, of the same kinds."""
    assert type(one) is type(other)
    for field in dataclasses.fields(one):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if isinstance(mine, np.ndarray):
            assert mine.dtype == theirs.dtype, field.name
            np.testing.assert_array_equal(mine, theirs, err_msg=field.name)
        elif dataclasses.is_dataclass(mine) and field.name != "rules":
            same(mine, theirs)
        else:
            assert mine == theirs, field.name


def part(known: View, rows: list[int]) -> View:
    """Some lanes of a view."""
    game = known.game
    if game is not None:
        cut = {
            name: getattr(game, name)[..., rows]
            for name in ("totals", "boxes", "column_open", "games", "rounds")
        }
        game = dataclasses.replace(game, **cut)
    columns = {
        field.name: getattr(known, field.name)[rows]
        for field in dataclasses.fields(View)
        if field.name not in ("rules", "game")
    }
    return View(known.rules, **columns, game=game)


class Compared(Program):
    """A program whose agent must have been given what the engine knows, and answer as it does."""

    lanes = 0

    def ask(self, view, legal, hands):  # type: ignore[no-untyped-def]
        chosen = super().ask(view, legal, hands)
        for number, seated in self._chairs.items():
            rows = [row for row, told in enumerate(hands) if told.chair == number]
            if rows:
                server = seated.process.server  # type: ignore[union-attr]
                same(server._agent.seen.pop(), part(view, rows))
                self.lanes += len(rows)
        assert actions.contains(actions.words(legal), chosen).all()
        return chosen


GAMES = {"cardcouch": 3, "oklahoma": 1, "hollywood": 1, "cutthroat": 3, "partnership": 3}
"""Best of how many."""


@pytest.mark.parametrize(
    ("name", "episode"),
    [*((name, "hand") for name in RULES), *((name, "match") for name in GAMES)],
)
def test_a_view_follows_from_what_is_told(
    name: str, episode: str, in_process: type[InProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For whole hands and games, of both sides: the engine's view of the seat on move, built from
    the lines alone."""
    rules = RULES[name]
    if episode == "match":
        rules = dataclasses.replace(rules, best_of=GAMES[name], target=5)
    monkeypatch.setattr(serve, "_load", lambda name, rules: Mixed())
    player = Compared("mixed", ["mixed"], rules)
    results = play(rules, [player] * rules.num_sides, 3 if episode == "hand" else 1, episode)
    assert results.illegal.sum() == 0
    assert not (results.hands.kind == scoring.FORFEIT).any()
    assert player.lanes >= 20
    chairs = len(arena.seatings(rules)) * rules.num_players
    assert len(in_process.started) == chairs
    assert all(process.log[-1] == "bye" for process in in_process.started)


def test_decisions_are_those_of_the_agent_itself(in_process: type[InProcess]) -> None:
    """Given the same generator, simple in a program decides as simple does, hand by hand."""

    class Twin(Program):
        generators: dict[int, np.random.Generator]
        decided = 0

        def ask(self, view, legal, hands):  # type: ignore[no-untyped-def]
            chosen = super().ask(view, legal, hands)
            for number in {told.chair for told in hands}:
                rows = [row for row, told in enumerate(hands) if told.chair == number]
                twin = self.generators.setdefault(number, np.random.default_rng(5))
                again = Simple().act(part(view, rows), legal.take(np.array(rows)), twin)
                assert again.tolist() == chosen[rows].tolist()
                self.decided += len(rows)
            return chosen

    rules = preset("oklahoma")
    player = Twin("simple", ["simple"], rules)
    player.generators = {}
    play(rules, [player, Simple()], 40)
    assert player.decided > 300


def test_the_page_shows_a_conversation_as_it_is(in_process: type[InProcess]) -> None:
    page = (ROOT / "docs" / "PROTOCOL.md").read_text()
    shown = page.split("```\nhello ")[1].split("```")[0].splitlines()
    shown[0] = f"hello {shown[0]}"
    play(Rules(), [Program("simple", ["simple"], Rules()), Simple()], 1, seed=385)
    told = in_process.started[0].log
    for line, again in zip(told, shown, strict=True):
        head, dots, _ = again.partition(" ...}")
        assert line.startswith(head) if dots else line == again
    assert program.Limits() == Limits(move=10, each=0.01, start=60, end=2, restarts=10)


def speak(bot: str, rules: Rules | None = None, **limits: float) -> Program:
    """A program in Python; ``bot``: what it does when asked the ``asked``-th time."""
    code = f"""
import os, sys, time
def say(text):
    os.write(1, text.encode())
def once():
    try:
        os.close(os.open(sys.argv[1], os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True
asked = 0
for line in sys.stdin:
    word, number, *rest = [*line.split(), ""]
    if word == "hello":
        say("hello ginenv-protocol/1\\n")
    if word == "ask":
        asked += 1
        right = number + " " + " ".join(rest[:-1]).split(", ")[0] + "\\n"
{textwrap.indent(textwrap.dedent(bot), "        ")}
"""
    command = [sys.executable, "-I", "-S", "-c", code]
    return Program("bot", command, rules or Rules(), Limits(**limits))  # type: ignore[arg-type]


def test_a_program_that_plays_by_the_rules_forfeits_nothing() -> None:
    rules = preset("partnership", target=60)
    results = play(rules, [speak("say(right)", rules), Simple()], 2, "game")
    assert not (results.hands.kind == scoring.FORFEIT).any()
    assert not results.unfinished.any()


def test_answers_may_come_in_any_order_and_all_at_once() -> None:
    bot = speak("answers = [right, *answers] if asked > 1 and answers else [right]")
    bot.command[-1] = bot.command[-1].replace("asked = 0", "asked, answers = 0, []")
    bot.command[-1] += "    if word == 'go': say(''.join(answers)); answers = []\n"
    results = play(Rules(), [bot, Simple()], 40)
    assert forfeits(results, 0) == 0


def test_empty_lines_are_left_alone() -> None:
    results = play(Rules(), [speak("say(' \\n\\x1c\\r\\n\\n ' + right)"), Simple()], 3)
    assert forfeits(results, 0) == 0


def test_the_example_bot_plays_as_simple_does_in_few_lines() -> None:
    path = ROOT / "examples" / "bot.py"
    code = path.read_text()
    assert len(code.splitlines()) < 60
    modules = {
        alias.name
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert modules <= set(sys.stdlib_module_names)
    name = f"cmd:{sys.executable} -I -S {path}"
    rules = preset("big_gin")
    results = play(rules, [agents.load(name, rules), Simple()], 60)
    assert forfeits(results, 0) == 0
    assert 0.35 < np.mean(results.hands.winner == 0) < 0.65


def test_served_agents_are_programs_too() -> None:
    command = [sys.executable, "-m", "agents.serve", "simple", "--seed", "1"]
    results = play(Rules(), [Program("served", command, Rules()), Simple()], 20)
    assert forfeits(results, 0) == results.illegal.sum() == 0
    done = subprocess.run(
        [*command[:3], "nobody"],
        input="hello ginenv-protocol/1\nrules {}\n",
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "'nobody' is no agent" in done.stderr


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["hello ginenv-protocol/9"], "speaks ginenv-protocol/1"),
        (["deal 1 seat 0 dealer 1 limit 10 upcard 7s hand 4c"], "before the rules"),
        (["rules {}", "deal 1 seat 0"], "KeyError"),
        (["rules {}", "did 3 you stock"], "KeyError"),
        (["rules nothing"], "Expecting value"),
    ],
)
def test_a_served_agent_says_what_it_can_not_read(lines: list[str], message: str) -> None:
    server = serve.Server("simple")
    *before, last = lines
    for line in before:
        server.hear(line)
    with pytest.raises(ValueError, match=message):
        server.hear(last)


def test_a_word_of_a_later_version_is_left_alone() -> None:
    assert serve.Server("simple").hear("news 7 of something") == []


# What is told.


def hidden_places(
    rules: Rules, deck: list[int], dealer: int, played: list[int], seat: int
) -> list[int]:
    """Where in the deck the cards are that a seat has not seen."""
    size = 2 * rules.hand_size
    known = {*deck[int(seat == dealer) : size : 2], deck[size]}
    mover, stock = 1 - dealer, size + 1
    for action in played:
        if action == actions.STOCK:
            if mover == seat:
                known.add(deck[stock])
            stock += 1
        elif action < actions.KNOCK:
            known.add(action)
        if action < actions.KNOCK or action == actions.PASS:
            mover = 1 - mover
    return [place for place, card in enumerate(deck) if card not in known]


def script(rules: Rules, deck: list[int], dealer: int, rng: np.random.Generator) -> list[int]:
    """A hand up to its knock, if it has one."""
    state = engine.deal(rules, np.array([deck], np.uint8), np.array([dealer]))
    agent, played = Mixed(), []
    while not state.over[0]:
        chosen = agent.act(observation.view(state), engine.legal(state), rng)
        engine.step(state, chosen)
        played.append(int(chosen[0]))
    return played[:-1] if actions.KNOCK <= played[-1] != actions.PASS else played


def told_of(
    rules: Rules, deck: list[int], dealer: int, played: list[int], seat: int, gives_up: bool
) -> list[str]:
    """The lines that a seat's program is sent while these actions are played."""
    InProcess.started = []
    bot = Program("simple", ["simple"], rules)
    there = playing.start(rules, "game", np.array([[deck]], np.uint8), np.array([dealer]))
    telling = Telling(there, 1)
    for action in [*played, actions.NUM_ACTIONS]:
        if there.waits[0]:
            break
        if there.mover[0] == seat:
            legal = engine.legal(there.hands)
            bot.ask(playing.view(there, there.hands), legal, [telling.hands[0][seat]])
        if action < actions.NUM_ACTIONS:
            chosen = np.array([action])
            telling.add(there.hands, np.array([0]), chosen)
            playing.step(there, chosen)
        elif gives_up:
            telling.add(there.hands, np.array([0]), np.array([-1]))
            engine.forfeit(there.hands, np.array([0]))
    if there.hands.over[0] and there.hands.mover[0] == seat:
        # Of a forfeit the points tell what the other held: they are the same for this seat only.
        bot.ended([telling.hands[0][seat]], [result(there.hands, 0, seat)])
    return [line for process in InProcess.started for line in process.log]


@pytest.mark.parametrize("gives_up", [False, True])
@pytest.mark.parametrize("name", ["classic", "oklahoma", "hollywood", "fiftieth card", "doubles"])
def test_cards_that_a_seat_has_not_seen_change_no_byte(
    name: str, gives_up: bool, in_process: type[InProcess]
) -> None:
    """The same hand from a second deck, in which the cards that a seat never saw have changed
    places: its program is sent the same."""
    rules, different = RULES[name], 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        deck = engine.shuffle(rules, rng, 1)[0].tolist()
        dealer, seat = int(rng.integers(2)), int(rng.integers(2))
        played = script(rules, deck, dealer, rng)
        places = hidden_places(rules, deck, dealer, played, seat)
        second = list(deck)
        for place, source in zip(places, rng.permutation(places), strict=True):
            second[place] = deck[source]
        different += deck != second
        lines = [told_of(rules, d, dealer, played, seat, gives_up) for d in (deck, second)]
        assert lines[0] == lines[1]
        assert sum(line.startswith("ask") for line in lines[0]) >= 1
    assert different == 4


def test_the_card_of_a_knock_and_the_other_hand_are_not_told(
    in_process: type[InProcess],
) -> None:
    rules = Rules()
    kept: list[Any] = []
    play(
        rules,
        [Program("simple", ["simple"], rules), Simple()],
        30,
        recorder=lambda seats, games: kept.append((seats, games[0][0])),
    )
    ends = {"you": 0, "other": 0}
    for process in in_process.started:
        seat = 1 if any(" seat 1 " in line for line in process.log) else 0
        hands = {
            cards.format(cards.from_ids(hand.deck[int(seat == hand.dealer) : 20 : 2])): hand
            for seats, hand in kept
            if seats[seat] == 0
        }
        knocks = [line.split() for line in process.log if " knock" in line and "did" in line]
        for _, _, who, _, *card in knocks:
            assert bool(card) == (who == "you")
            ends[who] += 1
        lines = [[*line.split(maxsplit=2), "", ""][:3] for line in process.log]
        dealt = {number: rest for word, number, rest in lines if word == "deal"}
        results = {number: rest for word, number, rest in lines if word == "result"}
        assert len(dealt) == len(results) == len(hands) == 30
        for number, told in results.items():
            whole = replay.outcome(rules, hands[dealt[number].split(" hand ")[1]])
            assert json.loads(told) == observation.known_result(whole, seat)
    assert min(ends.values()) > 10


def test_no_two_hands_of_a_process_share_a_deck(in_process: type[InProcess]) -> None:
    rules = preset("partnership", target=40)
    player = Program("simple", ["simple"], rules)
    play(rules, [player, player], 3, "game")
    assert len(in_process.started) == 8
    for process in in_process.started:
        deals = [line.split(" ", 2)[2] for line in process.log if line.startswith("deal ")]
        hands = [frozenset(deal.split(" hand ")[1].split()) for deal in deals]
        assert len(set(hands)) == len(hands) > 3
        upcards: dict[str, list[frozenset[str]]] = {}
        for deal, held in zip(deals, hands, strict=True):
            upcards.setdefault(deal.split(" upcard ")[1][:2], []).append(held)
        for same_upcard in upcards.values():
            pairs = [a & b for a in same_upcard for b in same_upcard if a is not b]
            assert all(pairs), "the other hand of a deal has no card of this one"


def test_a_program_gets_no_state_to_look_at() -> None:
    for name in ("program", "chair", "process"):
        tree = ast.parse((ROOT / "agents" / f"{name}.py").read_text())
        imported = {
            f"{node.module}.{alias.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        assert not {i for i in imported if i.endswith((".engine", ".State", ".play", ".match"))}
    assert isinstance(Program("bot", ["bot"], Rules()), Asked)
    assert not isinstance(Simple(), Asked)


# Programs that break the rules: each forfeits one hand, and the run goes on.

SLEEP = "time.sleep(60)"
FAULTS = {
    "illegal move": ("say(number + ' big-gin\\n' if once() else right)", "illegal move"),
    "no action": ("say(number + ' fold\\n' if once() else right)", "illegal move"),
    "no words": ("say(number + '\\n' if once() else right)", "illegal move"),
    "garbage": ("say(('hm\\n' if once() else '') + right)", "no answer"),
    "not UTF-8": ("os.write(1, b'\\xff\\xfe 1\\n') if once() else say(right)", "no answer"),
    "a number too long": ("say('9' * 3000 + ' take\\n' if once() else right)", "no answer"),
    "wrong number": ("say('999 pass\\n' if once() else right)", "not asked"),
    "answers twice": ("say(right * (1 + once()))", "not asked"),
    "answers late once more": (
        "say(right)\nif asked == 2 and once(): time.sleep(0.3); say('77 take\\n')",
        "not asked",
    ),
    "silence": (f"{SLEEP} if once() else say(right)", "silent"),
    "half a line": (f"(say(right[:-1]), {SLEEP}) if once() else say(right)", "silent"),
    "crash": ("os._exit(3) if once() else say(right)", "crashed"),
    "crash in a line": ("(say(right[:-1]), os._exit(3)) if once() else say(right)", "crashed"),
    "killed": ("os.kill(os.getpid(), 9) if once() else say(right)", "crashed"),
    "closes its output": (f"(os.close(1), {SLEEP}) if once() else say(right)", "crashed"),
    "endless line": ("while once() or asked < 0: asked = -1; say('x' * 9999)\nsay(right)", "no an"),
    "endless space": (
        "while once() or asked < 0: asked = -1; say(' ' * 9999)\nsay(right)",
        "no an",
    ),
    "endless lines": ("while once() or asked < 0: asked = -1; say('x\\n' * 999)\nsay(right)", "no"),
    "endless nothing": (
        "while once() or asked < 0: asked = -1; say('\\n' * 999)\nsay(right)",
        "silent",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_forfeits_one_hand_and_the_run_goes_on(name: str, tmp_path: Path) -> None:
    code, reason = FAULTS[name]
    bot = speak(code, move=3 if reason == "silent" else 60)
    bot.command += [str(tmp_path / "once")]
    kept: list[replay.Hand] = []
    start = time.monotonic()
    with pytest.warns(FaultyProgramWarning, match=rf"forfeited 1 hand \(1 x {reason}.*first: "):
        results = play(
            Rules(),
            [bot, Simple()],
            8,
            recorder=lambda _, games: kept.append(games[0][0]),
        )
    assert time.monotonic() - start < 20
    assert forfeits(results, 0) == 1
    assert forfeits(results, 1) == 0
    assert len(results.hands.kind) == 16
    assert results.illegal.tolist() == [0, 0]
    records = [replay.record(Rules(), ["a", "b"], [hand]) for hand in kept]
    for made in records:
        replay.check(json.loads(json.dumps(made)))
    assert sum(made["hands"][0]["result"]["kind"] == "forfeit" for made in records) == 1


HOPELESS = {
    "always silent": (SLEEP, "silent"),
    "always crashing": ("os._exit(1)", "crashed"),
    "never right": ("say(number + ' fold\\n')", "illegal move"),
    "always answering twice": ("say(right * 2)", "not asked"),
    "flooding": ("while True: say('no\\n' * 999)", "no answer"),
}


@pytest.mark.parametrize("name", HOPELESS)
def test_a_hopeless_program_forfeits_everything_in_bounded_time(name: str) -> None:
    code, reason = HOPELESS[name]
    bot = speak(code, move=0.2, restarts=2)
    start = time.monotonic()
    with pytest.warns(FaultyProgramWarning, match=reason):
        results = play(Rules(), [bot, Simple()], 20)
    assert time.monotonic() - start < 20
    assert forfeits(results, 0) == 40
    if reason not in ("illegal move",):
        assert results.hands.turns.max() <= 2


STARTS = {
    "ends at once": ("import sys; sys.exit(7)", "ended with exit code 7"),
    "says nothing": ("import time; time.sleep(60)", "no hello within 0.3 s"),
    "another version": ("print('hello ginenv-protocol/2')", "and not 'hello ginenv-protocol/1'"),
    "talks": ("print('Loading the model ...')", "it said 'Loading the model"),
}


@pytest.mark.parametrize("name", STARTS)
def test_a_program_that_does_not_start_is_not_started_again(name: str) -> None:
    code, message = STARTS[name]
    command = [sys.executable, "-I", "-S", "-c", code]
    bot = Program("bot", command, Rules(), Limits(start=0.3 if "nothing" in name else 20))
    start = time.monotonic()
    with pytest.warns(FaultyProgramWarning, match=message) as warned:
        results = play(Rules(), [Simple(), bot], 10)
    assert time.monotonic() - start < 10
    assert "18 x not started again, 2 x did not start" in str(warned[0].message)
    assert forfeits(results, 1) == 20


def test_a_program_that_never_reads_does_not_block(tmp_path: Path) -> None:
    """What it is sent is far more than a pipe holds."""
    code = "import time; print('hello ginenv-protocol/1', flush=True); time.sleep(60)"
    command = [sys.executable, "-I", "-S", "-c", code]
    bot = Program("bot", command, Rules(), Limits(move=0.2, each=0, end=0.1, restarts=1))
    start = time.monotonic()
    with pytest.warns(FaultyProgramWarning, match="silent"):
        results = play(Rules(), [bot, Simple()], 600)
    assert time.monotonic() - start < 20
    # A hand or two end before it is asked.
    assert forfeits(results, 0) + (results.hands.kind != scoring.FORFEIT).sum() == 1200
    assert forfeits(results, 0) > 1190


def test_the_others_are_told_a_new_process_from_their_deals_on(tmp_path: Path) -> None:
    """It falls once in the middle, and remembers nothing: what it plays is right all the same."""
    serving = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from agents import serve
class Falls(serve.Server):
    gos = 0
    def hear(self, line):
        self.gos += line == "go\\n"
        if self.gos == 9:
            try:
                os.close(os.open({str(tmp_path / "once")!r}, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                os._exit(1)
        return super().hear(line)
serve.serve(Falls("simple"), sys.stdin, sys.stdout)
"""
    bot = Program("bot", [sys.executable, "-c", serving], Rules())
    with pytest.warns(FaultyProgramWarning, match="forfeited 1 hand \\("):
        results = play(Rules(), [bot, Simple()], 20)
    assert forfeits(results, 0) == 1


def test_processes_end_with_the_run(tmp_path: Path) -> None:
    """After bye, or by force; and after a fault of somebody else's."""

    class Breaks(Simple):
        def act(self, view, legal, generator):  # type: ignore[no-untyped-def]
            raise KeyboardInterrupt

    note = tmp_path / "ids"
    code = (
        f"open({str(note)!r}, 'a').write(str(os.getpid()) + '\\n') if asked == 1 else 0\nsay(right)"
    )
    play(Rules(), [speak(code), Simple()], 3)
    with pytest.raises(KeyboardInterrupt):
        play(Rules(), [speak(code), Breaks()], 3)
    stubborn = speak(code, end=0.1)
    stubborn.command[-1] += f"{SLEEP}\n"
    play(Rules(), [stubborn, Simple()], 3)
    ids = [int(number) for number in note.read_text().split()]
    assert len(ids) >= 5
    for number in ids:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)


# Names.


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cmd:", "there is no such command"),
        ("cmd:no_such_command_here --fast", "there is no such command"),
        ("cmd:'python", "No closing quotation"),
        ("cmd@soon:python", "could not convert"),
        ("cmd@0:python", "above 0"),
        ("cmd@nan:python", "above 0"),
        ("command", "no agent: name one of random, simple.*program"),
    ],
)
def test_a_command_that_can_not_be_run_is_one_error(name: str, message: str) -> None:
    with pytest.raises(agents.UnknownAgentError, match=message) as raised:
        agents.load(name, Rules())
    assert "\n" not in str(raised.value)


def test_the_time_for_a_move_can_be_given() -> None:
    made = agents.load(f"cmd@2.5:{sys.executable} 'a b.py' -x my.safetensors", Rules())
    assert isinstance(made, Program)
    assert made.limits == Limits(move=2.5)
    assert made.command == [sys.executable, "a b.py", "-x", "my.safetensors"]


def test_a_program_is_for_the_arena() -> None:
    with warnings.catch_warnings(), pytest.raises(TypeError, match="in the arena only"):
        Program("bot", ["bot"], Rules()).act(None, None, None)  # type: ignore[arg-type]
