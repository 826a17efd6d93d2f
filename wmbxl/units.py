"""Numbers as a person reads them."""

from __future__ import annotations


def size(count: float) -> str:
    """Return bytes in a unit that a person reads.

    Examples
    --------
    >>> size(26_408_873)
    '26.4 MB'
    """
    value = float(count)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} PB"


def duration(seconds: float) -> str:
    """Return a time in the two units that a person reads.

    Examples
    --------
    >>> duration(75.2), duration(7500)
    ('1 min 15 s', '2 h 05 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
