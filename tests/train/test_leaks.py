"""What training must not see: problems, papers and text of the test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.train.records import WORDS, benchmark, record, settings, written
from wmbxl.errors import BenchmarkError, LeakError, UsageError
from wmbxl.text import Normaliser, ngrams
from wmbxl.train.leaks import count_short
from wmbxl.train.run import prepare
from wmbxl.train.settings import GrpoConfig


def prepared(folder: Path, records: list[dict[str, Any]], **data: Any) -> tuple[set[str], dict[str, list[str]]]:
    """Return what is trained on and validated with, and the rules that others break."""
    found = prepare(GrpoConfig.model_validate(settings(folder, records, data=data)))
    assert not {item.paper for item in found.train} & {item.paper for item in found.validation}
    rules: dict[str, list[str]] = {}
    for leak in found.leaks:
        rules.setdefault(leak.problem_id, []).append(leak.rule)
    return {item.id for item in (*found.train, *found.validation)}, rules


def test_without_leaks_all_are_trained_on_or_validated_with(tmp_path: Path) -> None:
    kept, rules = prepared(tmp_path, benchmark())
    assert kept == {f"train-{i}" for i in range(12)}
    assert not rules


def test_problems_of_the_test_are_refused_with_all_their_names(tmp_path: Path) -> None:
    path = written(tmp_path, benchmark(), "all.jsonl")
    with pytest.raises(LeakError) as caught:
        prepared(tmp_path, benchmark(), train={"paths": [path]})
    for i in range(4):
        assert f"problem 'test-{i}': test problem" in str(caught.value)
        assert f"problem 'test-{i}': test split: its split is 'test'" in str(caught.value)


def test_test_split_is_refused_even_if_the_test_file_lacks_the_problem(tmp_path: Path) -> None:
    path = written(tmp_path, [*benchmark(), record("withheld", "paper-20", "test")], "more.jsonl")
    ids = tmp_path / "ids.txt"
    ids.write_text("train-0\ntrain-2\nwithheld\n")
    with pytest.raises(LeakError, match="problem 'withheld': test split"):
        prepared(tmp_path, benchmark(), train={"paths": [path], "ids": str(ids)})


def test_papers_are_kept_apart_if_that_is_asked_for(tmp_path: Path) -> None:
    records = [*benchmark(), record("same-paper", "paper-10", "train")]
    assert "same-paper" in prepared(tmp_path, records)[0]
    kept, rules = prepared(tmp_path, records, paper_disjoint=True, leaks="drop")
    assert rules == {"same-paper": ["shared paper"]}
    assert "same-paper" not in kept
    with pytest.raises(UsageError, match=r"1 problem.* have no paper_id, such as 'test-lost'"):
        prepared(tmp_path, [*records, record("test-lost", "", "test", paper_id=None)], paper_disjoint=True)


def test_labels_of_an_older_split_do_not_count(tmp_path: Path) -> None:
    ids = {"train": ["train-0", "train-2", "test-0", "test-2"], "test": ["train-4", "test-1"]}
    for name, chosen in ids.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(chosen))
    path = written(tmp_path, benchmark(), "all.jsonl")
    again = {name: {"paths": [path], "ids": str(tmp_path / f"{name}.txt")} for name in ids}
    assert prepared(tmp_path, benchmark(), **again) == (set(ids["train"]), {})


def test_thirteen_tokens_in_a_row_are_a_leak_and_twelve_are_none(tmp_path: Path) -> None:
    test_text = [f"{word}-test-0" for word in WORDS]
    twelve = record("twelve", "paper-30", "train", text=" ".join([*test_text[:12], "and", "then", "else"]))
    thirteen = record("thirteen", "paper-31", "train", text="Now $" + " ".join(test_text[2:15]).upper() + "$ holds")
    kept, rules = prepared(tmp_path, [*benchmark(), twelve, thirteen], leaks="drop")
    assert rules == {"thirteen": ["shared text"]}
    assert "twelve" in kept
    with pytest.raises(
        LeakError, match=r"problem 'thirteen': shared text: 1 13-gram\(s\), such as 'code-test-0 .* of 'test-0'"
    ):
        prepared(tmp_path, [*benchmark(), twelve, thirteen])


def test_overlap_is_that_of_the_definition_on_real_problems(tmp_path: Path, shared: Path) -> None:
    lines = (shared / "bench" / "wmbxl_sample.jsonl").read_text()
    path = tmp_path / "sample.jsonl"
    path.write_text(lines)
    chosen = {"train": {"paths": [str(path)], "split": "train"}, "test": {"paths": [str(path)], "split": "test"}}
    content = settings(
        tmp_path, benchmark(), data={**chosen, "prompt_fields": ["text"], "leaks": "drop", "overlap_n": 5}
    )
    found = prepare(GrpoConfig.model_validate(content))
    everything = [*found.train, *found.validation, *found.test]

    def windows(text: str) -> set[str]:
        return set(ngrams(Normaliser().tokens(text), 5))

    in_test = set().union(*(windows(item.text) for item in found.test))
    leaking = {leak.problem_id for leak in found.leaks}
    assert leaking
    assert len(everything) + len(leaking) == 29
    assert not any(windows(item.text) & in_test for item in (*found.train, *found.validation))
    texts = {problem["problem_id"]: problem["text"] for problem in map(json.loads, lines.splitlines())}
    assert all(windows(texts[name]) & in_test for name in leaking)


def test_problems_that_are_too_short_to_compare_are_counted(tmp_path: Path) -> None:
    records = [*benchmark(), record("short", "paper-0", "train", text="one two three")]
    found = prepare(GrpoConfig.model_validate(settings(tmp_path, records)))
    items = [*found.train, *found.validation]
    assert (count_short(items, 13), count_short(items, 3)) == (1, 0)


def test_nothing_left_to_train_on(tmp_path: Path) -> None:
    records = [problem | {"paper_id": "paper-10"} for problem in benchmark()]
    with pytest.raises(LeakError, match="12 problem"):
        prepared(tmp_path, records, paper_disjoint=True, leaks="drop")


def test_a_single_paper_can_not_be_both_trained_on_and_validated_with(tmp_path: Path) -> None:
    records = [record(f"train-{i}", "one", "train") for i in range(4)] + [record("test-0", "other", "test")]
    with pytest.raises(UsageError, match=r"4 problem.s. come from 1 paper"):
        prepared(tmp_path, records)


def test_the_same_problem_in_two_files(tmp_path: Path) -> None:
    paths = [written(tmp_path, benchmark(), "a.jsonl"), written(tmp_path, benchmark(), "b.jsonl")]
    with pytest.raises(BenchmarkError, match="'train-0' stands in more than one file"):
        prepared(tmp_path, benchmark(), train={"paths": paths, "split": "train"})


def test_an_unknown_split_or_id_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, benchmark(), "all.jsonl")
    with pytest.raises(UsageError, match=r"data.train: no record is chosen: check its split .'trian'."):
        prepared(tmp_path, benchmark(), train={"paths": [path], "split": "trian"})
    ids = tmp_path / "ids.txt"
    ids.write_text("train-0\nnowhere\n")
    with pytest.raises(UsageError, match=r"1 id.s. are in no file of data.train.paths, such as 'nowhere'"):
        prepared(tmp_path, benchmark(), train={"paths": [path], "ids": str(ids)})
