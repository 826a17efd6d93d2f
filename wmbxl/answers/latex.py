r"""LaTeX as tokens without layout, and the canonical form in which spellings of one formula are the same.

Parsing is pylatexenc's. Macros are not expanded: what defines or needs one is not understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pylatexenc.latexwalker import (
    LatexCharsNode,
    LatexCommentNode,
    LatexEnvironmentNode,
    LatexGroupNode,
    LatexMacroNode,
    LatexMathNode,
    LatexSpecialsNode,
    LatexWalker,
    LatexWalkerError,
)
from pylatexenc.macrospec import EnvironmentSpec, LatexContextDb, MacroSpec, std_macro, std_specials


class NotUnderstood(Exception):
    """LaTeX that these steps can't read; the message says what."""


@dataclass(frozen=True)
class Token:
    r"""A piece of a formula.

    Attributes
    ----------
    kind : str
        ``letter`` (one symbol, Greek ones too), ``word`` (several upright letters), ``number``, ``mark`` (an operator
        or a delimiter), ``command`` (a name such as ``\sum``, or one with arguments such as ``\frac``), ``accent``,
        ``group``, ``matrix`` (arguments are cells), ``_`` or ``^``.
    text : str
        The symbol, word, number, operator, or name of the command.
    font : str
        ``bold``, ``roman``, ``cal``, ``bb``, … or nothing for italics.
    args : tuple of tuple of Token
        What stands in it.
    rows : int
        Of a matrix.
    """

    kind: str
    text: str = ""
    font: str = ""
    args: tuple[tuple[Token, ...], ...] = ()
    rows: int = 0


Tokens = tuple[Token, ...]


def _table(lines: str) -> dict[str, str]:
    """Read lines of names that end with what all of them mean."""
    rows = (line.split() for line in lines.strip().splitlines())
    return {name: meaning for *names, meaning in rows for name in names}


_FONTS = _table("""
    mathbf boldsymbol bm pmb textbf mathbfit bf bfseries                            bold
    mathrm text textrm textnormal textup mbox operatorname rm textsf                roman
    mathsf sf                                                                       sans
    mathcal cal                                                                     cal
    mathit mathnormal textit it ensuremath mathop mathrel mathbin mathord           italic
""") | {name: name for name in ("mathscr", "mathbb", "mathfrak", "mathtt")}
_SWITCHES = ("bf", "rm", "sf", "cal", "it", "bfseries")
_ACCENTS = _table("""
    widehat hat          hat
    widetilde tilde      tilde
    overline bar         bar
""") | {name: name for name in ("vec", "dot", "ddot", "check", "breve", "underline", "acute")}
_INVISIBLE = ("hspace", "vspace", "label", "tag", "phantom", "vphantom", "hphantom")
_LAYOUT = frozenset(
    r"""
    left right middle , ; : ! > / $ quad qquad displaystyle textstyle scriptstyle limits nolimits nonumber notag
    thinspace negthinspace hfill allowbreak mathstrut strut centering enspace
    big bigl bigr bigm Big Bigl Bigr Bigm bigg biggl biggr biggm Bigg Biggl Biggr Biggm
    """.split()
) | {" ", "\n", *_INVISIBLE}
_MARKS = _table(r"""
    le leq leqslant                             <=
    ge geq geqslant                             >=
    lt                                          <
    gt                                          >
    ne neq                                      !=
    to rightarrow                               ->
    triangleq coloneqq equiv                    =
    { lbrace                                    {
    } rbrace                                    }
    lbrack                                      [
    rbrack                                      ]
    lparen                                      (
    rparen                                      )
    vert lvert rvert                            |
    Vert lVert rVert |                          ||
    ast                                         *
    div                                         /
    colon                                       :
    backslash                                   setminus
    prime                                       '
    ldots cdots dots dotsc                      ...
    %                                           %
""") | {
    name: name
    for name in (
        "in notin mid lfloor rfloor lceil rceil cdot times otimes odot oplus circ pm mp setminus cup cap subset sim "
        "approx propto langle rangle forall"
    ).split()
}
_SPELLINGS = _table("""
    dfrac tfrac cfrac nicefrac sfrac     frac
    dbinom tbinom                        binom
    dag                                  dagger
    intercal                             top
    Tr trace                             tr
    imath jmath                          imaginary
    varnothing                           emptyset
""")
# Names that text in upright letters can spell.
OPERATORS = frozenset(
    "log ln lg exp sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh det tr max min sup inf lim arg argmax "
    "argmin diag vec rank Pr Re Im sinc erf erfc sgn blkdiag mod Var Cov".split()
)
_OPERATOR_SPELLINGS = _table("""
    Tr trace Trace      tr
    Diag                diag
    Real                Re
    Imag                Im
    sign                sgn
""")
_ARGUMENTS = (
    dict.fromkeys("frac dfrac tfrac cfrac nicefrac sfrac binom dbinom tbinom overset underset stackrel".split(), "{{")
    | dict.fromkeys((*_FONTS, *_ACCENTS, *_INVISIBLE, "substack", "underbrace", "overbrace", "pmod"), "{")
    | dict.fromkeys(_SWITCHES, "")
    | {"sqrt": "[{", "operatorname": "*{", "hspace": "*{"}
)
_MATRICES = ("matrix", "pmatrix", "bmatrix", "Bmatrix", "smallmatrix", "array")
_LETTERS = frozenset(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi varpi rho varrho "
    "sigma varsigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega "
    "varGamma varTheta ell hbar nabla partial infty emptyset imaginary star dagger aleph wp".split()
)
_COMMANDS = frozenset(["frac", "sqrt", "sum", "prod", "int", "binom", "substack", "top", "&", "\\", *OPERATORS])


