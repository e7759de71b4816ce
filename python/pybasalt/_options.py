"""Arguments that many functions have: numbers of threads, limits of memory, devices. Wrong ones are refused by name."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Any

_BYTES = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(i?)b?\s*$", re.IGNORECASE)


def bytes_of(limit: int | str) -> int:
    """A number of bytes, or a text like "4GB" or "512MiB".

    >>> bytes_of("2GiB"), bytes_of("1.5kB"), bytes_of(7)
    (2147483648, 1500, 7)
    """
    if not isinstance(limit, str):
        return count_of(limit, "memory_limit")
    match = _BYTES.match(limit)
    if match is None:
        raise ValueError(f"{limit!r} is no number of bytes: write 4GB or 512MiB")
    base = 1024 if match[3] else 1000
    return int(float(match[1]) * base ** ("kmgt".index(match[2].lower()) + 1 if match[2] else 0))


def count_of(value: Any, what: str) -> int:
    """A whole number that is not negative.

    >>> count_of(-1, "threads")
    Traceback (most recent call last):
    ValueError: threads is a whole number that is not negative, not -1
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is a whole number, not {type(value).__name__}") from None
    if number < 0:
        raise ValueError(f"{what} is a whole number that is not negative, not {number}")
    return number


def threads_of(value: Any) -> int:
    """A number of threads; 0 takes all cores."""
    threads = count_of(value, "threads")
    if threads > 1024:
        raise ValueError(f"threads is at most 1024, not {threads}")
    return threads


def one_of(value: Any, what: str, choices: tuple[str, ...]) -> str:
    """One of some words."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is a text, not {type(value).__name__}")
    if value not in choices:
        raise ValueError(f"{what} is {', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}, not {value!r}")
    return value


def texts_by_name(given: Any, what: str) -> dict[str, str]:
    """A dict whose keys and values are texts."""
    if not isinstance(given, (Mapping, NoneType)):
        raise TypeError(f"{what} is a dict of texts, not {type(given).__name__}")
    texts = dict(given or {})
    for name, text in texts.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise TypeError(f"{what} is a dict of texts, not of {name!r}: {text!r}")
    return texts


def texts_of(given: Any, what: str) -> list[str]:
    """A list of texts."""
    if not isinstance(given, Iterable):
        raise TypeError(f"{what} is a list of names, not {type(given).__name__}")
    texts = list(given)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"{what} is a list of names, not of {text!r}")
    return texts


def speed_of(value: Any, what: str) -> float:
    """GB/s; 0 where nothing is said.

    >>> speed_of(None, "link"), speed_of(12, "link")
    (0.0, 12.0)
    >>> speed_of(-1, "link")
    Traceback (most recent call last):
    ValueError: link is in GB/s, from 0.001 to 100000, not -1
    """
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{what} is a number of GB/s, not {type(value).__name__}")
    if not 0.001 <= value <= 100_000:
        raise ValueError(f"{what} is in GB/s, from 0.001 to 100000, not {value}")
    return float(value)
