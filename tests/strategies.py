"""Hypothesis strategies for text that breaks tokenisers, and for small audits in which hits happen."""

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

from tests import naive

# Everything str.split() splits on.
SPACES = [
    *"\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680",
    *map(chr, range(0x2000, 0x200B)),
    *"\u2028\u2029\u202f\u205f\u3000",
]
# Looks like white space, or is somewhere else, and isn't here.
NOT_SPACES = [*"\u200b\u200c\u200d\u180e\ufeff\u2060\u2800\u00ad\x00\x08\x1b\x7f\u3164\u115f"]

# Letters whose lower case surprises: more or fewer code points or UTF-8 bytes, an ASCII letter, no change
# where casefold() or re.IGNORECASE would make one, three cases, a case learnt late.
CASE_TRAPS = [
    *"İıſẞßǄǅǆﬁŉǰΐΰSst",
    *"\u212a\u212b\u2126",  # Kelvin, Angstrom, Ohm: editors like to turn these into K, Å, Ω
    *"ȺȾⱢⱮꞍꞪ",  # UTF-8 length changes: 2 -> 3 and 3 -> 2 bytes
    *"ᲐᲿაꭰᏣᏸ",  # Georgian Mtavruli, Cherokee
    *"\U00010400\U00010428\U00010c80\U0001e900\U000118a0",  # Deseret, Old Hungarian, Adlam, Warang Citi
    *"ⅠⒶⓐªᵃʰ",
    "I\u0307",
    "i\u0307",
    "A\u030a",
]
# A capital sigma is 'ς' after a cased letter and before none, skipping what is case-ignorable. Both of the
# contexts can lie on the far side of a command's end, an apostrophe, or any number of marks.
SIGMAS = [
    "Σ",
    "ΑΣ",
    "ΣΑ",
    "ΑΣΑ",
    "ΑΣΣ",
    "ΑΣάς",
    "ΑΣ\u0390",
    "ΑΣ\u03a2",  # no letter
    "ΑΣ\u037a",
    "ΑΣ\u0385",
    "ΑΣϏ",
    "ΑΣ'",
    "ΑΣ'Α",
    "Α'Σ",
    "'Σ",
    "ΑΣ.Α",
    "ΑΣ:Α",
    "ΑΣ^Α",
    "ΑΣ_Α",
    "ΑΣ\u0301",
    "ΑΣ\u0301Α",
    "Α\u0301Σ",
    "\u0301Σ",
    "ΑΣ\u200bΑ",
    "ΑΣ\u00adΑ",
    "ΑΣ\u0345",
    "\u0345Σ",
    "ʰΣ",
    "ΑΣʰ",
    "ΑΣⓐ",
    "ΑΣ中",
    "中Σ",
    "1Σ",
    "ΑΣ1",
    "İΣ",
    "Σİ",
    "ΑΣ\ud800",
    "\ud800Σ",
    "ΑΣ\ufffdΑ",
    "\\alphaΣ",
    "\\alpha'Σ",
    "\\alpha\u0301Σ",
    "\\alpha Σ",
    "\\alpha1Σ",
    "ΑΣ\\alpha",
    "ΑΣ'\\alpha",
    "Σ\\alpha",
    "ΑΣ{Α}",
    "Α{Σ}",
    "$ΑΣ$Α",
    "\\Σ",
    "\\ΑΣ",
    "\U00010400Σ",
    "ΑΣ\U00010400",
    "Α" + "'" * 40 + "Σ",
    "ΑΣ" + "\u0301" * 40 + "Α",
]
COMMANDS = [
    "\\alpha",
    "\\Alpha",
    "\\ALPHA",
    "\\frac",
    "\\frac{a}{b}",
    "\\frac12",
    "\\left\\{",
    "\\right\\}",
    "\\begin{equation}",
    "\\end{equation*}",
    "\\textbf{Bold Text}",
    "\\emph {x}",
    "\\sqrt[3]{\\frac{1}{{2}}}",
    "\\mathbb{R}^{n}",
    "$x_{i}^{2}$",
    "$$",
    "$$x$$",
    "{}",
    "{{{",
    "}}}",
    "{$\\a$}",
    "\\a\\b\\c",
    "\\a b",
    "\\x1y",
    "\\item[a]",
    "\\verb|x|",
    "a\\b",
    "a\\b{c}d",
    "x\\\\alpha",
    "\\\\",
    "\\\\\\",
    "\\\\\\\\",
    "\\\\[2pt]",
    "\\,",
    "\\;",
    "\\!",
    "\\ ",
    "\\{",
    "\\}",
    "\\$",
    "\\$5",
    "\\%",
    "\\&",
    "\\_",
    "\\#",
    "\\^o",
    "\\'e",
    '\\"o',
    "\\1",
    "\\0",
    "\\@foo",
    "\\foo@bar",
    "\\foo_bar",
    "\\foo-bar",
    "\\",
    "\\\n",
    "\\\u00a0a",
    "\\\x00a",
    "\\\ud800a",
    "%comment",
    "~",
    "&",
    "#1",
    "^",
    "_",
]
# A command meets a letter that is not ASCII, or becomes ASCII, or becomes two.
COMMAND_EDGES = [
    "\\é",
    "\\É",
    "\\alphaé",
    "\\alphaÉ",
    "\\alphaα",
    "\\alpha中",
    "\\\u212a",  # Kelvin: a command, once lower case
    "\\\u212ax",
    "\\alpha\u212a",
    "\\alpha\u212ab",
    "\\İ",  # the command takes the 'i' and leaves U+0307
    "\\İx",
    "\\İİ",
    "\\alphaİ",
    "\\alphaİ\u0307",
    "\\alphaİstanbul",
    "x\\İ",
    "\\İ{x}",
    "\\ı",
    "\\ſ",
    "\\alphaſ",
    "\\ẞ",
    "\\\u212b",
    "\\a\u0301",
    "\\alpha\u200bb",
    "\\alpha\u200b",
    "\\\u200balpha",
    "\\\uff21",
    "\\ａ",
    "＼alpha",
    "\\𝐚",
    "｛a｝",
    "＄",
]
MARKS = [
    *"\u0300\u0301\u0307\u0327\u0345\u05b0\u0903\u20dd\ufe0f\u1ab0",
    "e\u0301",
    "é",
    "각",
    "\u1100\u1161\u11a8",
]
ASTRAL = ["😀", "👩\u200d🔬", "🇫🇷", "𝒙", "𝐀", "𐐀", "𠀀", "\U0010ffff", "\U000e0001", "\U0001f3fd"]
SURROGATES = [
    "\ud800",
    "\udbff",
    "\udc00",
    "\udfff",
    "\ude00\ud83d",
    "\ud83d\ude00",
    "a\ud800b",
    "\ufffd",
    "\ufffe",
]
WORDS = [
    *["the", "a", "of", "value", "find", "Let", "x", "=", "2", "3.5", ",", "is", "Function", "REAL"],
    *["don't", "x+y", "(a,b)", "naïve", "Größe", "ÉCOLE", "ΛΌΓΟΣ", "中文", "שלום", "مرحبا"],
]
CASES: list[Callable[[str], str]] = [str, str, str, str.upper, str.lower, str.title, str.swapcase]
EVERYTHING = [WORDS, COMMANDS, COMMAND_EDGES, CASE_TRAPS, SIGMAS, MARKS, ASTRAL, SURROGATES, NOT_SPACES]

