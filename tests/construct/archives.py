"""Archives as the arXiv serves them: written by hand, one for each structure; and good and bad ones for refusals."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

CHANNEL = r"""
In a downlink system a base station with $N$ antennas serves a user over a flat fading channel. The received signal is
\begin{equation}\label{eq:rx}
  y = \mathbf{h}^{H} \mathbf{w} s + n ,
\end{equation}
where $\mathbf{h}$ is the channel, $\mathbf{w}$ the beamformer, $s$ the symbol and $n$ noise of power $\sigma^2$.
The signal-to-noise ratio is
\begin{equation}
  \gamma = \frac{P |\mathbf{h}^{H} \mathbf{w}|^2}{\sigma^2} ,
\end{equation}
with transmit power $P$.
"""
BEGIN = "\\documentclass{article}\n\\begin{document}\n"
END = "\\end{document}\n"


def document(body: str, preamble: str = "") -> str:
    return f"\\documentclass{{article}}\n{preamble}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"


def tar(
    files: Mapping[str, str | bytes], extra: Iterable[tuple[tarfile.TarInfo, bytes]] = (), mode: str = "w:gz"
) -> bytes:
    """Pack files, and members that no honest packer would write."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for info, data in extra:
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def member(
    name: str, kind: bytes = tarfile.REGTYPE, target: str = "", data: bytes = b""
) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, target, len(data)
    return info, data


# One archive for each structure that sources come in; every one holds the two equations of CHANNEL.
GOOD: dict[str, Callable[[], bytes]] = {
    "2401.00001v1.gz": lambda: gzip.compress(document(CHANNEL).encode()),  # a single file
    "2401.00002v1.tar.gz": lambda: tar(
        {"main.tex": BEGIN + "\\input{sections/model}\n" + END, "sections/model.tex": CHANNEL}
    ),
    "2401.00003v2.tar.gz": lambda: tar(
        {
            "paper/ms.tex": document("\\include{model} \\bibliography{refs}", "\\newcommand{\\bh}{\\mathbf{h}}"),
            "paper/model.tex": CHANNEL.replace("\\mathbf{h}", "\\bh"),
            "paper/ms.bbl": "\\begin{thebibliography}{1}\\bibitem{a} A. Author.\\end{thebibliography}",
            "figure.pdf": b"%PDF-1.4\0\0",
        }
    ),
    "2401.00004v1.tar.gz": lambda: tar(  # macros for environments, in a package beside the paper
        {
            "main.tex": document(
                CHANNEL.replace("\\begin{equation}", "\\be").replace("\\end{equation}", "\\ee"), "\\usepackage{short}"
            ),
            "short.sty": "\\newcommand{\\be}{\\begin{equation}}\n\\newcommand{\\ee}{\\end{equation}}\n",
        }
    ),
    "2401.00005v1.tar.gz": lambda: tar(  # comments, conditionals, verbatim
        {
            "main.tex": document(
                CHANNEL.replace("serves", "serves % \\begin{equation} x = 1 \\end{equation}\n")
                + "\\iffalse \\begin{equation} a = b + 12345 \\end{equation} \\fi"
                + "\\begin{verbatim}\n\\begin{equation} c = d + 12345 \\end{equation}\n\\end{verbatim}"
            )
        }
    ),
    "2401.00006v1.tar.gz": lambda: tar(  # Latin-1
        {"main.tex": document("Étude de canal. " + CHANNEL, "\\usepackage[latin1]{inputenc}").encode("latin-1")}
    ),
    "2401.00007v1.tar.gz": lambda: tar(  # two documents: a cover letter is not the paper
        {"main.tex": document(CHANNEL), "main.bbl": "", "letter.tex": document("Dear editors, here it is.")}
    ),
    "2401.00008v1.tar.gz": lambda: tar(  # rows of align; \def with arguments; operators
        {
            "main.tex": document(
                CHANNEL
                + r"""\begin{align}
                    R &= B \log_2 (1 + \gamma), \\
                    E &= \E{|n|^2} \nonumber\\ &= \sigma^2 .
                  \end{align} where $R$ is the rate and $B$ the bandwidth.""",
                "\\def\\E#1{\\mathbb{E}[#1]}",
            )
        }
    ),
    "2401.00009v1.tar.gz": lambda: tar(  # theorem-like environments of one's own
        {
            "main.tex": document(
                CHANNEL + "\\begin{satz}\\label{s} If $P > 0$, then $\\gamma \\geq 0$.\\end{satz}",
                "\\newtheorem{satz}{Lemma}[section]",
            )
        }
    ),
    "2401.00010v1.tar.gz": lambda: tar(  # subfiles
        {
            "main.tex": document("\\subfile{parts/one}", "\\usepackage{subfiles}"),
            "parts/one.tex": "\\documentclass[../main]{subfiles}\n\\begin{document}\n" + CHANNEL + "\\end{document}\n",
        }
    ),
    "hep-th9901001.gz": lambda: gzip.compress(document(CHANNEL, "% old identifier").encode()),
    "2401.00011v1.tar": lambda: tar({"main.tex": document(CHANNEL)}, mode="w"),
}

