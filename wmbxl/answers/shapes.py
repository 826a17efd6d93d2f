"""Which symbols are scalars, vectors and matrices, and of which size, as far as a formula tells.

Sizes are inferred: a product wants what stands side by side to fit, a sum wants equal sizes. What is left open is
free, so that H H^H and H^H H are of different size unless something says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Literal

from wmbxl.answers.latex import NotUnderstood
from wmbxl.answers.terms import Term, is_bold

Kind = Literal["matrix", "column", "row", "scalar"]
# A size is a product of unknowns; the empty product is 1. Kronecker products need that.
Size = tuple[str, ...]
# None is a scalar; "identity" is I or 0 of whatever size the neighbours want.
Shape = tuple[Size, Size] | Literal["identity"] | None

ASSIGNMENTS = 8
_ADJOINTS = ("herm", "trans", "dagger")


@dataclass(frozen=True)
class Shapes:
    """A consistent assignment.

    Attributes
    ----------
    kinds : mapping of str to str
        What each symbol that does not commute is, by name.
    sizes : mapping of str to tuple of str
        What unknown sizes turned out to be.
    by_index : bool
        Whether symbols with different names or numbers as indices, like H_1 and H_2, may differ in size.
    """

    kinds: Mapping[str, Kind]
    sizes: Mapping[str, Size]
    by_index: bool

    def resolve(self, size: Size) -> Size:
        """Replace the unknowns of a size by what they are."""
        found: list[str] = []
        for name in size:
            found += self.resolve(self.sizes[name]) if name in self.sizes else [name]
        return tuple(found)

    def of(self, symbol: Term) -> Shape:
        """Say which shape a symbol has."""
        kind = self.kinds.get(symbol.name, "scalar")
        if kind == "scalar":
            return None
        key = symbol.name + (_static(symbol) if self.by_index else "")
        rows, columns = (f"rows of {key}",), (f"columns of {key}",)
        if kind == "matrix":
            return self.resolve(rows), self.resolve(columns)
        return (self.resolve(rows), ()) if kind == "column" else ((), self.resolve(rows))


def assignments(terms: Sequence[Term]) -> list[Shapes]:
    """List the consistent assignments for terms that share symbols, the most usual first.

    Raises
    ------
    NotUnderstood
        There is none.
    """
    names = sorted(_noncommuting(terms))
    found: list[Shapes] = []
    problem = "no sizes that fit"
    for by_index in (False, True):
        for kinds in islice(_kinds(names), 64):
            inference = _Inference(kinds, by_index)
            try:
                for term in terms:
                    inference.shape(term)
            except NotUnderstood as error:
                problem = str(error)
                continue
            found.append(Shapes(kinds, dict(inference.sizes), by_index))
        if found:
            # A calligraphic symbol is a number only if it can't be a matrix.
            bold = [shapes for shapes in found if "scalar" not in shapes.kinds.values()]
            return (bold or found)[:ASSIGNMENTS]
    raise NotUnderstood(problem)


def is_identity(symbol: Term) -> bool:
    """Tell whether a symbol is the identity matrix, perhaps with its size as an index."""
    return symbol.name == "bold:I" and all(arg.op != "upper" for arg in symbol.args) and len(symbol.args) <= 1


def size_of_identity(symbol: Term) -> Size:
    """Name the size of an identity matrix that tells it."""
    return (f"size {symbol.args[0]}",)


def _kinds(names: Sequence[str]) -> Iterator[dict[str, Kind]]:
    options: list[tuple[Kind, ...]] = []
    for name in names:
        last = name.split(":")[-1].rstrip("'")
        small = last[:1].islower() if not last.startswith("\\") else last[1].islower()
        if "cal" in name.split(":"):
            options.append(("matrix", "scalar"))
        else:
            options.append(("column", "row") if small else ("matrix",))
    # Columns before rows, and few exceptions before many.
    combined = (
        sorted(product(*options), key=lambda kinds: sum(kind in ("row", "scalar") for kind in kinds))
        if len(names) <= 10
        else [tuple(option[0] for option in options)]
    )
    for kinds in combined:
        yield dict(zip(names, kinds, strict=True))


def _noncommuting(terms: Iterable[Term]) -> set[str]:
    """Name the symbols that don't commute: bold and calligraphic ones, and others with an adjoint or in a trace."""
    names: set[str] = set()
    for term in terms:
        for part in term.walk():
            if is_bold(part):
                names.add(part.name)
            elif part.op in _ADJOINTS:
                inner = part.args[0].args[0] if part.args[0].op == "call" else part.args[0]
                names |= {inner.name} if inner.op == "sym" else set()
            elif part.op == "function" and part.name in ("tr", "det"):
                factors = part.args[0].args if part.args[0].op == "mul" else part.args
                names |= {factor.name for factor in factors if factor.op == "sym" and factor.name.isupper()}
    return names


def _static(symbol: Term) -> str:
    """Spell the indices that are no running ones: digits, words, capitals."""
    return "".join(f"_{arg.name if arg.op != 'sym' or not arg.name.islower() else '.'}" for arg in symbol.args)


