"""One paper, from its archive to problems that a model has scored: what a worker does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, Field

from wmbxl.construct import checks, equations, extraction, proposals, relevance, rubric, solvability, tasks
from wmbxl.construct.archives import unpack
from wmbxl.construct.config import BuildConfig, ModelConfig
from wmbxl.construct.flat import Flat, flatten
from wmbxl.construct.forms import Clerk, Messages, Unfilled
from wmbxl.construct.formula import Unsuited
from wmbxl.construct.masks import mask
from wmbxl.construct.records import Draft, Drop, Equation, Extraction, Paper, Problem, Record
from wmbxl.construct.sources import STAGE as SOURCES
from wmbxl.construct.sources import Metadata, Source, sha256
from wmbxl.construct.tree import SourceTree
from wmbxl.errors import Unreadable, WmbxlError
from wmbxl.models.record import Record as Calls

RUBRIC = "rubric"
NO_ANSWER = "call_failed"  # may be had another time
UNPROPOSED = "proposals_call_failed"

Form = TypeVar("Form", bound=BaseModel)


class PaperResult(Record):
    """What became of a paper.

    Attributes
    ----------
    paper : Paper
    notes : dict of str to int
        What was unusual about its source and did no harm, counted.
    score : dict or None
        Its relevance, see `wmbxl.construct.relevance.Score`.
    model_says : bool or None
        Whether it belongs to the field.
    entered : dict of str to int
        Items by stage of the funnel.
    extractions : tuple of Extraction
        Those that passed the checks.
    problems : tuple of Problem
    drops : tuple of Drop
    """

    paper: Paper
    notes: dict[str, int] = Field(default={})
    score: dict[str, Any] | None = None
    model_says: bool | None = None
    entered: dict[str, int] = Field(default={})
    extractions: tuple[Extraction, ...] = ()
    problems: tuple[Problem, ...] = ()
    drops: tuple[Drop, ...] = ()

    @property
    def is_final(self) -> bool:
        """Whether asking again would change nothing."""
        return all(drop.reason != NO_ANSWER for drop in self.drops) and not self.notes.get(UNPROPOSED)


class _Fell(Exception):
    """The paper goes no further."""


@dataclass
class PaperRun:
    """The stages of one paper.

    Parameters
    ----------
    config : BuildConfig
    calls : Path
        Where calls to models are recorded.
    workers : int or None
        How many share the endpoint; None asks no model: only the record answers.
    source : Source
    metadata : Metadata
    """

    config: BuildConfig
    calls: Path
    workers: int | None
    source: Source
    metadata: Metadata

    def __post_init__(self) -> None:
        self.record = Calls(self.calls)
        self.paper = self.metadata.paper(self.source, "")
        self.entered: Counter[str] = Counter()
        self.drops: list[Drop] = []
        self.notes: Counter[str] = Counter()
        self.score: relevance.Score | None = None
        self.model_says: bool | None = None

    def run(self) -> PaperResult:
        """Take the paper through all stages; what goes wrong with it is recorded, not raised."""
        extractions: list[Extraction] = []
        problems: list[Problem] = []
        try:
            flat = self._source()
            self._relevance(flat)
            extractions = self._extractions(self._equations(flat))
            problems = self._rubric(self._solvable(self._problems(extractions)))
        except _Fell:
            pass
        except WmbxlError:
            raise
        except Exception as error:  # one paper out of thousands must not end the build
            told = f"at {list(self.entered)[-1]}: {type(error).__name__}: {error}"[:500]
            failed = Drop(stage=SOURCES, item=self.paper.paper_id, reason="failed", detail=told)
            return PaperResult(paper=self.paper, entered={SOURCES: 1}, drops=(failed,))
        return PaperResult(
            paper=self.paper,
            notes=dict(sorted(self.notes.items())),
            score=self.score.row() if self.score else None,
            model_says=self.model_says,
            entered=dict(self.entered),
            extractions=tuple(extractions),
            problems=tuple(problems),
            drops=tuple(self.drops),
        )

    def _drop(self, stage: str, item: str, reason: str, detail: str = "") -> None:
        self.drops.append(Drop(stage=stage, item=item, reason=reason, detail=detail))

    def _ask(self, stage: str, form: type[Form], model: ModelConfig, asked: Mapping[str, Messages]) -> dict[str, Form]:
        """Have forms filled in; drop the items whose form is not."""
        endpoint = model.endpoint(self.workers) if self.workers else None
        clerk = Clerk(form, model.name, endpoint, self.record, max_tokens=model.max_tokens)
        filled = {}
        for item, answer in zip(asked, clerk.fill(list(asked.values())), strict=True):
            if isinstance(answer, Unfilled):
                # What an endpoint says of a failure differs from time to time.
                self._drop(stage, item, answer.reason, "" if answer.reason == NO_ANSWER else answer.detail)
            else:
                filled[item] = answer
        return filled

    # The stages

    def _source(self) -> Flat:
        self.entered[SOURCES] += 1
        try:
            data = self.source.read()
            self.paper = self.metadata.paper(self.source, sha256(data))
            tree = SourceTree(unpack(data, self.config.limits))
            flat = flatten(tree, self.config.limits)
        except Unreadable as error:
            self._drop(SOURCES, self.paper.paper_id, error.reason, str(error))
            raise _Fell from error
        self.notes.update(flat.notes)
        if tree.guessed:
            self.notes["encoding_guessed"] = len(tree.guessed)
        return flat

    def _relevance(self, flat: Flat) -> None:
        stage, settings = relevance.STAGE, self.config.relevance
        self.entered[stage] += 1
        displays = sum(1 for _ in equations.displays(flat))
        self.score = relevance.score(self.paper, flat.text, displays, settings)
        if self.score.score < settings.threshold:
            self._drop(stage, self.paper.paper_id, "low_score", f"{self.score.score} < {settings.threshold}")
            raise _Fell
        if settings.ask_model:
            name = self.paper.paper_id
            asked = {name: relevance.messages(self.paper, flat.text, settings)}
            if not (answer := self._ask(stage, relevance.Belonging, self.config.model, asked).get(name)):
                raise _Fell
            self.model_says = answer.relevant
            if not answer.relevant:
                self._drop(stage, name, "model_says_no", answer.reason)
                raise _Fell

    def _equations(self, flat: Flat) -> list[Equation]:
        found, dropped = equations.find(flat, self.paper.paper_id, self.config.equations)
        self.entered[equations.STAGE] += len(found) + len(dropped)
        self.drops += dropped
        return found

    def _extractions(self, found: Sequence[Equation]) -> list[Extraction]:
        self.entered[extraction.STAGE] += len(found)
        by_id = {equation.equation_id: equation for equation in found}
        asked = {name: extraction.messages(equation, self.paper) for name, equation in by_id.items()}
        drafts = self._ask(extraction.STAGE, Draft, self.config.model, asked)
        self.entered[checks.STAGE] += len(drafts)
        kept = []
        for name, draft in drafts.items():
            made = extraction.extraction(draft, by_id[name])
            if wrong := checks.check(made, by_id[name]):
                self.drops.append(wrong)
            else:
                kept.append(made)
        return kept

    def _problems(self, extractions: Sequence[Extraction]) -> Iterable[Problem]:
        settings, proposed = self.config.tasks, self._proposals(extractions)
        problems: list[Problem] = []
        for made in extractions:
            distractors = proposed.get(made.equation_id)
            new, dropped = tasks.make_problems(
                made, self.paper, settings.types, self.config.seed, distractors.distractors if distractors else ()
            )
            self.entered[tasks.STAGE] += len(new) + len(dropped)
            problems += new
            self.drops += dropped
        return problems

    def _proposals(self, extractions: Sequence[Extraction]) -> dict[str, proposals.Proposals]:
        """Ask for distractors. Where there is no answer, the rules' are enough."""
        if not self.config.tasks.ask_model or "MCQ" not in self.config.tasks.types:
            return {}
        asked = {}
        for made in extractions:
            if made.kind == "equation":
                try:
                    masked = mask(made.equation, 100, self.config.seed)
                except Unsuited:  # the tasks will say so
                    continue
                asked[made.equation_id] = proposals.messages(made.background, masked.equation, masked.answers[0])
        before = len(self.drops)
        answers = self._ask(tasks.STAGE, proposals.Proposals, self.config.model, asked)
        for drop in self.drops[before:]:
            self.notes[f"proposals_{drop.reason}"] += 1
        self.drops[before:] = []
        return answers

    def _solvable(self, problems: Iterable[Problem]) -> list[Problem]:
        made = list(problems)
        self.entered[solvability.STAGE] += len(made)
        kept, dropped = solvability.check(made)
        self.drops += dropped
        return kept

    def _rubric(self, problems: Sequence[Problem]) -> list[Problem]:
        if not self.config.quality.rubric:
            return list(problems)
        self.entered[RUBRIC] += len(problems)
        asked = {problem.problem_id: rubric.messages(problem) for problem in problems}
        marks = self._ask(RUBRIC, rubric.Rubric, self.config.reviewer, asked)
        kept = []
        for problem in problems:
            if not (marked := marks.get(problem.problem_id)):
                continue
            review = rubric.review(problem.problem_id, self.config.reviewer.name, marked)
            if review.decision == "reject":
                lowest = min(review.scores, key=lambda name: review.scores[name])
                self._drop(RUBRIC, problem.problem_id, "rejected", f"{lowest}: {review.reasons[lowest]}")
            else:
                kept.append(problem.model_copy(update={"reviews": (review,)}))
        return kept