DOUBLED = "".join(f"\\def\\{y}{{{f'{chr(92)}{x}' * 10}}}" for x, y in zip("abcdef", "bcdefg", strict=True))
LOOP = {"main.tex": document("\\input{a}"), "a.tex": "\\input{b}", "b.tex": "\\input{a}"}
PAPER = {"main.tex": document(CHANNEL)}

# What is refused, with its reason.
BAD: dict[str, tuple[Callable[[], bytes], str]] = {
    "traversal": (lambda: tar(PAPER, [member("../../etc/evil.tex", data=b"x")]), "path_traversal"),
    "absolute": (lambda: tar(PAPER, [member("/etc/evil.tex", data=b"x")]), "path_traversal"),
    "long_name": (lambda: tar(PAPER, [member("x" * 100_000 + ".tex", data=b"x")]), "name_too_long"),
    "symlink": (lambda: tar({}, [member("main.tex", tarfile.SYMTYPE, "/etc/passwd")]), "link"),
    "hardlink": (lambda: tar({"a.tex": "x"}, [member("main.tex", tarfile.LNKTYPE, "a.tex")]), "link"),
    "device": (lambda: tar({}, [member("main.tex", tarfile.CHRTYPE)]), "device"),
    "pipe": (lambda: tar({}, [member("main.tex", tarfile.FIFOTYPE)]), "device"),
    "members": (lambda: tar({f"{n}.tex": "" for n in range(60)}), "too_many_members"),
    "bomb": (lambda: tar({"figure.png": bytes(12_000_000), "main.tex": document(CHANNEL)}), "unpacked_too_large"),
    "gzip_bomb": (lambda: gzip.compress(bytes(12_000_000)), "file_too_large"),
    "large_file": (lambda: tar({"main.tex": document("x " * 1_000_000)}), "file_too_large"),
    "pdf": (lambda: b"%PDF-1.7\n...", "pdf_only"),
    "gzipped_pdf": (lambda: gzip.compress(b"%PDF-1.7\n..."), "pdf_only"),
    "postscript": (lambda: gzip.compress(b"%!PS-Adobe-3.0"), "postscript_only"),
    "withdrawn": (lambda: gzip.compress(b"%auto-ignore\nThis paper has been withdrawn."), "withdrawn"),
    "truncated": (lambda: tar({"main.tex": document(CHANNEL * 50)})[:300], "damaged"),
    "binary": (lambda: b"\x7fELF\0\0\0\0", "not_tex"),
    "empty": (lambda: b"", "empty"),
    "figures_only": (lambda: tar({"a.png": b"\x89PNG"}), "not_tex"),
    "no_main": (lambda: tar({"notes.tex": "Just text."}), "no_main_file"),
    "input_loop": (lambda: tar(LOOP), "input_loop"),
    "recursive": (lambda: gzip.compress(document("$\\a$", "\\def\\a{x\\b}\\def\\b{\\a}").encode()), "recursive_macro"),
    "laughs": (
        lambda: gzip.compress(document("$\\g$", "\\def\\a{0123456789}" + DOUBLED).encode()), "expansion_too_large",
    ),
    "open_braces": (
        lambda: gzip.compress(document("\\a{" * 20_000, "\\newcommand{\\a}[1]{#1}").encode()), "expansion_too_large",
    ),
}  # fmt: skip


def metadata(names: Iterable[str], path: Path, submitted: str = "Mon, 1 Jan 2024 10:00:00 GMT") -> Path:
    """Write the arXiv's metadata of papers."""
    with path.open("w", encoding="utf-8") as file:
        for name in names:
            record = {
                "id": name,
                "title": f"Paper\n  {name}",
                "categories": "cs.IT math.IT",
                "license": "http://creativecommons.org/licenses/by/4.0/",
                "versions": [{"version": "v1", "created": submitted}],
                "update_date": "2024-02-01",
            }
            file.write(json.dumps(record) + "\n")
    return path
