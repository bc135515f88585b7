"""Several processes (ranks) that train together, in touch through torch.distributed (gloo)."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

PATIENCE = timedelta(minutes=10)
"""How long ranks wait for one another, also while the first one evaluates."""


class LostProcessError(RuntimeError):
    """Another process of the run has ended, or cannot be reached."""


def world_size() -> int | None:
    """How many ranks somebody (torchrun, or rank 0) has started; None if nobody has."""
    return int(os.environ["WORLD_SIZE"]) if "RANK" in os.environ else None


def under_torchrun() -> bool:
    """Whether torchrun has started this process: it may do so again by the same command."""
    return "TORCHELASTIC_RUN_ID" in os.environ


@contextmanager
def ranks(count: int, command: Sequence[str]) -> Iterator[int]:
    """This process's rank, with all ``count`` of them in touch; one alone needs no others.

    Where nobody (torchrun) has started them, this process becomes rank 0 and starts the others by
    ``command``; it waits for them at the end, and ends them if it fails itself. Raises
    LostProcessError when one is lost.
    """
    if count == 1:
        yield 0
        return
    import torch.distributed as distributed

    others = _start_others(count, command) if world_size() is None else []
    try:
        with _touch():
            distributed.init_process_group("gloo", timeout=PATIENCE)
        yield distributed.get_rank()
        distributed.destroy_process_group()
    except BaseException:
        for other in others:
            other.kill()
        raise
    finally:
        for other in others:
            other.wait()


def _start_others(count: int, command: Sequence[str]) -> list[subprocess.Popen[bytes]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(count)}
    os.environ.update({**meeting, "RANK": "0"})
    return [
        subprocess.Popen([sys.executable, *command], env={**os.environ, "RANK": str(rank)})
        for rank in range(1, count)
    ]


def add_up(values: Tensor) -> None:
    """The sum over all ranks, in place."""
    import torch.distributed as distributed

    with _touch():
        distributed.all_reduce(values)


def greatest(values: Tensor) -> None:
    """The greatest of each value over all ranks, in place."""
    import torch.distributed as distributed

    with _touch():
        distributed.all_reduce(values, op=distributed.ReduceOp.MAX)


def gather(own: Any) -> list[Any]:
    """What each rank has, in order: tensors, numbers and texts in dicts and lists."""
    import torch.distributed as distributed

    every: list[Any] = [None] * distributed.get_world_size()
    with _touch():
        distributed.all_gather_object(every, packed(own))
    return [unpacked(each) for each in every]


def packed(state: Any) -> bytes:
    """Tensors, numbers and texts in dicts and lists as bytes, for another process."""
    import torch

    # As a file in memory: torch cannot pickle all of its kinds of numbers.
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def unpacked(data: bytes) -> Any:
    """What :func:`packed` was given."""
    import torch

    return torch.load(io.BytesIO(data), weights_only=True)


@contextmanager
def _touch() -> Iterator[None]:
    """Gloo tells of a lost rank by RuntimeError, as torch does of much else."""
    try:
        yield
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:120]
        raise LostProcessError(f"lost touch with another rank ({reason})") from None
