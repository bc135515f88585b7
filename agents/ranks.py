"""Several processes (ranks) that train together, in touch through torch.distributed (gloo)."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class LostRankError(RuntimeError):
    """Another rank has ended, or cannot be reached."""


@contextmanager
def ranks(count: int, command: Sequence[str]) -> Iterator[int]:
    """This process's rank, with all ``count`` of them in touch; one alone needs no others.

    Where nobody (torchrun) has started them, this process becomes rank 0 and starts the others by
    ``command``; it waits for them at the end. Raises ValueError if somebody has started another
    number of them, and LostRankError when one is lost.
    """
    if count == 1:
        yield 0
        return
    import torch.distributed as distributed

    others = [] if "RANK" in os.environ else _start_others(count, command)
    world = os.environ["WORLD_SIZE"]
    if int(world) != count:
        raise ValueError(f"ranks={count}: there are {world} processes, and it must be as many")
    try:
        distributed.init_process_group("gloo")
        yield distributed.get_rank()
        distributed.destroy_process_group()
    except RuntimeError as error:
        for other in others:
            other.kill()
        reason = " ".join(str(error).split())[:120]
        raise LostRankError(f"lost touch with another rank ({reason})") from None
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
