"""A model that answers by script: well, or badly in one of the ways that models have."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable
from typing import Any

from tests.endpoint import Act, Fail, Request, Say
from wmbxl.construct.checks import formulas, undefined
from wmbxl.construct.formula import Unsuited

BACKGROUND = (
    r"A base station serves a user. Here $y$ is the received signal, $\mathbf{h}$ the channel vector, $\mathbf{w}$ the "
    r"beamforming vector, $s$ the symbol, $n$ the noise with power $\sigma^2$, $\gamma$ the signal-to-noise ratio, "
    r"$P$ the transmit power, $R$ the rate, $B$ the bandwidth and $E$ the energy."
)
VARIABLES = [
    {"symbol": symbol, "meaning": meaning, "domain": "complex", "dimension": size, "unit": ""}
    for symbol, meaning, size in (
        ("y", "received signal", "1"), (r"\mathbf{h}", "channel", "N"), (r"\mathbf{w}", "beamformer", "N"),
        ("s", "symbol", "1"), ("n", "noise", "1"), (r"\sigma", "standard deviation of the noise", "1"),
        (r"\gamma", "signal-to-noise ratio", "1"), ("P", "transmit power", "1"), ("R", "rate", "1"),
        ("B", "bandwidth", "1"), ("E", "energy", "1"),
    )
]  # fmt: skip


def form(request: Request) -> str:
    return request["response_format"]["json_schema"]["name"]


def asked_equation(request: Request) -> str:
    found = re.search(r"(?:Equation|Statement):\n(.*?)\n\nText after:", request["messages"][1]["content"], re.DOTALL)
    assert found
    return found[1]


def good(request: Request, number: int = 0) -> Act:
    """Answer every form well."""
    answers: dict[str, Any] = {
        "Belonging": {"relevant": True, "reason": "It is about channels."},
        "Draft": {"background": BACKGROUND, "variables": VARIABLES, "equation": ""},
        "Proposals": {"distractors": [r"\mathbf{w}^{H} \mathbf{h} s - n", r"\frac{\sigma^2}{P}"]},
        "Rubric": {},
    }
    answer = answers[form(request)]
    if form(request) == "Draft":
        answer["equation"] = asked_equation(request)
    if form(request) == "Rubric":
        fields = request["response_format"]["json_schema"]["schema"]["properties"]
        answer = {name: {"score": 4, "reason": "fine"} for name in fields}
    return Say(json.dumps(answer))


def _draft(**changes: Any) -> Callable[[Request], Act]:
    def answer(request: Request) -> Act:
        said = {"background": BACKGROUND, "variables": VARIABLES, "equation": asked_equation(request)}
        return Say(json.dumps({**said, **changes}))

    return answer


def _leaking(request: Request) -> Act:
    equation = asked_equation(request)
    return _draft(background=f"{BACKGROUND} We know that ${equation}$.")(request)


# What a model may do badly with an equation, and where in the funnel it falls for that.
BAD: dict[str, tuple[Callable[[Request], Act], tuple[str, str]]] = {
    "prose": (lambda request: Say("Sure! Here is your record."), ("extraction", "not_valid")),
    "cut": (lambda request: Say('{"background": "A ba', "length"), ("extraction", "cut_off")),
    "refusal": (lambda request: Say("", refusal="I can't help with that."), ("extraction", "refused")),
    "broken": (lambda request: Fail(400), ("extraction", "call_failed")),
    "empty": (_draft(background=""), ("extraction", "not_valid")),
    "invented": (_draft(equation=r"y = \mathbf{h}^{T} \mathbf{w} s"), ("checks", "not_in_source")),
    "undefined": (_draft(variables=VARIABLES[:1]), ("checks", "undefined_symbol")),
    "sizes": (
        _draft(variables=[{**v, "dimension": "M"} if v["symbol"] == r"\mathbf{w}" else v for v in VARIABLES]),
        ("checks", "sizes_differ"),
    ),
    "leak": (_leaking, ("solvability", "answer_in_background")),
}


def diligent(request: Request, number: int = 0) -> Act:
    """Answer for any equation: every symbol is defined, as somebody would who reads the paper."""
    if form(request) != "Draft":
        return good(request)
    equation = asked_equation(request)
    texts = [equation] if "\n\nEquation:" in request["messages"][1]["content"] else formulas(equation)
    try:
        symbols = undefined(texts, [])
    except Unsuited:
        symbols = []
    variables = [{"symbol": symbol, "meaning": f"quantity {place}"} for place, symbol in enumerate(symbols)]
    named = ", ".join(f"${variable['symbol']}$ is {variable['meaning']}" for variable in variables)
    background = f"In {zlib.crc32(equation.encode())} we study a system in which {named or 'all is known'}."
    return Say(json.dumps({"background": background, "variables": variables, "equation": equation}))


def careless(request: Request, number: int = 0) -> Act:
    """Answer diligently, but every third equation badly; which one, and how, depends on the equation alone."""
    if form(request) == "Draft":
        drawn = zlib.crc32(asked_equation(request).encode())
        if drawn % 3 == 0:
            acts = [act for act, _ in BAD.values()]
            return acts[drawn // 3 % len(acts)](request)
    return diligent(request)
