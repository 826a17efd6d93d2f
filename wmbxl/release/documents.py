"""The documents of a release. They are a function of its tables and of ``release.json``, so they can be made again."""

from __future__ import annotations

import hashlib
from typing import Any

import jinja2
import orjson
import yaml

from wmbxl.release import croissant, layout
from wmbxl.release.datasheet import SECTIONS
from wmbxl.release.facts import Facts, gather
from wmbxl.release.licences import RECORD_LICENCES
from wmbxl.release.rows import Files, read_rows
from wmbxl.release.settings import Released
from wmbxl.tables import show

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def documents(files: Files, released: Released) -> dict[str, bytes]:
    """Make every file that stands beside ``data/``, but the checksums.

    Raises
    ------
    BadRow, KeyError
        As for `wmbxl.release.facts.gather`.
    """
    facts = gather(files, released)
    return {
        **_pages(files, released, facts),
        layout.CROISSANT: croissant.describe(files, released, facts),
        layout.RELEASE: orjson.dumps(
            released.model_dump(mode="json"), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        ),
    }


def sums(files: Files) -> bytes:
    """Return what ``SHA256SUMS`` holds of files, as ``sha256sum -c`` reads it."""
    return "".join(f"{hashlib.sha256(files[path]).hexdigest()}  {path}\n" for path in sorted(files)).encode()


def unanswered(released: Released) -> list[str]:
    """Name the questions of the datasheet and of Croissant's RAI vocabulary that nobody has answered."""
    about = released.about
    asked = [q for section in SECTIONS for q in section.questions if not q.fact and q.id not in about.datasheet]
    return [f"datasheet.{question.id}" for question in asked] + [f"rai.{name}" for name in about.rai.missing()]


def _pages(files: Files, released: Released, facts: Facts) -> dict[str, bytes]:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("wmbxl.release"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown and plain text
    )
    environment.filters |= {"counts": _counts, "rounded": _rounded}
    known = {
        "built_by": released.built_by,
        "about": released.about,
        "run": released.run,
        "facts": facts,
        "record": layout.columns(layout.Record),
    }

    def fact(template: str) -> str:
        return environment.from_string(template).render(**known)

    more = {
        "record_licences": RECORD_LICENCES,
        "card": _card(files, released, facts),
        "sections": SECTIONS,
        "fact": fact,
        "unanswered": unanswered(released),
        "metadata_url": croissant.METADATA_LICENCES[released.about.metadata_licence],
    }
    return {page: environment.get_template(f"{page}.j2").render(**known, **more).encode() for page in layout.PAGES}


def _counts(counter: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counter.items()) or "none"


def _rounded(cell: str) -> str:
    """Write a number of a table for a reader; what is none stays as it is."""
    try:
        return show(float(cell))
    except ValueError:
        return cell


# ---------------------------------------------------------------- the card's settings for `datasets`


def _card(files: Files, released: Released, facts: Facts) -> str:
    """Return the YAML at the top of the card: what the Hugging Face Hub and `datasets` read."""
    about = released.about
    configs = {
        "problems": {file.path.removeprefix("data/problems_").removesuffix(".jsonl"): file.path
                     for file in facts.record_files},
        "views": {file.path.removeprefix("data/").removesuffix(".jsonl"): file.path for file in facts.view_files},
        "contamination": {"problems": layout.METADATA},
    }  # fmt: skip
    configs = {name: splits for name, splits in configs.items() if splits}
    content = {
        "pretty_name": about.title,
        "license": "other",
        "license_name": "per-record",
        "license_link": "LICENSE",
        "language": ["en"],
        "task_categories": ["question-answering"],
        "tags": [*about.keywords, "croissant"],
        "size_categories": [next((name for limit, name in _SIZES if facts.problems < limit), "n>1M")],
        "configs": [
            {
                "config_name": name,
                **({"default": True} if name == "problems" else {}),
                "data_files": [{"split": split, "path": path} for split, path in splits.items()],
            }
            for name, splits in configs.items()
        ],
        "dataset_info": [{"config_name": name, "features": _features(name, splits, files)}
                         for name, splits in configs.items()],
    }  # fmt: skip
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1000)


def _features(config: str, splits: dict[str, str], files: Files) -> list[dict[str, Any]]:
    """Return the types of a configuration, so that a column which is null in one file has the same type in all."""
    labels = [
        {"name": "hits_total", "dtype": "int64"},
        {"name": "docs_total", "dtype": "int64"},
        {"name": "matched_ngrams_capped", "list": "string"},
        {"name": "in_S0", "dtype": "bool"},
        {"name": "in_S1", "dtype": "bool"},
    ]
    if config == "contamination":
        return [{"name": "problem_id", "dtype": "string"}, *labels]
    records = [row.value for path in splits.values() for row in read_rows(path, files[path])]
    letters = sorted({letter for record in records for letter in record["options"] or ()}) or ["A"]
    nested = {
        "options": {"name": "options", "struct": [{"name": letter, "dtype": "string"} for letter in letters]},
        "contamination": {"name": "contamination", "struct": labels},
    }
    return [nested.get(name, {"name": name, "dtype": "string"}) for name in layout.columns(layout.Record)]
