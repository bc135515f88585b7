"""A subprocess that is spoken to in lines, without ever waiting for it unasked (POSIX)."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence

LONGEST_LINE = 4096
_READ_AT_ONCE = 1 << 16


class LineProcess:
    """A command whose standard input and output are pipes of lines.

    What it writes to standard error goes where this process's goes. Nothing here blocks: lines to
    send are kept until the pipe takes them. Raises OSError if it can't be started.
    """

    def __init__(self, command: Sequence[str]) -> None:
        # A session of its own, so that it can be ended with all that it starts.
        self._popen = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self._stdin, self._stdout = self._popen.stdin, self._popen.stdout
        for pipe in (self._stdin, self._stdout):
            os.set_blocking(pipe.fileno(), False)
        self._to_send, self._heard = bytearray(), bytearray()
        self.closed = False
        """It has closed its output, as it does when it ends."""

    def send(self, text: str) -> None:
        """Send lines, now or when :func:`wait` finds that the pipe takes them."""
        self._to_send += text.encode()
        self.write()

    def write(self) -> None:
        """Write what the pipe takes."""
        try:
            while self._to_send and not self._stdin.closed:
                written = self._stdin.write(self._to_send)
                if not written:
                    return
                del self._to_send[:written]
        except OSError:  # it reads no more; whether it has ended its output tells
            self._to_send.clear()
            self._close_input()

    def read(self) -> None:
        """Read some of what there is, not more than a fixed amount."""
        while not self.closed and len(self._heard) < _READ_AT_ONCE:
            part = self._stdout.read(_READ_AT_ONCE)
            if part is None:
                return
            self._heard += part
            self.closed = not part

    def peek(self) -> str | None:
        """The next whole line that has been read, without its end; empty ones are skipped.

        One that is longer than LONGEST_LINE is cut there, and need not be whole.
        """
        while True:
            end = self._heard.find(b"\n")
            if end < 0 and len(self._heard) <= LONGEST_LINE:
                return None
            whole = self._heard[: min(end, LONGEST_LINE) if end >= 0 else LONGEST_LINE]
            line = whole.decode("utf-8", "replace").strip()
            if line or end < 0:
                return line
            del self._heard[: end + 1]

    def drop(self) -> None:
        """Drop the line of :meth:`peek`."""
        end = self._heard.find(b"\n")
        del self._heard[: end + 1 if end >= 0 else None]

    def exit_code(self, seconds: float) -> int | None:
        """What it ended with, negative for a signal; None if it has not within this time."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._popen.wait(seconds)
        return None

    @property
    def unsent(self) -> bool:
        """Whether something is still to be sent to it, and it may take it."""
        return bool(self._to_send) and not self.closed

    def forget(self) -> None:
        """Drop all that it has said."""
        self._heard.clear()

    def _close_input(self) -> None:
        with contextlib.suppress(OSError):
            self._stdin.close()

    def hang_up(self) -> None:
        """Close its input: a sign to end."""
        self._to_send.clear()
        self._close_input()

    def end(self) -> None:
        """End it, and what it has started, now."""
        self.hang_up()
        if self._popen.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, signal.SIGKILL)
            self._popen.kill()
            self._popen.wait()
        self._stdout.close()
        self.closed = True

    def register(self, selector: selectors.BaseSelector) -> None:
        """What to wait for."""
        if not self.closed:
            selector.register(self._stdout, selectors.EVENT_READ, self.read)
        if self._to_send and not self._stdin.closed:
            selector.register(self._stdin, selectors.EVENT_WRITE, self.write)


def wait(processes: Iterable[LineProcess], seconds: float) -> None:
    """Wait until one of them says something or takes what is to be sent, and let them do it."""
    with selectors.DefaultSelector() as selector:
        for process in processes:
            process.register(selector)
        if not selector.get_map():
            time.sleep(min(seconds, 0.01))
            return
        for key, _ in selector.select(max(seconds, 0)):
            key.data()


def part(processes: Sequence[LineProcess], seconds: float) -> None:
    """Let them take what is still to be sent and end; end by force who has not within this time."""
    until = time.monotonic() + seconds
    while unsent := [process for process in processes if process.unsent]:
        if time.monotonic() > until:
            break
        wait(unsent, until - time.monotonic())
        for process in unsent:
            process.forget()
    for process in processes:
        process.hang_up()
    for process in processes:
        process.exit_code(max(0.0, until - time.monotonic()))
        process.end()
