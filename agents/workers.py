"""Lanes of self-play in processes of their own: the engine beside a GPU, or on more cores.

Actions, rewards and what is seen lie in memory that all processes share; what is seen lies there as
bits, and is unpacked on the device of the networks.
"""

from __future__ import annotations

import ctypes
import signal
from collections.abc import Sequence
from multiprocessing import get_context, util
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agents import prospects
from agents.hand_counts import HandCounts
from agents.ranks import LostProcessError, packed, unpacked
from agents.selfplay import Look, SelfPlay
from ginenv import actions, cards, observation
from ginenv.rules import Rules

_BITS = observation.LAYOUT["deadwood_after"].start
"""So many entries of an observation, the first, are 0 or 1."""
_WIDTHS = (-(-_BITS // 8), prospects.SIZE - _BITS, -(-cards.NUM_CARDS // 8))
_PARTS = (*_WIDTHS, -(-actions.NUM_ACTIONS // 8))
ROW = sum(_PARTS)
"""Bytes of what is seen on a lane: the bits, the other entries, the hidden hand, the mask."""


class Board(NamedTuple):
    """The shared memory of B lanes."""

    movers: NDArray[np.int64]
    """[B]."""
    chosen: NDArray[np.int64]
    """[B]."""
    paid: NDArray[np.float32]
    """[B]."""
    over: NDArray[np.bool_]
    """[B]."""
    rows: NDArray[np.uint8]
    """[B, ROW]: see :func:`pack`."""

    @staticmethod
    def of(memory: Any, lanes: int, own: slice = slice(None)) -> Board:
        """Some of the lanes in memory that holds ``lanes`` times LANE_BYTES."""
        raw = np.frombuffer(memory, dtype=np.uint8)
        ends = (lanes * np.cumsum([8, 8, 4, 1])).tolist()
        movers, chosen, paid, over, rows = np.split(raw, ends)
        return Board(
            movers.view(np.int64)[own],
            chosen.view(np.int64)[own],
            paid.view(np.float32)[own],
            over.view(np.bool_)[own],
            rows.reshape(lanes, ROW)[own],
        )


LANE_BYTES = 8 + 8 + 4 + 1 + ROW


def pack(look: Look) -> NDArray[np.uint8]:
    """What is seen on B lanes, without the movers, uint8 [B, ROW]."""
    bits = (look.seen[:, :_BITS], look.hidden, look.masks)
    seen, hidden, masks = (np.packbits(part, axis=1, bitorder="little") for part in bits)
    return np.concatenate([seen, look.seen[:, _BITS:], hidden, masks], axis=1)


def unpack(rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """:class:`Look`'s ``seen``, ``hidden`` and ``masks`` again, on the device of the rows."""
    bits, rest, hidden, masks = rows.split(_PARTS, dim=1)
    seen = torch.cat([_unpack_bits(bits)[:, :_BITS], rest], dim=1)
    hands = _unpack_bits(hidden)[:, : cards.NUM_CARDS]
    return seen, hands, _unpack_bits(masks)[:, : actions.NUM_ACTIONS]


def _unpack_bits(data: Tensor) -> Tensor:
    """uint8 [B, n] -> 0 or 1, uint8 [B, 8 n], the lowest bit first."""
    places = torch.arange(8, dtype=torch.uint8, device=data.device)
    return ((data.unsqueeze(2) >> places) & 1).flatten(1)


class Workers:
    """As :class:`agents.selfplay.SelfPlay`, its lanes shared out among processes.

    A process for each of ``seeds``, which its decks come from; what is seen comes as tensors on
    ``device``. Raises LostProcessError when a process has ended.
    """

    def __init__(
        self,
        rules: Sequence[Rules],
        episodes: Sequence[str],
        lanes: int,
        seeds: Sequence[np.random.SeedSequence],
        device: torch.device,
        random_scores: float = 0.0,
    ) -> None:
        # Not forked: a copy of a process that has threads, or a GPU, may hang.
        context = get_context("spawn")
        memory = context.RawArray(ctypes.c_uint8, lanes * LANE_BYTES)
        self.board = Board.of(memory, lanes)
        self.device = device
        ends = np.linspace(0, lanes, len(seeds) + 1).astype(int).tolist()
        self._connections: list[Connection] = []
        for seed, start, end in zip(seeds, ends[:-1], ends[1:], strict=True):
            ours, theirs = context.Pipe()
            given = (theirs, memory, lanes, (start, end), rules, episodes, seed, random_scores)
            context.Process(target=_serve, args=given, daemon=True).start()
            theirs.close()
            self._connections.append(ours)
        # They end when their connections do; before Python waits for them at its own end.
        self.close = util.Finalize(self, _close, (self._connections,), exitpriority=10)
        self._answers()

    def look(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """As :class:`agents.selfplay.Look`, in tensors."""
        rows = torch.from_numpy(self.board.rows).to(self.device)
        movers = torch.from_numpy(self.board.movers).to(self.device)
        return *unpack(rows), movers

    def step(
        self,
        chosen: NDArray[np.intp],
        point_scale: float,
        chance_scale: float,
        counts: HandCounts,
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Play one action on each lane: what it paid the movers, and which hands ended."""
        self.board.chosen[:] = chosen
        for each in self._ask("step", point_scale, chance_scale):
            counts.add(each)
        return self.board.paid.copy(), self.board.over.copy()

    def new_chances(self) -> None:
        """Work out the tables of chances anew from the hands since, in each process."""
        self._ask("new_chances")

    def state_dict(self) -> dict[str, Any]:
        """All lanes and the generators."""
        return {"workers": [unpacked(state) for state in self._ask("state_dict")]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what :meth:`state_dict` gave, with the same rules, lanes and processes."""
        for connection, own in zip(self._connections, state["workers"], strict=True):
            self._send(connection, "load_state_dict", packed(own))
        self._answers()

    def load_chances(self, state: dict[str, Any]) -> None:
        """Take over the tables of chances alone, from the state of one :class:`SelfPlay`."""
        self._ask("load_chances", packed(state))

    def _ask(self, *message: Any) -> list[Any]:
        for connection in self._connections:
            self._send(connection, *message)
        return self._answers()

    def _send(self, connection: Connection, *message: Any) -> None:
        try:
            connection.send(message)
        except OSError:
            raise LostProcessError("an engine process has ended") from None

    def _answers(self) -> list[Any]:
        try:
            return [connection.recv() for connection in self._connections]
        except (EOFError, OSError):
            raise LostProcessError("an engine process has ended") from None


def _close(connections: list[Connection]) -> None:
    for connection in connections:
        connection.close()


def workers_of(lanes: dict[str, Any]) -> int:
    """How many processes' lanes a state holds, of :class:`Workers` or (none) of SelfPlay."""
    return len(lanes.get("workers", ()))


def one_state(lanes: dict[str, Any]) -> dict[str, Any]:
    """The first SelfPlay's state in either."""
    first: dict[str, Any] = lanes["workers"][0] if "workers" in lanes else lanes
    return first


def _serve(
    connection: Connection,
    memory: Any,
    lanes: int,
    part: tuple[int, int],
    rules: Sequence[Rules],
    episodes: Sequence[str],
    seed: np.random.SeedSequence,
    random_scores: float,
) -> None:
    """What a process does: play on some of the lanes until the connection is closed."""
    # A signal may reach all processes; whoever trains saves these lanes first.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    board = Board.of(memory, lanes, slice(*part))
    generator = np.random.default_rng(seed)
    play = SelfPlay(rules, episodes, part[1] - part[0], generator, random_scores=random_scores)
    _show(play, board)
    answer: Any = None
    try:
        while True:
            connection.send(answer)
            name, *given = connection.recv()
            answer = _answer(play, board, name, *given)
    except (EOFError, OSError):
        return


def _answer(play: SelfPlay, board: Board, name: str, *given: Any) -> Any:
    match name:
        case "step":
            counts = HandCounts()
            point_scale, chance_scale = given
            board.paid[:], board.over[:] = play.step(
                board.chosen, point_scale, chance_scale, counts
            )
            _show(play, board)
            return counts
        case "new_chances":
            play.new_chances()
        case "state_dict":
            return packed(play.state_dict())
        case "load_state_dict":
            play.load_state_dict(unpacked(*given))
            _show(play, board)
        case "load_chances":
            play.load_chances(unpacked(*given))
    return None


def _show(play: SelfPlay, board: Board) -> None:
    look = play.look()
    board.rows[:], board.movers[:] = pack(look), look.movers