def _context() -> LatexContextDb:
    database = LatexContextDb()
    database.add_context_category(
        "formulas",
        macros=[std_macro(name, spec) for name, spec in _ARGUMENTS.items()],
        environments=[EnvironmentSpec(name, "{" if name == "array" else "") for name in _MATRICES],
        specials=[std_specials("&"), std_specials("~")],
    )
    database.set_unknown_macro_spec(MacroSpec(""))
    database.set_unknown_environment_spec(EnvironmentSpec(""))
    return database


_CONTEXT = _context()
_PERCENT = re.compile(r"(?<!\\)%")
# "1 1/2", but not "10 000", "x_1 2", "\frac 1 2".
_APART = re.compile(r"(?<![_^\d.c])(?<!c )\d[\d.]*(?:\s|~|\\[,;:!> ]|\\q?quad(?![a-zA-Z]))+\d(?!\d\d(?!\d))")


def tokenise(latex: str) -> Tokens:
    r"""Parse LaTeX, and leave out what is layout.

    Raises
    ------
    NotUnderstood
        It doesn't parse, or holds commands that are not known.

    Examples
    --------
    >>> [token.text for token in tokenise(r"\left( \dfrac12 \, x \right)")]
    ['(', 'frac', 'x', ')']
    """
    if _APART.search(latex):
        raise NotUnderstood("numbers side by side")
    latex = _PERCENT.sub(r"\\%", latex)  # an answer has no comments
    try:
        nodes, _, _ = LatexWalker(latex, latex_context=_CONTEXT, tolerant_parsing=False).get_latex_nodes()
        return _tokens(nodes, "")
    except LatexWalkerError as error:
        raise NotUnderstood("LaTeX that does not parse") from error
    except RecursionError as error:
        raise NotUnderstood("too deeply nested") from error


def canonical(tokens: Sequence[Token]) -> Tokens:
    r"""Rewrite tokens so that spellings of one formula become the same; formulas that may differ stay apart.

    Braces that hold nothing together go, subscripts come before superscripts, upright words are spelled out, and a dot
    between numbers or italic letters is left out, as in the product without one.

    Examples
    --------
    >>> canonical(tokenise(r"a\cdot {b}^{\mathsf{T}}_{\rm tx}")) == canonical(tokenise(r"a b_{tx}^T"))
    True
    """
    flat: list[Token] = []
    tokens = _trimmed(tokens)
    for place, token in enumerate(tokens):
        following = tokens[place + 1].kind if place + 1 < len(tokens) else ""
        args = tuple(canonical(arg) for arg in token.args)
        if token.kind == "group" and (len(args[0]) == 1 or following not in "_^"):
            flat += args[0]
        elif token.kind == "word" and token.font == "roman":
            flat += [Token("letter", letter) for letter in token.text]
        elif token.text == "cdot" and flat and _commutes(flat[-1]) and _commutes(*tokens[place + 1 : place + 2]):
            continue
        elif token.kind == "_" and flat and flat[-1].kind == "^":
            flat.insert(-1, replace(token, args=args))
        else:
            flat.append(replace(token, args=args))
    return tuple(flat)


