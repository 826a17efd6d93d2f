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


def percent(part: float, whole: float = 1, digits: int = 0) -> str:
    """Return a share in percent that is rounded to 0 or 100 only where it is nothing or all.

    Examples
    --------
    >>> percent(1985, 1988), percent(1, 4000), percent(1, 4000, digits=1), percent(1, 8), percent(2, 2)
    ('> 99 %', '< 1 %', '< 0.1 %', '12 %', '100 %')
    """
    rounded, least = f"{100 * part / whole:.{digits}f}", 10**-digits
    if part > 0 and float(rounded) == 0:
        return f"< {least:.{digits}f} %"
    if part < whole and float(rounded) == 100:
        return f"> {100 - least:.{digits}f} %"
    return f"{rounded} %"


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
