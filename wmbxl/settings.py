"""Settings in YAML files: read, checked, and every mistake told at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from wmbxl.errors import UsageError
from wmbxl.filesystems import masked


class Section(BaseModel):
    """A part of a file of settings, in which unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Model = TypeVar("Model", bound=Section)


def read_yaml(path: str) -> dict[str, Any]:
    """Read a YAML file of settings.

    Raises
    ------
    UsageError
        If it can't be read or is no mapping.
    """
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: can't be read as YAML: {error}") from error
    except yaml.YAMLError as error:  # its own words quote the file, which may hold secrets
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise UsageError(f"{path}{place}: not YAML: {getattr(error, 'problem', None) or 'bad characters'}") from None
    if not isinstance(content, dict):
        kind = type(content).__name__
        raise UsageError(f"{path}: expected settings such as  benchmark: problems.jsonl, found a {kind}")
    return content


def check(model: type[Model], content: Mapping[str, Any], where: str, say: Callable[[Any], str]) -> Model:
    """Check settings and tell every issue at once, each in the words that `say` finds.

    Raises
    ------
    UsageError
    """
    try:
        return model.model_validate(content)
    except ValidationError as error:
        lines = [f"  {say(issue)}" for issue in error.errors()]
        raise UsageError(f"{where}: {len(lines)} problem(s)\n" + "\n".join(lines)) from error


def say_issue(issue: Any, known: Iterable[str]) -> str:
    """Say what is wrong with a setting; an unknown key is told with the nearest of the known ones."""
    place = ".".join(str(part) for part in issue["loc"])
    if issue["type"] == "extra_forbidden":
        close = get_close_matches(str(issue["loc"][-1]), known, n=1)
        return f"{place}: unknown" + (f"; did you mean {close[0]}?" if close else "")
    message = issue["msg"].removeprefix("Value error, ")
    if not place:
        return message
    told = issue["type"] != "missing" and "storage_options" not in issue["loc"]  # which may hold secrets
    return f"{place}: {message}" + (f" (found {masked(repr(issue['input'])):.60})" if told else "")
