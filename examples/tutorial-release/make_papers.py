"""Write what the tutorial starts from: archives/ as the arXiv serves them, their metadata, and a small corpus.

The papers are made up, and so are their ids. Two of the papers are in the corpus too, as crawled text.
"""

import gzip
import io
import json
import tarfile
from pathlib import Path

BY = "http://creativecommons.org/licenses/by/4.0/"
BY_NC_SA = "http://creativecommons.org/licenses/by-nc-sa/4.0/"
ARXIV = "http://arxiv.org/licenses/nonexclusive-distrib/1.0/"

BEAMFORMING = r"""
A base station with $N$ antennas serves a single-antenna user over a flat fading channel. The received signal is
\begin{equation}
  y = \bh^{H} \mathbf{w} s + n ,
\end{equation}
where $\bh \in \mathbb{C}^{N}$ is the channel, $\mathbf{w} \in \mathbb{C}^{N}$ the beamforming vector, $s$ the symbol,
and $n$ noise of power $\sigma^2$. The symbol has power $P$, so the signal-to-noise ratio of the user is
\begin{equation}
  \gamma = \frac{P |\bh^{H} \mathbf{w}|^2}{\sigma^2} .
\end{equation}
"""

PILOTS = r"""
In an OFDM system the transmitter sends a known pilot $x$ with energy $E$ on every subcarrier of the fading channel. The
receiver observes $z = g x + v$ with channel gain $g$ and noise $v$ of variance $N_0$. The least-squares estimate is
\begin{equation}
  \hat{g} = \frac{x^{*} z}{E} ,
\end{equation}
and with a prior variance $\beta$ of the gain, the error of the linear minimum mean-square estimate has the variance
\begin{equation}
  \epsilon = \frac{\beta N_0}{\beta E + N_0} .
\end{equation}
"""

DRONE = r"""
A drone hovers at altitude $h$ above the ground and serves a user at horizontal distance $r$ over a line-of-sight
channel, whose fading is negligible. With the reference gain $\rho_0$ at one metre, the power gain of the link is
\begin{equation}
  G = \frac{\rho_0}{h^2 + r^2} .
\end{equation}
With transmit power $p$, bandwidth $B$ and noise density $N_0$, the rate of the user by beamforming is
\begin{equation}
  R = B \log_2 \left( 1 + \frac{p G}{N_0 B} \right) .
\end{equation}
"""

SURFACE = r"""
A reconfigurable surface of $M$ elements reflects the signal of a base station over a fading channel. The link without
the surface has gain $d$, and the links over element $m$ have gains $a_m$ and $b_m$. Element $m$ turns the phase by
$\theta_m$, so the effective channel is
\begin{equation}
  c = d + \sum_{m=1}^{M} a_m b_m e^{j \theta_m} .
\end{equation}
With beamforming at the surface, all phases agree, and the largest amplitude of the channel is
\begin{equation}
  A = |d| + \sum_{m=1}^{M} |a_m| |b_m| .
\end{equation}
"""

ENERGY = r"""
A transmitter amplifies with efficiency $\eta$ and draws the circuit power $P_c$. With transmit power $P_t$ over a fading
channel, the power that it takes from the grid is
\begin{equation}
  P_{g} = \frac{P_t}{\eta} + P_c ,
\end{equation}
and with beamforming at rate $R$ the energy efficiency, in bits per joule, is
\begin{equation}
  \varepsilon = \frac{R}{P_t / \eta + P_c} .
\end{equation}
"""  # noqa: E501 – what was asked of the model is found by its words

PAINTINGS = r"""
Pigments lose colour under light. With the dose $D$ and a constant $k$, the remaining colour of a painting is
\begin{equation}
  C = C_0 e^{-k D} .
\end{equation}
"""


def document(body: str, preamble: str = "") -> str:
    """Return a LaTeX document."""
    return f"\\documentclass{{article}}\n{preamble}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"


def packed(files: dict[str, str]) -> bytes:
    """Return a .tar.gz; the same files give the same bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return gzip.compress(buffer.getvalue(), mtime=0)


MACRO = "\\newcommand{\\bh}{\\mathbf{h}}"
SPLIT_IN_TWO = {"main.tex": document("\\input{model}", MACRO), "model.tex": BEAMFORMING}
PAPERS = [  # id, title, categories, licence, file's ending, content
    ("2401.90001", "Beamforming with one user", "cs.IT", ARXIV, "tar.gz", packed(SPLIT_IN_TWO)),
    ("2401.90002", "Pilots for OFDM", "eess.SP", BY_NC_SA, "tar.gz", packed({"ofdm.tex": document(PILOTS)})),
    ("2401.90003", "Drones as base stations", "cs.IT", BY, "tex", document(DRONE).encode()),
    ("2401.90004", "Surfaces that reflect", "eess.SP", BY, "gz", gzip.compress(document(SURFACE).encode(), mtime=0)),
    ("2401.90005", "Bits per joule", "cs.IT", BY_NC_SA, "tar.gz", packed({"paper.tex": document(ENERGY)})),
    ("2401.90006", "How paintings fade", "physics.soc-ph", BY, "tex", document(PAINTINGS).encode()),
    ("2401.90007", "A scanned paper", "cs.IT", BY, "pdf", b"%PDF-1.7\n"),
]


def main() -> None:
    """Write everything into the working folder."""
    Path("archives").mkdir(exist_ok=True)
    with Path("arxiv-metadata.json").open("w", encoding="utf-8") as file:
        for number, title, categories, licence, ending, content in PAPERS:
            Path(f"archives/{number}v1.{ending}").write_bytes(content)
            versions = [{"version": "v1", "created": "Mon, 1 Jan 2024 10:00:00 GMT"}]
            record = {
                "id": number, "title": title, "categories": categories, "license": licence, "versions": versions,
            }  # fmt: skip
            file.write(json.dumps(record) + "\n")
    crawled = [SURFACE, DRONE.replace("$", ""), PAINTINGS, "The weather was fine, and nobody thought of channels."]
    with Path("crawl.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": f"page-{n}", "text": text}) + "\n" for n, text in enumerate(crawled, 1))


if __name__ == "__main__":
    main()