# Each oddity in each place where it can do harm: some tests go through all of these, not through a sample.
ODDITIES = [
    place.format(oddity)
    for oddity in [*SPACES, *(piece for kind in EVERYTHING for piece in kind)]
    for place in [
        "{}",
        "a{}b",
        "\\cmd{}",
        "{}\\cmd",
        "\\{}a",
        "\\Cmd {}\u0391 A",
        "\u0391\u03a3{}\u0391",
        "\u0391{}\u03a3",
        "{{{}}}",
        "x {} y",
    ]
]


def mixed(*choices: tuple[int, st.SearchStrategy[str]]) -> st.SearchStrategy[str]:
    """Choose by weight. (`st.one_of` drops duplicates and flattens what it is given, so it can't.)"""
    weighted = [i for i, (weight, _) in enumerate(choices) for _ in range(weight)]
    return st.sampled_from(weighted).flatmap(lambda i: choices[i][1])


def spaces() -> st.SearchStrategy[str]:
    """One to three characters of white space."""
    return st.sampled_from([" ", "\n", "  ", "\r\n"]) | st.text(st.sampled_from(SPACES), min_size=1, max_size=3)


def pieces() -> st.SearchStrategy[str]:
    """A word, a command or an oddity: mostly without white space, never promised to be one token."""
    return st.one_of(*map(st.sampled_from, EVERYTHING)) | st.text(st.characters(), max_size=4)


