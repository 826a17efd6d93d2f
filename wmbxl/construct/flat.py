r"""A source as one text: inputs in their places, comments gone, macros written out; and the way back to its files.

No TeX runs. The expander reads the source once, from left to right, with a stack of what it reads from, as TeX does:
files that were input, and texts that macros stand for. So definitions hold from where they stand, arguments may come
from around a macro, and every bound is one on the stack or on what was read and written.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from dataclasses import dataclass, field

from wmbxl.construct.limits import Limits
from wmbxl.construct.macros import Environment, Macro, specified, usable
from wmbxl.construct.records import SourceSpan
from wmbxl.construct.scanning import group_end, without_comments
from wmbxl.construct.tree import SourceTree
from wmbxl.errors import Unreadable

_NEXT = re.compile(r"\\([a-zA-Z@]+)|\\.|%", re.DOTALL)
_SPACE = re.compile(r"(?:[ \t]|\n(?![ \t]*\n)|%[^\n]*\n)*")
_TO_NEXT_LINE = re.compile(r"%[^\n]*(?:\n[ \t]*)?")
_NAME = re.compile(r"\\([a-zA-Z@]+|.)", re.DOTALL)
_CONDITION = re.compile(r"%[^\n]*|\\(if(?:[a-zA-Z]*)|fi|else)(?![a-zA-Z@])")
_DOCUMENT = re.compile(r"\\begin\s*\{document\}")
_PLAIN_FILE = re.compile(r"[^\s{}\\%]+")
_VERBATIM = ("verbatim", "verbatim*", "Verbatim", "lstlisting", "minted", "comment", "filecontents", "filecontents*")
_NO_ARGUMENT = ("begin", "end", "item", "par")
_NOT_CONDITIONS = ("iff", "ifthenelse")
_SCANNED = 3  # characters of arguments and inputs that are read, at most, for each one that may be written
_LONGEST_VERB = 1000  # characters


@dataclass(frozen=True)
class Flat:
    r"""A flat source.

    Attributes
    ----------
    text : str
    main : str
        Path of its main file.
    theorems : dict of str to str
        Title by name of the environments that ``\\newtheorem`` defined.
    notes : dict of str to int
        What was left as it was, counted: ``missing_input``, ``definition_left``, ``call_left``.
    """

    text: str
    main: str
    theorems: dict[str, str]
    notes: dict[str, int]
    _tree: SourceTree = field(repr=False)
    _starts: list[int] = field(repr=False)
    _origins: list[tuple[str, int, int | None]] = field(repr=False)

    def span(self, start: int, end: int) -> SourceSpan | None:
        """Return where a part of the text stands in the files; None if it begins in one file and ends in another."""
        first, begin, _ = self._origin(start)
        last, final, stop = self._origin(end - 1)
        if first != last:
            return None
        end = stop if stop is not None else final + 1
        if end <= begin:  # it runs over two inputs of one file
            return None
        return SourceSpan(file=first, start=begin, end=end, text=self._tree.text(first)[begin:end])

    def _origin(self, position: int) -> tuple[str, int, int | None]:
        """Return file, position in it, and where a macro's call ends, of a character."""
        piece = bisect_right(self._starts, position) - 1
        file, start, end = self._origins[piece]
        return (file, start + position - self._starts[piece], None) if end is None else (file, start, end)


def flatten(tree: SourceTree, limits: Limits) -> Flat:
    """Flatten a source.

    Raises
    ------
    Unreadable
        ``no_main_file``, ``input_loop``, ``recursive_macro`` or ``expansion_too_large``.
    """
    return _Expander(tree, limits).run()


@dataclass
class _Frame:
    """A text that is being read: a file, or what a macro stands for."""

    text: str
    file: str
    position: int = 0
    is_file: bool = True
    call: tuple[int, int] = (0, 0)  # the macro's call in the file
    primitive: bool = False


