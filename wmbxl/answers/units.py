"""Units of measurement, as scales of a few base units."""

from __future__ import annotations

_PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12}
_PREFIXED = {
    **{"Hz": (1.0, "Hz"), "W": (1.0, "W"), "m": (1.0, "m"), "s": (1.0, "s"), "J": (1.0, "J"), "V": (1.0, "V")},
    **{"A": (1.0, "A"), "bps": (1.0, "bps"), "bit": (1.0, "bit"), "bits": (1.0, "bit"), "b": (1.0, "bit")},
    **{"B": (8.0, "bit"), "g": (1.0, "g"), "K": (1.0, "K"), "F": (1.0, "F"), "H": (1.0, "H")},
}
# Name → how many of which base unit it is. Decibels are a unit of their own: what they are relative to is not said.
UNITS = {
    prefix + name: (scale * size, base) for name, (size, base) in _PREFIXED.items() for prefix, scale in _PREFIXES.items()
} | {
    **{"cm": (1e-2, "m"), "dB": (1.0, "dB"), "dBi": (1.0, "dBi"), "dBm": (1.0, "dBm"), "rad": (1.0, "rad")},
    **{"min": (60.0, "s"), "h": (3600.0, "s"), "ohm": (1.0, "ohm"), "nats": (1.0, "nat"), "nat": (1.0, "nat")},
}