def long_tokens() -> st.SearchStrategy[str]:
    return st.builds(
        lambda piece, times: piece * times,
        st.sampled_from(["a", "A", "é", "İ", "中", "😀", "\\", "\\a1", "'", "\u0301", "\u200b", "xΣ'", "\ud800", "0"]),
        st.sampled_from([63, 64, 65, 255, 256, 257, 1_000, 4_096, 5_000]),
    )


def soup(max_size: int = 20) -> st.SearchStrategy[str]:
    """Pieces glued to each other, or parted by white space, in any order."""
    return st.lists(mixed((3, pieces()), (2, spaces())), max_size=max_size).map("".join)


@st.composite
def nested(draw: st.DrawFn) -> str:
    """Groups in commands in groups, now and then unbalanced."""
    inner = draw(soup(6))
    for opening, closing in draw(
        st.lists(
            st.sampled_from(
                [
                    ("\\textbf{", "}"),
                    ("{", "}"),
                    ("$", "$"),
                    ("\\frac{1}{", "}"),
                    ("\\left(", "\\right)"),
                    ("{", ""),
                ]
            ),
            max_size=6,
        )
    ):
        inner = opening + inner + closing
    return inner


@st.composite
def around(draw: st.DrawFn, n: int) -> str:
    """Plain words, n - 2 to n + 2 of them, with or without white space at the ends."""
    length = draw(st.integers(max(0, n - 2), n + 2))
    gaps = draw(st.lists(spaces(), min_size=1, max_size=4))
    start = draw(st.integers(0, 3))
    body = "".join(f"w{i % 7}{gaps[i % len(gaps)]}" for i in range(start, start + length))
    if draw(st.booleans()):
        body = body.rstrip()
    return draw(st.just("") | spaces()) + body


def documents() -> st.SearchStrategy[str]:
    """Text of a document, or of a problem: anything a str can hold, rich in what is hard."""
    return st.one_of(
        st.lists(st.sampled_from(ODDITIES) | spaces(), min_size=1, max_size=12).map("".join),
        soup(),
        soup(60),
        nested(),
        st.integers(1, 20).flatmap(around),
        st.builds("{}{}{}".format, soup(4), long_tokens(), soup(4)),
        st.text(st.characters()),
        st.sampled_from(["", " ", "\n", "\\", "\\a", "{}", "İ", "Σ", "\ud800", "\x00", "\u2028"]),
    )


def ns() -> st.SearchStrategy[tuple[int, ...]]:
    """One to four different n, in increasing order: 1 to 20, sometimes 64."""
    sizes = st.sampled_from([*range(1, 21), 64])
    return st.sets(sizes, min_size=1, max_size=4).map(lambda chosen: tuple(sorted(chosen)))


def profiles() -> st.SearchStrategy[str]:
    return st.sampled_from(["release", "raw"])


@dataclass(frozen=True)
class Example:
    """A benchmark (problem_id -> channel -> surface), a corpus, and the n to audit."""

    problems: dict[str, dict[str, str]]
    documents: list[str]
    ns: tuple[int, ...]


@st.composite
def runs(draw: st.DrawFn, templates: list[list[str]]) -> list[str]:
    """A shared template, a stretch of numbered words, or one word over and over."""
    kind = draw(st.sampled_from(["template", "numbered", "repeat"]))
    if kind == "template":
        return draw(st.sampled_from(templates))
    if kind == "numbered":
        start = draw(st.integers(0, 30))
        return [f"w{i}" for i in range(start, start + draw(st.integers(1, 12)))]
    return [draw(pieces())] * draw(st.integers(1, 9))


