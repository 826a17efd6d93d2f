"""From papers' LaTeX sources to problems that an expert accepted."""
