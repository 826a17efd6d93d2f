"""The description that machines read: Croissant 1.0 with its vocabulary for responsible AI, by mlcroissant."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterable
from typing import Any

import orjson

from wmbxl.extras import needs
from wmbxl.release import layout
from wmbxl.release.facts import Facts
from wmbxl.release.licences import RECORD_LICENCES
from wmbxl.release.rows import Files, read_rows
from wmbxl.release.settings import Released

CONFORMS_TO = ("http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0")
METADATA_LICENCES = {
    "CC-BY-4.0": "https://creativecommons.org/licenses/by/4.0/",
    "CC0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
}
_ENCODINGS = {"jsonl": "application/jsonlines", "csv": "text/csv", "json": "application/json"}
_TEXTS = tuple(name for name in layout.Record.model_fields if name not in ("options", "contamination"))
_COUNTS, _LABELS = ("hits_total", "docs_total"), ("in_S0", "in_S1")


def mlcroissant() -> Any:
    """Import mlcroissant, or say how to install it."""
    return needs("mlcroissant", extra="release", what="a Croissant description")


def describe(files: Files, released: Released, facts: Facts) -> bytes:
    """Describe a release as Croissant.

    Parameters
    ----------
    files : mapping of str to bytes
        The files under ``data/``.
    released, facts
        What the author says, and what the tables say.

    Returns
    -------
    bytes
        JSON-LD, the same for the same input.
    """
    mlc, about = mlcroissant(), released.about
    metadata = mlc.Metadata(
        **statements(files, released, facts),
        date_published=datetime.datetime.combine(about.date, datetime.time()),
        creators=[
            (mlc.Person if author.kind == "person" else mlc.Organization)(name=author.name, url=author.url)
            for author in about.authors
        ],
        conforms_to=list(CONFORMS_TO),
        distribution=[_file_object(mlc, file.path, files[file.path]) for file in facts.files],
        record_sets=_record_sets(mlc, files),
    )
    content = metadata.to_json()
    if about.rai.has_synthetic_data is not None:  # mlcroissant has no such field yet; others ask for it
        content["rai:hasSyntheticData"] = about.rai.has_synthetic_data
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def statements(files: Files, released: Released, facts: Facts) -> dict[str, Any]:
    """Return what the description says in words, by the names of `mlcroissant.Metadata`."""
    about, rai = released.about, released.about.rai
    return {
        "name": about.name,
        "description": about.description,
        "version": about.version,
        "url": about.url,
        "cite_as": about.citation,
        "keywords": about.keywords or None,
        "license": _licences(files, released),
        "data_collection": "\n".join(part for part in (rai.collection, rai.synthetic_data) if part) or None,
        "data_collection_type": rai.collection_types or None,
        "data_annotation_protocol": _one(rai.annotation),
        "machine_annotation_tools": rai.machine_tools or None,
        "data_preprocessing_protocol": [part for part in (rai.preprocessing, _audited(released, facts)) if part],
        "data_limitations": [part for part in (rai.limitations, _NOT_COVERED) if part],
        "data_biases": _one(rai.biases),
        "data_use_cases": _one(rai.uses),
        "data_social_impact": rai.social_impact,
        "personal_sensitive_information": _one(rai.personal_information),
        "data_release_maintenance_plan": rai.maintenance,
    }


_NOT_COVERED = (
    "The audit finds text that is the same, word for word after normalisation. It does not cover paraphrase, "
    "translation, answers, data used after pretraining, or corpora that are closed; S0 does not mean clean."
)


def _audited(released: Released, facts: Facts) -> str:
    run = released.run
    corpora = ", ".join(f"{corpus.name} ({corpus.documents} documents)" for corpus in run.corpora)
    return (
        f"Overlap audit by wmbxl {run.wmbxl} ({run.status}): windows of {run.n} tokens of the channel {run.channel}, "
        f"normalised by the profile {run.profile}, were looked for in {corpora}. {facts.s0} of {facts.problems} "
        f"problems share no window with any document (S0), {facts.s1} with at most two (S1)."
    )


def _one(text: str | None) -> list[str] | None:
    return [text] if text else None


def _licences(files: Files, released: Released) -> list[str]:
    used = [licence.url for licence in RECORD_LICENCES if licence.path in files]
    return list(dict.fromkeys([*used, METADATA_LICENCES[released.about.metadata_licence]]))


def _file_object(mlc: Any, path: str, content: bytes) -> Any:
    return mlc.FileObject(
        id=path,
        name=path,
        content_url=path,
        content_size=f"{len(content)} B",
        encoding_formats=[_ENCODINGS[path.rpartition(".")[2]]],
        sha256=hashlib.sha256(content).hexdigest(),
    )


def _record_sets(mlc: Any, files: Files) -> list[Any]:
    problems = [
        _record_set(mlc, f"problems_{licence.slug}", licence.path, _problem_fields(mlc, licence.path, files))
        for licence in RECORD_LICENCES
        if licence.path in files
    ]
    return [*problems, _record_set(mlc, "contamination_metadata", layout.METADATA, _label_fields(mlc))]


Columns = Iterable[tuple[str, Any, str, str | None]]  # name, type, column, path in it


def _problem_fields(mlc: Any, path: str, files: Files) -> Columns:
    types = mlc.DataType
    yield from ((name, types.TEXT, name, None) for name in _TEXTS)
    letters = {letter for row in read_rows(path, files[path]) for letter in row.value["options"] or ()}
    yield from ((f"option_{letter}", types.TEXT, "options", letter) for letter in sorted(letters))
    yield from ((name, types.INTEGER, "contamination", name) for name in _COUNTS)
    yield from ((name, types.BOOL, "contamination", name) for name in _LABELS)


def _label_fields(mlc: Any) -> Columns:
    types = mlc.DataType
    yield "problem_id", types.TEXT, "problem_id", None
    yield from ((name, types.INTEGER, name, None) for name in _COUNTS)
    yield from ((name, types.BOOL, name, None) for name in _LABELS)


def _record_set(mlc: Any, name: str, path: str, columns: Columns) -> Any:
    fields = [
        mlc.Field(
            id=f"{name}/{field}",
            name=field,
            data_types=[kind],
            source=mlc.Source(
                file_object=path,
                extract=mlc.Extract(column=column),
                transforms=[mlc.Transform(json_path=inside)] if inside else [],
            ),
        )
        for field, kind, column, inside in columns
    ]
    return mlc.RecordSet(id=name, name=name, key=[f"{name}/problem_id"], fields=fields)