def _commutes(*neighbour: Token) -> bool:
    return bool(neighbour) and neighbour[0].kind == "letter" and neighbour[0].font in ("", "roman")


def _trimmed(tokens: Sequence[Token]) -> Sequence[Token]:
    while tokens and tokens[-1].kind == "mark" and tokens[-1].text in {".", ",", ";"}:
        tokens = tokens[:-1]
    return tokens


def _pieces(nodes: Sequence[Any]) -> Iterator[Any]:
    """Yield single characters and nodes."""
    for node in nodes:
        if isinstance(node, LatexCharsNode):
            yield from (character for character in node.chars if not character.isspace())
        elif isinstance(node, LatexMathNode):
            yield from _pieces(node.nodelist)
        elif isinstance(node, LatexSpecialsNode):
            if node.specials_chars == "&":
                yield "&"
        elif not isinstance(node, LatexCommentNode) and node is not None:
            yield node


def _tokens(nodes: Sequence[Any], font: str) -> Tokens:
    pieces = list(_pieces(nodes))
    tokens: list[Token] = []
    place = 0
    while place < len(pieces):
        piece = pieces[place]
        place += 1
        if isinstance(piece, str) and piece in "_^":
            if place == len(pieces):
                raise NotUnderstood("a script without content")
            tokens.append(Token(piece, args=(_script(pieces[place]),)))
            place += 1
        elif isinstance(piece, LatexMacroNode) and piece.macroname in ("left", "right") and place < len(pieces):
            place += isinstance(pieces[place], str) and pieces[place] == "."  # a delimiter that isn't drawn
        elif isinstance(piece, LatexMacroNode) and piece.macroname in _SWITCHES:
            font = _FONTS[piece.macroname].replace("italic", "")
            if font == "roman" and all(isinstance(later, str) and later.isalpha() for later in pieces[place:]):
                return (*tokens, _word("".join(pieces[place:])))
        elif isinstance(piece, str):
            tokens += _character(piece, font)
        else:
            tokens += _node(piece, font)
    return tuple(_joined(tokens))


def _script(piece: Any) -> Tokens:
    """Read a script; in it bold says nothing that its base didn't say."""
    tokens = _argument(LatexCharsNode(chars=piece) if isinstance(piece, str) else piece, "")
    if len(tokens) == 1 and tokens[0].text in ("H", "T", "top") and tokens[0].font in ("", "roman", "sans"):
        return (Token("letter", tokens[0].text.replace("top", "T")),)
    return tokens


def _character(character: str, font: str) -> list[Token]:
    if character.isdigit() or character == ".":
        return [Token("number" if character.isdigit() else "mark", character, font)]
    if character.isalpha():
        if not character.isascii():
            raise NotUnderstood(f"the character {character!r}")
        return [Token("letter", character, font)]
    if character in "+-=<>()[]|,;:/*!'&?":
        return [Token("mark", character)]
    raise NotUnderstood(f"the character {character!r}")


def _node(node: Any, font: str) -> list[Token]:
    if isinstance(node, LatexGroupNode):
        return _grouped(_tokens(node.nodelist, font))
    if isinstance(node, LatexEnvironmentNode):
        return [_matrix(node)]
    name = node.macroname
    args = list((node.nodeargd.argnlist if node.nodeargd else None) or ())
    if len(args) != len(_ARGUMENTS.get(name, "")):  # a command as an argument gets none of its own
        raise NotUnderstood(f"\\{name} without braces around it")
    if name in _FONTS:
        return _in_font(name, args[-1])
    if name in _LAYOUT:
        return []
    if name in _MARKS:
        return [Token("mark", _MARKS[name])]
    if name in _ACCENTS:
        return [Token("accent", _ACCENTS[name], args=(_argument(args[0], font),))]
    name = _SPELLINGS.get(name, name)
    if name in _LETTERS:
        return [Token("letter", "\\" + name, font)]
    if name in ("underbrace", "overbrace"):
        return _grouped(_argument(args[0], font))
    if name not in _COMMANDS:
        raise NotUnderstood(f"\\{name}")
    return [Token("command", name, args=tuple(_argument(arg, font) for arg in args))]


