"""What is shown while files are written and statements run: a bar on the terminal or in a notebook's cell."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

#: Called now and then with the rows so far, their bytes in memory, and the bytes written.
ProgressCallback = Callable[[int, int, int], None]
#: Called now and then with the share that is done, 0 to 1, or a negative number where it is not known.
ShareCallback = Callable[[float], None]

_SECONDS_BETWEEN = 0.1
_CELLS = 20
_EIGHTHS = " ▏▎▍▌▋▊▉"


class _Terminal:
    """A line of the terminal that is written over."""

    def show(self, text: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write("\r" + text[:width] + "\x1b[K")
        sys.stderr.flush()

    def end(self) -> None:
        sys.stderr.write("\n")
        sys.stderr.flush()


class _Cell:
    """A text below a notebook's cell that is replaced."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, text: str) -> None:
        from IPython.display import display

        shown = {"text/plain": text}
        if self._handle is None:
            self._handle = display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)

    def end(self) -> None:
        pass


def _in_notebook() -> bool:
    # Whoever runs in a notebook has imported IPython; its shell of terminals has no kernel.
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return getattr(shell, "kernel", None) is not None


def _screen() -> _Terminal | _Cell | None:
    """Where a bar is seen; None where nobody looks."""
    if _in_notebook():
        return _Cell()
    return _Terminal() if sys.stderr is not None and sys.stderr.isatty() else None


def _clock(seconds: float) -> str:
    """A time as a bar shows it.

    >>> _clock(75), _clock(3700)
    ('01:15', '1:01:40')
    """
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"


def _cells(share: float) -> str:
    """A share as a row of blocks, the last one of eighths.

    >>> _cells(0.53)
    '██████████▌         '
    """
    full, eighths = divmod(int(share * _CELLS * 8), 8)
    return ("█" * full + _EIGHTHS[eighths] * (full < _CELLS)).ljust(_CELLS)


def _bar_text(what: str, share: float, counts: str, elapsed: float) -> str:
    """A bar as one line: percent, blocks and the time that is left only where the share is known.

    >>> _bar_text("t.basalt", 0.25, "3 rows", 10)
    't.basalt:  25%|█████               | 3 rows [00:10<00:30]'
    >>> _bar_text("query", -1, "", 10)
    'query: [00:10]'
    """
    if share < 0:
        return " ".join(part for part in (what + ":", counts, f"[{_clock(elapsed)}]") if part)
    share = min(share, 1.0)
    left = _clock(elapsed * (1 - share) / share) if share > 0 else "?"
    return f"{what}: {share:4.0%}|{_cells(share)}| {counts}{' ' if counts else ''}[{_clock(elapsed)}<{left}]"


class _Bar:
    """A bar that is drawn over and over, though not at each call."""

    def __init__(self, what: str, screen: _Terminal | _Cell) -> None:
        self._what = what
        self._screen = screen
        self._start = time.monotonic()
        self._drawn = self._start
        self._newest = (-1.0, "")

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._start

    def tell(self, share: float, counts: str = "") -> None:
        self._newest = (share, counts)
        now = time.monotonic()
        if now - self._drawn >= _SECONDS_BETWEEN:
            self._drawn = now
            self._draw()

    def _draw(self) -> None:
        self._screen.show(_bar_text(self._what, *self._newest, self.elapsed))

    def end(self, done: bool) -> None:
        if done:
            self._newest = (1.0, self._newest[1])
        self._draw()
        self._screen.end()


@contextmanager
def _shown(progress: Any, what: str, arguments: str, callback: Callable[[_Bar], Any]) -> Iterator[Any]:
    """The callback for a `progress` argument: that of a bar for True."""
    if not progress:
        yield None
    elif progress is True:
        screen = _screen()
        if screen is None:
            yield None
            return
        bar = _Bar(what, screen)
        done = False
        try:
            yield callback(bar)
            done = True
        finally:
            bar.end(done)
    elif callable(progress):
        yield progress
    else:
        raise TypeError(f"progress is True, False or a function of {arguments}")


def shown_writing(progress: bool | ProgressCallback | None, path: str,
                  share: Callable[[int], float]) -> AbstractContextManager[ProgressCallback | None]:
    """The callback of a writer for a `progress` argument. `share` tells from the rows so far how much is done."""

    def callback(bar: _Bar) -> ProgressCallback:
        def tell(rows: int, plain_bytes: int, written_bytes: int) -> None:
            rate = plain_bytes / max(bar.elapsed, 1e-9) / 1e6
            bar.tell(share(rows), f"{rows:,} rows, {plain_bytes / 1e6:,.1f} MB to {written_bytes / 1e6:,.1f} MB, "
                                  f"{rate:,.0f} MB/s")

        return tell

    return _shown(progress, path, "rows, plain_bytes and written_bytes", callback)


def shown_running(progress: bool | ShareCallback | None) -> AbstractContextManager[ShareCallback | None]:
    """The callback of a statement for a `progress` argument."""
    return _shown(progress, "query", "the share that is done", lambda bar: bar.tell)


def share_of(rows: int | None) -> Callable[[int], float]:
    """How much is done after some of so many rows, where their number is known."""
    return lambda done: done / rows if rows else -1.0
