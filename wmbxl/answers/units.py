"""Units of measurement, as scales of a few base units."""

from __future__ import annotations

import math

_PREFIXES = dict(zip(["", *"kMGTmunp"], (1.0, 1e3, 1e6, 1e9, 1e12, 1e-3, 1e-6, 1e-9, 1e-12), strict=True))
_PREFIXED = {name: (1.0, name) for name in "Hz W m s J V A bps bit g K F H".split()}
_PREFIXED |= {"bits": (1.0, "bit"), "b": (1.0, "bit"), "B": (8.0, "bit")}
# Name → how many of which base unit it is. Decibels are a unit of their own: what they are relative to is not said.
UNITS = {
    prefix + name: (scale * size, base)
    for name, (size, base) in _PREFIXED.items()
    for prefix, scale in _PREFIXES.items()
}
UNITS |= {name: (1.0, name) for name in "dB dBi dBm rad ohm nat".split()}
UNITS |= {"nats": (1.0, "nat"), "cm": (1e-2, "m"), "min": (60.0, "s"), "h": (3600.0, "s")}
UNITS |= {"degree": (math.pi / 180, "rad"), "%": (0.01, "one")}