def _argument(node: Any, font: str) -> Tokens:
    """Read an argument without the braces around it; one that is left out is empty."""
    tokens = _tokens([node], font)
    return tokens[0].args[0] if len(tokens) == 1 and tokens[0].kind == "group" else tokens


def _grouped(tokens: Tokens) -> list[Token]:
    """Wrap tokens in a group, which a single symbol doesn't need."""
    return list(tokens) if len(tokens) == 1 else [Token("group", args=(tokens,))]


def _in_font(name: str, node: Any) -> list[Token]:
    font = _FONTS[name]
    if font == "roman":
        words = node.latex_verbatim().strip("{}$ ") if hasattr(node, "latex_verbatim") else ""
        words = re.sub(r"[~\s-]+", " ", words).strip()
        if re.fullmatch(r"[A-Za-z][A-Za-z0-9]*( [A-Za-z0-9]+)*", words):
            return [_word(words)]
    inner = _argument(node, font.replace("italic", ""))
    if font == "cal" and len(inner) > 1 and all(token.kind == "letter" for token in inner):
        return [Token("word", "".join(token.text for token in inner), font)]
    return _grouped(inner)


def _word(words: str) -> Token:
    joined = words.replace("arg max", "argmax").replace("arg min", "argmin")
    name = _OPERATOR_SPELLINGS.get(joined, joined)
    if name in OPERATORS:
        return Token("command", name)
    return Token("letter", words, "roman") if len(words) == 1 else Token("word", words, "roman")


def _matrix(node: Any) -> Token:
    if node.environmentname not in _MATRICES:
        raise NotUnderstood(f"the environment {node.environmentname}")
    rows: list[list[list[Any]]] = [[[]]]
    for piece in node.nodelist:
        if isinstance(piece, LatexSpecialsNode) and piece.specials_chars == "&":
            rows[-1].append([])
        elif isinstance(piece, LatexMacroNode) and piece.macroname == "\\":
            rows.append([[]])
        else:
            rows[-1][-1].append(piece)
    if not any(_tokens(cell, "") for cell in rows[-1]):
        rows.pop()
    if len({len(row) for row in rows}) != 1:
        raise NotUnderstood("a matrix with rows of different lengths")
    return Token("matrix", args=tuple(_tokens(cell, "") for row in rows for cell in row), rows=len(rows))


def _joined(tokens: list[Token]) -> Iterator[Token]:
    """Join digits to numbers, with a decimal point, and commas between groups of three."""
    place = 0
    while place < len(tokens):
        digits = ""
        end = place
        while end < len(tokens) and (mark := _numeral(tokens[end])) is not None:
            if mark == "," and not _thousands(tokens, end, digits):
                break
            digits += mark
            end += 1
        if not re.search(r"\d", digits):
            yield tokens[place]
            place += 1
            continue
        if digits.endswith("."):
            digits, end = digits[:-1], end - 1
        yield Token("number", digits.replace(",", ""), tokens[place].font)
        place = end


def _numeral(token: Token) -> str | None:
    if token.kind == "group" and len(token.args[0]) == 1 and token.args[0][0].text == ",":
        return ","
    return token.text if token.kind == "number" or (token.kind == "mark" and token.text in {".", ","}) else None


def _thousands(tokens: Sequence[Token], comma: int, before: str) -> bool:
    after = [_numeral(token) or "" for token in tokens[comma + 1 : comma + 5]]
    group = "".join(after[:3])
    return bool(
        re.fullmatch(r"\d{1,3}(,\d{3})*", before)
        and re.fullmatch(r"\d{3}", group)
        and not "".join(after[3:4]).isdigit()
    )
