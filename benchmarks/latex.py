"""Macro expansion and equation finding, measured on LaTeX that others wrote.

    python benchmarks/latex.py [--corpus 'GLOB'] [--libraries] [--quick] [--json FILE]

The corpus is JSON lines in the RedPajama-arXiv layout whose ``meta.arxiv_id`` is ``owner/repository/path``. Its files
are packed as the arXiv packs them: an archive for each document, with what it inputs. Then each archive is unpacked,
made flat, and searched. Told are the archives by outcome, what was left of macros, the displayed equations by what
keeps them from being one statement, and the commands in them that neither pylatexenc nor wmbxl knows. --libraries
holds libraries that expand macros against small cases and long files, as far as they are installed.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import tarfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import fsspec
from pylatexenc.latex2text import get_default_latex_context_db

from wmbxl.construct import formula
from wmbxl.construct.archives import unpack
from wmbxl.construct.equations import Finding, displays, fault, find
from wmbxl.construct.flat import flatten
from wmbxl.construct.limits import Limits
from wmbxl.construct.tree import SourceTree
from wmbxl.errors import Unreadable

_BEGIN = re.compile(r"^[^%\n]*\\begin\s*\{document\}", re.MULTILINE)
_USED = re.compile(r"\\(?:input|include|subfile|usepackage)\s*(?:\[[^\]]*\])?\s*\{?([^\s{}%\\]+)")
_COMMAND = re.compile(r"\\([a-zA-Z]+)")
_STRUCTURE = {"begin", "end", "left", "right", "middle", "limits", "nolimits", "displaystyle", "quad", "qquad"}

MADE = r"""\documentclass{article}\newcommand{\v}[1]{\mathbf{#1}}\begin{document}
Let \begin{equation} \v{y} = \v{H} \v{x} + \v{n} \end{equation} and \[ \gamma = \frac{P}{\sigma^2} \unknown \]
\end{document}"""


def repositories(pattern: str) -> dict[str, dict[str, bytes]]:
    """Return the files of each repository of a corpus."""
    found: dict[str, dict[str, bytes]] = defaultdict(dict)
    for source in fsspec.open_files(pattern, "rt", compression="infer", encoding="utf-8"):
        with source as file:
            for line in file:
                record = json.loads(line)
                owner, name, rest = record["meta"]["arxiv_id"].split("/", 2)
                found[f"{owner}-{name}"][rest] = record["text"].encode()
    return found


def packed(files: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield an archive for each document of a repository, with what it inputs; one with all files if there is none."""
    tree = SourceTree(files)
    uses = {
        path: {tree.find(name, "", str(Path(path).parent)) for name in _names(data)} for path, data in files.items()
    }
    used = {name for path, names in uses.items() for name in names if name != path}
    documents = [path for path, data in files.items() if _BEGIN.search(data.decode()) and path not in used]
    for document in documents:
        yield document, _tar({path: files[path] for path in _closure(document, uses)})
    if not documents:
        yield "all", _tar(files)


def _names(data: bytes) -> Iterator[str]:
    for match in _USED.finditer(data.decode()):
        yield from (name for name in (match[1], f"{match[1]}.sty"))


def _closure(document: str, uses: Mapping[str, set[str | None]]) -> set[str]:
    reached, waiting = {document}, [document]
    while waiting:
        for name in uses[waiting.pop()]:
            if name and name not in reached:
                reached.add(name)
                waiting.append(name)
    return reached


def _tar(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def measure(archives: Iterator[tuple[str, bytes]]) -> dict[str, Any]:
    """Take archives as far as equations, and count."""
    outcomes, notes, faults, dropped, unknown = (Counter[str]() for _ in range(5))
    known = _known()
    suited = with_unknown = statements = characters = 0
    began = time.process_time()
    for name, data in archives:
        try:
            flat = flatten(SourceTree(unpack(data, Limits())), Limits())
        except Unreadable as error:
            outcomes[error.reason] += 1
            continue
        outcomes["flat"] += 1
        notes.update(flat.notes)
        characters += len(flat.text)
        for latex in displays(flat):
            faults[fault(latex) or "one statement"] += 1
            strange = set(_COMMAND.findall(latex)) - known
            unknown.update(strange)
            with_unknown += bool(strange)
        everything = Finding(kinds=["equation", "lemma"], numbered_only=False, per_paper=10**6)
        equations, drops = find(flat, name, everything)
        suited += sum(equation.kind == "equation" for equation in equations)
        statements += sum(equation.kind == "lemma" for equation in equations)
        dropped.update(drop.reason for drop in drops)
    total = sum(faults.values())
    return {
        "archives": dict(outcomes.most_common()),
        "characters of flat source": characters,
        "left as they were": dict(notes.most_common()),
        "displayed equations": total,
        "by fault": dict(faults.most_common()),
        "parsed, share": round(1 - faults["not_parsed"] / max(1, total), 4),
        "with an unknown command, share": round(with_unknown / max(1, total), 4),
        "such commands": dict(unknown.most_common(12)),
        "suited for problems": suited,
        "statements": statements,
        "passed over": dict(dropped.most_common()),
        "CPU seconds": round(time.process_time() - began, 1),
    }


def _known() -> set[str]:
    """Return the commands that pylatexenc or wmbxl know."""
    names = set(_STRUCTURE)
    for context in (formula._context(), get_default_latex_context_db()):
        names |= {name for category in context.categories() for name in context.d[category]["macros"]}
    lists = [value for value in vars(formula).values() if isinstance(value, frozenset)]
    return names | {name.removeprefix("\\") for each in lists for name in each}


# ---------------------------------------------------------------- libraries

CASES = {
    "arguments": (r"\newcommand{\v}[1]{\mathbf{#1}}", r"$\v{x}+\v y$", r"$\mathbf{x}+\mathbf{y}$"),
    "optional argument": (r"\newcommand{\n}[2][2]{\|#2\|_{#1}}", r"$\n{x}+\n[1]{y}$", r"$\|x\|_{2}+\|y\|_{1}$"),
    "def": (r"\def\v#1{\mathbf{#1}}", r"$\v{x}$", r"$\mathbf{x}$"),
    "operator": (r"\DeclareMathOperator{\tr}{tr}", r"$\tr(A)$", r"$\operatorname{tr}(A)$"),
    "nested": (r"\newcommand{\h}{\mathbf{h}}\newcommand{\hh}{\h^H\h}", r"$\hh$", r"$\mathbf{h}^H\mathbf{h}$"),
    "environment": (r"\newcommand{\be}{\begin{equation}}", r"\be x", r"\begin{equation} x"),
}


def libraries(lengths: tuple[int, ...]) -> dict[str, Any]:
    """Hold what is installed against the cases, and time it on longer and longer files."""
    found: dict[str, Any] = {}
    for name, expand in (("wmbxl", _ours), ("expand-latex-macros", _expand_latex_macros), ("flachtex", _flachtex)):
        try:
            right = {case: _expands(expand, *parts) for case, parts in CASES.items()}
        except ImportError:
            found[name] = "not installed"
            continue
        seconds = {}
        for length in lengths:
            line = "Some text with $\\v{x}$ in it. % and a comment\n"
            source = _document(CASES["arguments"][0], line * (length // len(line)))
            began = time.process_time()
            expand(source)
            seconds[f"{length:,} characters"] = round(time.process_time() - began, 3)
        found[name] = {"right": right, "CPU seconds": seconds}
    return found


def _document(preamble: str, body: str) -> str:
    return f"\\documentclass{{article}}\n{preamble}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"


def _expands(expand: Callable[[str], str], preamble: str, body: str, expected: str) -> bool:
    try:
        made = expand(_document(preamble, body))
    except ImportError:
        raise
    except Exception:
        return False
    inside = made.partition("\\begin{document}")[2].partition("\\end{document}")[0]
    return _plain(inside) == _plain(expected)


def _plain(source: str) -> str:
    """Return source without what TeX doesn't mind: space, and empty groups."""
    return "".join(source.replace("{}", "").split())


def _ours(source: str) -> str:
    return flatten(SourceTree({"main.tex": source.encode()}), Limits()).text


def _expand_latex_macros(source: str) -> str:
    return import_module("expand_latex_macros").expand_latex_macros(source)


def _flachtex(source: str) -> str:
    flachtex, commands = import_module("flachtex"), import_module("flachtex.command_substitution")

    def preprocessor() -> Any:
        made = flachtex.Preprocessor(".")
        made.file_finder = flachtex.FileFinder(".", {"main.tex": source})
        return made

    substitution = commands.NewCommandSubstitution()
    for command in commands.find_new_commands(preprocessor().expand_file("main.tex")):
        substitution.new_command(command)
    second = preprocessor()
    second.substitution_rules.append(substitution)
    return str(flachtex.remove_comments(second.expand_file("main.tex")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", metavar="GLOB", help="JSON lines of files of repositories")
    parser.add_argument("--libraries", action="store_true", help="compare libraries")
    parser.add_argument("--quick", action="store_true", help="a made document, and short files")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    given = parser.parse_args()
    files = repositories(given.corpus) if given.corpus else {"made": {"main.tex": MADE.encode()}}
    found = measure(archive for name in files for archive in packed(files[name]))
    if given.libraries:
        found["libraries"] = libraries((1_000,) if given.quick else (10_000, 20_000, 40_000))
    print("\n".join(f"{name}: {value}" for name, value in found.items()))
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