class _Inference:
    def __init__(self, kinds: Mapping[str, Kind], by_index: bool) -> None:
        self.sizes: dict[str, Size] = {}
        self._shapes = Shapes(kinds, self.sizes, by_index)

    def shape(self, term: Term) -> Shape:
        args = term.args
        match term.op:
            case "sym":
                if is_identity(term):
                    return (size_of_identity(term),) * 2 if args else "identity"
                return self._shapes.of(term)
            case "constant":
                return {"1": (("ones",), ()), "0": "identity"}.get(term.name) if term.name in "01" else None  # type: ignore[return-value]
            case "either":
                return self.shape(args[0] if term.name == "call" else args[1])
            case "call":
                head = self.shape(args[0])
                for arg in args[1:]:
                    self.shape(arg)
                return head
            case "add" | "hadamard":
                return self._all_equal([self.shape(arg) for arg in args], args)
            case "mul":
                return self._product([self.shape(arg) for arg in args])
            case "frac" | "slash":
                first, *below = [self.shape(arg) for arg in args]
                self._scalars(below)
                return first
            case "pow":
                self._scalars([self.shape(args[1])])
                return self._square(self.shape(args[0]))
            case "herm" | "trans" | "dagger":
                inner = self.shape(args[0])
                return inner if inner is None or inner == "identity" else (inner[1], inner[0])
            case "neg" | "conj":
                return self.shape(args[0])
            case "abs":
                inner = self.shape(args[0])
                names = {part.name for part in args[0].walk() if part.op == "sym"}
                if isinstance(inner, tuple) and not any(self._shapes.kinds.get(name) == "matrix" for name in names):
                    raise NotUnderstood("the determinant of an outer product")  # which is always 0
                self._square(inner)
                return None
            case "norm":
                self.shape(args[0])
                return None
            case "entry":
                self.shape(args[0])
                return None
            case "kron":
                left, right = self.shape(args[0]), self.shape(args[1])
                if left == "identity" or right == "identity":
                    raise NotUnderstood("a Kronecker product with an identity of unknown size")
                if left is None or right is None:
                    return left or right
                return left[0] + right[0], left[1] + right[1]
            case "matrix":
                self._scalars([self.shape(arg) for arg in args])
                rows = int(term.name)
                return _fixed(rows), _fixed(len(args) // rows)
            case "function":
                return self._function(term)
            case "sum" | "prod" | "expectation" | "int" | "max" | "min" | "sup" | "inf":
                inner = self.shape(args[0])
                return self._square(inner) if term.op == "prod" else inner
            case _:
                self._scalars([self.shape(arg) for arg in args if arg.op not in ("chain", "domain", "set")])
                return None

    def _function(self, term: Term) -> Shape:
        shapes = [self.shape(arg) for arg in term.args]
        if not shapes:
            raise NotUnderstood(f"{term.name} of nothing")
        if term.name in ("tr", "det"):
            if shapes[0] == "identity":
                raise NotUnderstood(f"{term.name} of an identity of unknown size")
            self._square(shapes[0])
            return None
        if term.name in ("Re", "Im", "conj"):
            return shapes[0]
        first = shapes[0]
        if term.name == "diag" and len(shapes) > 1:
            self._scalars(shapes)
            return (_fixed(len(shapes)),) * 2
        if term.name in ("diag", "vec") and isinstance(first, tuple):
            if term.name == "vec":
                return first[0] + first[1], ()
            if () in first:
                size = first[0] or first[1]
                return size, size
            self._unify(*first)
            return first[0], ()
        self._scalars(shapes)
        return None

    def _scalars(self, shapes: Iterable[Shape]) -> None:
        for shape in shapes:
            if shape is not None and (shape == "identity" or self._shapes.resolve(shape[0] + shape[1]) != ()):
                raise NotUnderstood("a vector or matrix where a number is wanted")

    def _square(self, shape: Shape) -> Shape:
        if isinstance(shape, tuple):
            self._unify(*shape)
        return shape

    def _all_equal(self, shapes: Sequence[Shape], args: Sequence[Term]) -> Shape:
        sized = [shape for shape in shapes if isinstance(shape, tuple)]
        if any(shape is None and arg.name != "0" for shape, arg in zip(shapes, args, strict=True)) and (
            sized or "identity" in shapes
        ):
            self._scalars(sized or ["identity"])
            return None
        for shape in sized[1:]:
            self._unify(sized[0][0], shape[0])
            self._unify(sized[0][1], shape[1])
        if not sized:
            return shapes[0]
        if "identity" in shapes and not any(arg.op == "constant" for arg in args):
            self._unify(*sized[0])
        return sized[0]

    def _product(self, shapes: Iterable[Shape]) -> Shape:
        found: Shape = None
        for shape in shapes:
            if shape is None:
                continue
            if found is None or found == "identity":
                found = shape
            elif shape != "identity":
                self._unify(found[1], shape[0])
                found = found[0], shape[1]
            if isinstance(found, tuple) and self._shapes.resolve(found[0] + found[1]) == ():
                found = None
        return found

    def _unify(self, first: Size, second: Size) -> None:
        left, right = list(self._shapes.resolve(first)), list(self._shapes.resolve(second))
        for name in list(left):
            if name in right:
                left.remove(name)
                right.remove(name)
        if not left and not right:
            return
        if len(left) == len(right) > 1:  # of Kronecker products, whose factors are taken to fit one by one
            for pair in zip(left, right, strict=True):
                self._unify(pair[:1], pair[1:])
            return
        for one, other in ((left, right), (right, left)):
            if len(one) == 1 and other and not _is_fixed(one[0]):
                self.sizes[one[0]] = tuple(other)
                return
        raise NotUnderstood("sizes that do not fit")


def _fixed(size: int) -> Size:
    return () if size == 1 else (f"= {size}",)


def _is_fixed(name: str) -> bool:
    return name.startswith("= ")


def size_in(shapes: Shapes, size: Size, free: Mapping[str, int]) -> int:
    """Compute a size, given the numbers of the unknowns that are free."""
    total = 1
    for name in shapes.resolve(size):
        total *= int(name[2:]) if _is_fixed(name) else free[name]
    return total