@st.composite
def written(draw: st.DrawFn, words: list[str]) -> str:
    """The words as text: any white space between them, any markup that the release profile removes."""
    gaps = draw(st.just([" "]) | st.lists(spaces(), min_size=1, max_size=4))
    style = draw(st.sampled_from(["plain", "plain", "wrapped", "each", "markup", "dollars"]))
    if style == "each":
        words = [f"\\emph{{{word}}}" for word in words]
    elif style == "markup":
        markup = draw(st.sampled_from(["{", "}", "$", "{}", "$$", "\\quad", "\\Quad{}"]))
        gaps = [f"{gap}{markup} " for gap in gaps]
    text = "".join(word + gaps[i % len(gaps)] for i, word in enumerate(words))
    if style == "wrapped":
        return f"\\textbf{{{text}}}"
    if style == "dollars":
        return f"${text}$"
    return text.rstrip() if draw(st.booleans()) else text


@st.composite
def surface_texts(draw: st.DrawFn, templates: list[list[str]], n: int) -> str:
    """Most have more than n tokens (of the release profile), some exactly n, one too few, or none."""
    words = [word for run in draw(st.lists(runs(templates), min_size=1, max_size=4)) for word in run]
    target = draw(st.sampled_from([n + 3, n, n + 1, n + 8, 2 * n + 1, n - 1, 0]))
    fill = draw(st.sampled_from([[], ["w0", "w1", "w2"], ["so"]]))  # [] repeats the words themselves
    fill = [word for word in fill or words if naive.tokens(word)] or ["w"]
    words += fill * (target // len(fill) + 1)
    while len(naive.tokens(" ".join(words))) > target:
        words.pop()
    return draw(st.just(" ".join(words)) | written(words))


@st.composite
def splices(draw: st.DrawFn, texts: list[str], n: int) -> str:
    """A part of a surface as a document may carry it: verbatim, re-cased, re-spaced, short, repeated."""
    kind = draw(st.sampled_from(["window", "verbatim", "window", "short", "repeated", "broken"]))
    text = draw(st.sampled_from([text for text in texts if len(naive.tokens(text)) >= n] or texts))
    if kind != "verbatim":
        spans = naive.token_spans(text)
        length = n - 1 if kind == "short" else n + draw(st.integers(0, 2))
        first = draw(st.integers(0, max(0, len(spans) - length)))
        spans = spans[first : first + length]
        text = text[spans[0][0] : spans[-1][1]] if spans else ""
    text = draw(st.sampled_from(CASES))(text)
    words = text.split()
    if kind == "broken" and words:
        words[draw(st.integers(0, len(words) - 1))] = "intruder"
    elif kind == "repeated":
        words *= draw(st.integers(2, 4))
    elif draw(st.booleans()):
        return text
    return draw(written(words))


@st.composite
def corpora(draw: st.DrawFn) -> Example:
    """A small audit. Documents carry parts of the surfaces, so that most examples have hits."""
    sizes = draw(ns())
    words = mixed((2, st.sampled_from(WORDS)), (1, pieces()))
    templates = draw(st.lists(st.lists(words, min_size=1, max_size=6), min_size=1, max_size=3))

    problems: dict[str, dict[str, str]] = {}
    texts: list[str] = []
    names = draw(st.permutations(["p0", "set/p1", "p2 é", "10", "9"]))
    for name in names[: draw(st.integers(1, 4))]:
        problems[name] = {}
        for channel in draw(st.sampled_from([["text"], ["text"], ["text", "answer"]])):
            if texts and draw(st.integers(0, 5)) == 5:  # another problem's, word for word
                texts.append(draw(st.sampled_from(texts)))
            else:
                texts.append(draw(surface_texts(templates, draw(st.sampled_from(sizes)))))
            problems[name][channel] = texts[-1]

    splice = st.sampled_from(sizes).flatmap(lambda n: splices(texts, n))
    parts = st.lists(mixed((3, splice), (1, soup(5))), min_size=1, max_size=4)
    joints = st.sampled_from([" ", " ", "\n\n", "", "\\par ", "}{", "\u3000"])
    bodies = st.builds(str.join, joints, parts)
    corpus = draw(st.lists(mixed((5, bodies), (1, documents())), min_size=1, max_size=5))
    copies = draw(st.lists(st.sampled_from(corpus), max_size=2))
    return Example(problems, [*corpus, *copies], sizes)