class _Expander:
    def __init__(self, tree: SourceTree, limits: Limits) -> None:
        self.tree, self.limits = tree, limits
        self.stack: list[_Frame] = []
        self.written: list[str] = []
        self.length = self.expansions = self.scanned = 0
        self.ends_in_word = False
        self.starts: list[int] = []
        self.origins: list[tuple[str, int, int | None]] = []
        self.macros: dict[str, Macro] = {
            "ensuremath": Macro("#1", 1), "xspace": Macro(""), "protect": Macro(""), "relax": Macro(""),
        }  # fmt: skip
        self.environments: dict[str, Environment] = {}
        self.theorems: dict[str, str] = {}
        self.notes: dict[str, int] = {}
        self.begun = False

    def run(self) -> Flat:
        main = self.tree.main
        self._push(_Frame(self.tree.text(main), main))
        while self.stack:
            self._step()
        return Flat("".join(self.written), main, self.theorems, self.notes, self.tree, self.starts, self.origins)

    # Reading

    def _step(self) -> None:
        """Copy up to the next command that means something here, and do what it says."""
        frame = self.stack[-1]
        if frame.primitive:
            self._write(frame, len(frame.text))
            self.stack.pop()
            return
        scan = frame.position
        while match := _NEXT.search(frame.text, scan):
            scan = match.end()
            name = match[1]
            if match[0] == "%":
                self._write(frame, match.start())
                end = _TO_NEXT_LINE.match(frame.text, match.start())
                frame.position = scan = end.end() if end else scan
            elif name and (name in self.macros or name in _HANDLERS):
                self._write(frame, match.start())
                frame.position = match.end()
                self._do(name, frame, match.start())
                return
        self._write(frame, len(frame.text))
        if self.stack[-1] is frame:
            self.stack.pop()

    def _do(self, name: str, frame: _Frame, start: int) -> None:
        macro = self.macros.get(name)
        done = self._call(macro, frame, start) if macro else _HANDLERS[name](self, name)
        if not done and self.stack and self.stack[-1] is frame:  # leave it as it is, and what follows to be read
            frame.position = start
            self._write(frame, start + 1 + len(name))

    def _call(self, macro: Macro, frame: _Frame, start: int) -> bool:
        self.expansions += 1
        if self.expansions > self.limits.expansions:
            raise Unreadable(
                "expansion_too_large", f"more than {self.limits.expansions} calls of macros (limits.expansions)"
            )
        if macro.starred:
            if frame.text.startswith("*", frame.position):
                frame.position += 1
            self._option()
        arguments = self._arguments(macro)
        if arguments is None:
            return self._note("call_left")
        top = self.stack[-1]
        call = (start if top is frame else top.position, top.position) if top.is_file else top.call
        self._push(_Frame(macro.apply(arguments), top.file, 0, False, call, macro.primitive))
        return True

    def _arguments(self, macro: Macro) -> list[str] | None:
        arguments = []
        if macro.arguments and macro.default is not None:
            given = self._option()
            arguments.append(macro.default if given is None else given)
        while len(arguments) < macro.arguments:
            if (argument := self._argument()) is None:
                return None
            arguments.append(argument)
        return arguments

    def _push(self, frame: _Frame) -> None:
        if len(self.stack) >= self.limits.nesting:
            raise Unreadable(
                "recursive_macro", f"more than {self.limits.nesting} macros within one another (limits.nesting)"
            )
        self.stack.append(frame)

    def _skip_space(self) -> _Frame:
        """Go to the next character that isn't space, out of macros' texts that end before it."""
        while True:
            frame = self.stack[-1]
            space = _SPACE.match(frame.text, frame.position)
            frame.position = space.end() if space else frame.position
            if frame.position < len(frame.text) or frame.is_file:
                return frame
            self.stack.pop()

    def _argument(self) -> str | None:
        """Read an argument: a group, a command, or a character."""
        frame = self._skip_space()
        start = frame.position
        if frame.text.startswith("{", start):
            end = group_end(frame.text, start)
            self._scan((end or len(frame.text)) - start)
            if end is None:
                return None
            frame.position = end
            return without_comments(frame.text[start + 1 : end - 1])
        token = _NAME.match(frame.text, start)
        if (token and token[1] in _NO_ARGUMENT) or (not token and (frame.text[start : start + 1] or "}") in "}&$\n"):
            return None
        frame.position = token.end() if token else start + 1
        return frame.text[start : frame.position]

    def _option(self) -> str | None:
        """Read ``[…]`` if it follows."""
        frame = self._skip_space()
        if not frame.text.startswith("[", frame.position):
            return None
        depth, end = 0, frame.position + 1
        while end < len(frame.text) and (depth or frame.text[end] != "]"):
            depth += (frame.text[end] == "{") - (frame.text[end] == "}")
            end += 1
            self._scan(1)
            if end - frame.position > 1000:
                return None
        option = frame.text[frame.position + 1 : end]
        frame.position = end + 1
        return option

    def _scan(self, characters: int) -> None:
        self.scanned += characters
        if self.scanned > _SCANNED * self.limits.characters:
            raise Unreadable("expansion_too_large", "too much read for arguments and inputs (limits.characters)")

    def _defined_name(self) -> str | None:
        r"""Read the name that a definition gives: ``{\\name}`` or ``\\name``."""
        argument = self._argument()
        name = _NAME.fullmatch((argument or "").strip())
        return name[1] if name else None

    def _star(self) -> bool:
        frame = self._skip_space()
        starred = frame.text.startswith("*", frame.position)
        frame.position += starred
        return starred

    # Writing

    def _write(self, frame: _Frame, end: int) -> None:
        """Write what was read up to `end`."""
        text = frame.text[frame.position : end]
        if not text:
            return
        origin = (frame.file, frame.position, None) if frame.is_file else (frame.file, *frame.call)
        frame.position = end
        if self.ends_in_word and text[0].isalpha():
            self._append(" ", (origin[0], origin[1], origin[1] if origin[2] is None else origin[2]))
        self._append(text, origin)
        last = text.rfind("\\")
        self.ends_in_word = last >= 0 and text[last + 1 :].isalpha() and text[last - 1 : last] != "\\"

    def _append(self, text: str, origin: tuple[str, int, int | None]) -> None:
        self.starts.append(self.length)
        self.origins.append(origin)
        self.written.append(text)
        self.length += len(text)
        if self.length > self.limits.characters:
            raise Unreadable(
                "expansion_too_large", f"more than {self.limits.characters} characters written (limits.characters)"
            )

    def _note(self, what: str, done: bool = False) -> bool:
        self.notes[what] = self.notes.get(what, 0) + 1
        return done

    # Definitions

    def _define(self, name: str | None, macro: Macro) -> bool:
        if name is None or not usable(name, macro.body):
            return self._note("definition_left", done=True)
        self.macros[name] = macro
        return True

    def newcommand(self, command: str) -> bool:
        self._star()
        name = self._defined_name()
        count, default = self._option(), self._option()
        body = self._argument()
        if name is None or body is None or not (count or "0").strip().isdigit():
            return self._note("definition_left")
        if command == "providecommand" and name in self.macros:
            return True
        return self._define(name, Macro(body, int(count or 0), default))

    def def_(self, command: str) -> bool:
        frame = self._skip_space()
        name = _NAME.match(frame.text, frame.position)
        opened = frame.text.find("{", frame.position, frame.position + 200)
        if not name or opened < 0:
            return self._note("definition_left")
        parameters = frame.text[name.end() : opened].strip()
        frame.position = opened
        body = self._argument()
        if body is None:
            return self._note("definition_left")
        if re.sub(r"#\d", "", parameters):  # delimited by text
            return self._note("definition_left", done=True)
        return self._define(name[1], Macro(body, parameters.count("#")))

    def let(self, command: str) -> bool:
        frame = self._skip_space()
        match = re.compile(r"\\([a-zA-Z@]+|.)\s*=?\s*\\([a-zA-Z@]+)").match(frame.text, frame.position)
        if not match:
            return self._note("definition_left")
        frame.position = match.end()
        if match[1] == match[2]:
            return True
        return self._define(match[1], self.macros.get(match[2]) or Macro(f"\\{match[2]}", primitive=True))

    def operator(self, command: str) -> bool:
        starred = self._star()
        name, shown = self._defined_name(), self._argument()
        if name is None or shown is None:
            return self._note("definition_left")
        return self._define(name, Macro(f"\\operatorname{'*' if starred else ''}{{{shown}}}"))

    def delimiter(self, command: str) -> bool:
        name, left, right = self._defined_name(), self._argument(), self._argument()
        if name is None or left is None or right is None:
            return self._note("definition_left")
        return self._define(name, Macro(f"\\left{left} #1 \\right{right}", 1, starred=True))

    def document_command(self, command: str) -> bool:
        name, arguments, body = self._defined_name(), self._argument(), self._argument()
        taken = specified(arguments or "")
        if name is None or body is None or taken is None:
            return self._note("definition_left", done=body is not None)
        return self._define(name, Macro(body, *taken))

    def newenvironment(self, command: str) -> bool:
        self._star()
        name, count, default = self._argument(), self._option(), self._option()
        begin, end = self._argument(), self._argument()
        if name is None or begin is None or end is None or not (count or "0").strip().isdigit():
            return self._note("definition_left")
        if usable(name, begin + end) and name not in _VERBATIM:
            self.environments[name] = Environment(Macro(begin, int(count or 0), default), Macro(end))
            return True
        return self._note("definition_left", done=True)

    def newtheorem(self, command: str) -> bool:
        self._star()
        name, _, title, _ = self._argument(), self._option(), self._argument(), self._option()
        if name and title:
            self.theorems[name] = title
        return True

    # Files and environments

    def input(self, command: str) -> bool:
        frame = self._skip_space()
        if frame.text.startswith("{", frame.position):
            name = self._argument()
        else:
            plain = _PLAIN_FILE.match(frame.text, frame.position)
            name = plain[0] if plain else None
            frame.position = plain.end() if plain else frame.position
        return self._open(name)

    def import_(self, command: str) -> bool:
        self._star()
        folder, name = self._argument(), self._argument()
        return self._open(None if folder is None or name is None else posixpath.join(folder, name))

    def package(self, command: str) -> bool:
        """Read a package if it lies beside the paper: its macros are the paper's."""
        self._option()
        names = self._argument()
        for name in reversed((names or "").split(",")):
            if path := self.tree.find(name.strip() + ".sty", self._main_folder()):
                self._open(path)
        return names is not None

    def bibliography(self, command: str) -> bool:
        self._argument()
        stem = posixpath.splitext(self.stack[0].file)[0]
        return self._open(f"{stem}.bbl") if f"{stem}.bbl" in self.tree else True

    def _main_folder(self) -> str:
        return posixpath.dirname(self.stack[0].file)

    def _open(self, name: str | None) -> bool:
        path = name and self.tree.find(name, self._main_folder(), posixpath.dirname(self.stack[-1].file))
        if not path:
            return self._note("missing_input", done=name is not None)
        if any(frame.is_file and frame.file == path for frame in self.stack):
            raise Unreadable("input_loop", f"{path!r} is input within itself")
        text = self.tree.text(path)
        self._scan(len(text))  # one of comments alone writes nothing
        inner = _DOCUMENT.search(text)
        self._push(_Frame(text, path, inner.end() if inner else 0))
        return True

    def endinput(self, command: str) -> bool:
        """Leave the file; the main one too."""
        while self.stack and not self.stack.pop().is_file:
            pass
        return True

    def begin(self, command: str) -> bool:
        frame = self.stack[-1]
        start = frame.position - len("\\begin")
        name = self._argument()
        if name in _VERBATIM:
            end = frame.text.find(f"\\end{{{name}}}", frame.position)
            frame.position = len(frame.text) if end < 0 else end + len(f"\\end{{{name}}}")
            return True
        if name in self.environments:
            return self._call(self.environments[name].begin, frame, start)
        return False

    def end(self, command: str) -> bool:
        frame = self.stack[-1]
        start = frame.position - len("\\end")
        name = self._argument()
        if name == "document":
            return self.endinput(command)
        if name in self.environments:
            return self._call(self.environments[name].end, frame, start)
        return False

    def verb(self, command: str) -> bool:
        frame = self.stack[-1]
        mark = frame.text[frame.position : frame.position + 1]
        end = frame.text.find(mark, frame.position + 1, frame.position + _LONGEST_VERB) if mark else -1
        if end < 0 or "\n" in frame.text[frame.position : end]:
            return False
        frame.position = end + 1
        return True

    def iffalse(self, command: str) -> bool:
        r"""Skip to the ``\fi`` or ``\else`` that belongs to it."""
        frame, depth = self.stack[-1], 1
        for match in _CONDITION.finditer(frame.text, frame.position):
            word = match[1]
            if not word or word in _NOT_CONDITIONS:
                continue
            depth += word.startswith("if")
            depth -= word == "fi"
            if depth == 0 or (depth == 1 and word == "else"):
                frame.position = match.end()
                return True
        frame.position = len(frame.text)
        return True


_HANDLERS = {
    **dict.fromkeys(("newcommand", "renewcommand", "providecommand", "DeclareRobustCommand"), _Expander.newcommand),
    **dict.fromkeys(("def", "gdef", "edef", "xdef"), _Expander.def_),
    **dict.fromkeys(("newenvironment", "renewenvironment"), _Expander.newenvironment),
    **dict.fromkeys(("input", "include", "subfile"), _Expander.input),
    **dict.fromkeys(("import", "subimport", "includefrom", "subincludefrom"), _Expander.import_),
    **dict.fromkeys(("usepackage", "RequirePackage"), _Expander.package),
    **dict.fromkeys(("NewDocumentCommand", "RenewDocumentCommand", "DeclareDocumentCommand"),
                    _Expander.document_command),
    "let": _Expander.let,
    "DeclareMathOperator": _Expander.operator,
    "DeclarePairedDelimiter": _Expander.delimiter,
    "newtheorem": _Expander.newtheorem,
    "bibliography": _Expander.bibliography,
    "endinput": _Expander.endinput,
    "begin": _Expander.begin,
    "end": _Expander.end,
    "verb": _Expander.verb,
    "iffalse": _Expander.iffalse,
}  # fmt: skip
