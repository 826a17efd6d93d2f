from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from wmbxl.cli import main

IDS = [f"p{k:03d}" for k in range(90)]
FIXED = {
    "full_vs_view": "view, model, n_full, acc_full, n_view, acc_view, delta_pp, ci_low_pp, ci_high_pp",
    "accuracy": "view, model, n, acc, ci_low, ci_high",
}


@pytest.fixture
def folder(tmp_path):
    """An audit, a benchmark, verdicts with responses, and an id list."""
    rng = np.random.default_rng(0)
    hits = np.where(rng.random(90) < 0.3, rng.integers(1, 20, 90), 0)
    rows = [
        {"problem_id": name, "channel": "text", "n": n, "n_grams_total": 9, "n_grams_unique": 9,
         "hits_total": int(found),
         "docs_total": int(min(found, 4)), "unique_ngrams_total": int(found > 0), "auditable": name != "p000",
         "in_S0": bool(found == 0), "in_S1": bool(found <= 2)}
        for n, counts in ((8, hits + rng.integers(0, 2, 90)), (13, hits))
        for name, found in zip(IDS, counts, strict=True)
    ]  # fmt: skip
    (tmp_path / "audit").mkdir()
    pd.DataFrame(rows).to_parquet(tmp_path / "audit" / "metadata.parquet")
    (tmp_path / "audit" / "audit.json").write_text(json.dumps({"status": "complete"}))
    benchmark = [
        {"problem_id": name, "type": "MCQ", "correct_answer": "B", "paper_id": k // 2,
         "record_license": "CC-BY-4.0",
         "split": "test" if k % 4 == 0 else "train", "arxiv_id": f"23{1 + k % 6:02d}.00001"}
        for k, name in enumerate(IDS)
    ]  # fmt: skip
    verdicts = [
        {
            "model": model,
            "problem_id": name,
            "is_correct": bool(rng.random() < chance),
            "response": "The answer is B.",
        }
        for model, chance in (("strong", 0.8), ("weak", 0.4))
        for name in IDS
    ]
    for name, records in (("benchmark", benchmark), ("verdicts", verdicts)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(json.dumps(record) for record in records))
    (tmp_path / "public.json").write_text(json.dumps(IDS[:40]))
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def bootstrap(folder, *more):
    return run("bootstrap", "--verdicts", folder / "verdicts.jsonl", "-B", 200, "--out", folder / "out", *more)


def test_every_table_of_an_audit(folder):
    found = bootstrap(
        folder, "--audit", folder / "audit", "--benchmark", folder / "benchmark.jsonl", "--group-by", "type",
        "--view", f"public={folder / 'public.json'}", "--cluster", "paper_id", "--snapshot", "2023-03-07",
        "--response-field", "response",
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    tables = {path.stem: pd.read_csv(path) for path in (folder / "out").glob("*.csv")}
    assert set(tables) == {
        "full_vs_view", "tests", "accuracy", "pairs", "view_vs_rest", "counterfactual", "power", "verdicts",
        "groups",
        "group_deltas", "sensitivity", "deltas_by_n", "buckets", "rank_correlation", "exact_format", "notes",
    }  # fmt: skip
    for name, columns in FIXED.items():
        assert ", ".join(tables[name].columns) == columns
    assert set(tables["full_vs_view"]["view"]) == {
        "S0-n13",
        "S0-n13-auditable",
        "S1-n13",
        "S1-n13-auditable",
        "public",
    }
    assert (tables["exact_format"]["exact_acc_full"] == 100).all()
    assert tables["sensitivity"]["n"].tolist() == [8, 13]
    assert "S0-n13" in found.output
    assert "note(s) on the other tables" in found.output


def test_id_lists_alone_and_other_formats(folder):
    more = ["--view", f"public={folder / 'public.json'}", "--format", "latex", "--format", "parquet"]
    found = bootstrap(folder, *more)
    assert found.exit_code == 0, found.output
    names = {path.name for path in (folder / "out").iterdir()}
    assert {"full_vs_view.tex", "pairs.parquet"} <= names
    assert not any(name.endswith(".csv") for name in names)
    assert "sensitivity.tex" not in names


def test_options_reach_the_protocol(folder):
    ends = {}
    for name, more in {
        "plain": [], "again": [], "seed": ["--seed", 3], "release": ["--rng", "release"],
        "basic": ["--interval", "basic"], "level": ["--level", 0.5],
    }.items():  # fmt: skip
        assert bootstrap(folder, "--audit", folder / "audit", *more).exit_code == 0
        ends[name] = pd.read_csv(folder / "out" / "full_vs_view.csv")["ci_low_pp"].tolist()
    assert ends["plain"] == ends["again"]
    assert all(ends[name] != ends["plain"] for name in ("seed", "release", "basic", "level"))


def test_a_benchmark_names_each_problem_once(folder):
    with (folder / "benchmark.jsonl").open("a") as stream:
        stream.write('\n{"problem_id": "p003"}\n{"problem_id": null}')
    found = bootstrap(folder, "--audit", folder / "audit", "--benchmark", folder / "benchmark.jsonl")
    assert found.exit_code == 2
    output = " ".join(found.output.split())
    assert "record 92: no problem_id" in output
    assert "record 91: 'p003' is further up too" in output


def test_one_model_has_no_pairs(folder):
    records = (folder / "verdicts.jsonl").read_text().splitlines()[:90]
    (folder / "verdicts.jsonl").write_text("\n".join(records))
    found = bootstrap(folder, "--audit", folder / "audit")
    assert found.exit_code == 0, found.output
    assert "There is one model, so there are no pairs to compare." in found.output
    assert pd.read_csv(folder / "out" / "pairs.csv").empty


def test_problems_without_audit_or_verdict_are_told(folder):
    with (folder / "verdicts.jsonl").open("a") as stream:
        stream.write('\n{"model": "weak", "problem_id": "stranger", "is_correct": true}')
    (folder / "more.json").write_text(json.dumps([*IDS[:5], "unseen"]))
    found = bootstrap(folder, "--audit", folder / "audit", "--view", f"more={folder / 'more.json'}")
    output = " ".join(found.output.split())
    assert "1 problem(s) with verdicts are not in the audit, such as 'stranger'" in output
    assert "1 of 6 problem(s) of view 'more' have no verdict." in output
    assert pd.read_csv(folder / "out" / "full_vs_view.csv")["n_full"].max() == 90


def test_problems_without_a_record_are_told(folder):
    records = (folder / "benchmark.jsonl").read_text().splitlines()[2:]
    (folder / "benchmark.jsonl").write_text("\n".join(records))
    more = ["--audit", folder / "audit", "--benchmark", folder / "benchmark.jsonl", "--group-by", "type"]
    output = " ".join(bootstrap(folder, *more).output.split())
    assert "2 problem(s) with verdicts have no benchmark record, such as 'p000': no group has them." in output
    assert pd.read_csv(folder / "out" / "groups.csv")["n"].tolist() == [88, 88]


def test_too_few_resamples_for_the_pairs(folder):
    output = " ".join(bootstrap(folder, "--audit", folder / "audit", "-B", 30).output.split())
    assert "30 resamples are too few for 1 pairs" in output
    assert "Use -B 40 or more." in output


def test_undecided_problems(folder):
    table = pd.read_parquet(folder / "audit" / "metadata.parquet").astype({"in_S0": "boolean", "in_S1": "boolean"})
    table.loc[table["problem_id"].isin(IDS[:3]), ["in_S0", "in_S1"]] = pd.NA
    table.to_parquet(folder / "audit" / "metadata.parquet")
    refused = bootstrap(folder, "--audit", folder / "audit")
    assert refused.exit_code == 2
    assert "3 of 90 problems are undecided" in refused.output
    found = bootstrap(folder, "--audit", folder / "audit", "--undecided", "exclude")
    assert found.exit_code == 0, found.output
    assert (pd.read_csv(folder / "out" / "full_vs_view.csv")["n_full"] == 87).all()
    assert pd.read_csv(folder / "out" / "buckets.csv").query("model == 'weak'")["n"].sum() == 87


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Give --audit DIR, or --view"),
        (["--view", "public"], "expected NAME=VALUE, found 'public'"),
        (["--audit", "nowhere"], "Give --audit the folder that `wmbxl audit` wrote"),
        (["--audit", "{}/audit", "--cluster", "paper_id"], "has the field 'paper_id'"),
        (["--audit", "{}/audit", "--snapshot", "2023-03-07"], "Add --benchmark FILE"),
        (["--audit", "{}/audit", "-n", "12"], "choose with -n and --channel"),
        (["--audit", "{}/audit", "--level", "95"], "expected a level (--level) between 0 and 1"),
    ],
)
def test_wrong_usage_says_what_to_do(folder, arguments, message):
    found = bootstrap(folder, *(argument.format(folder) for argument in arguments))
    assert found.exit_code == 2
    assert message in " ".join(found.output.split())


def test_a_seed_without_a_split_is_refused(folder):
    found = run("views", "--audit", folder / "audit", "--out", folder / "out", "--seed", 1)
    assert found.exit_code == 2
    assert "Add --paper-split FRACTION" in " ".join(found.output.split())


def test_views_of_every_kind(folder):
    found = run(
        "views", "--audit", folder / "audit", "--benchmark", folder / "benchmark.jsonl",
        "--out", folder / "out", "--view", f"public={folder / 'public.json'}", "--within", "public",
        "--licence", "by=CC-BY-4.0,CC-BY-4.0",
        "--paper-disjoint", "--paper-split", 0.2, "--snapshot", "2023-03-07",
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    manifest = json.loads((folder / "out" / "manifest.json").read_text())
    views = {view["name"]: view for view in manifest["views"]}
    assert {
        "S0-n8", "S0-n13-auditable", "S1-n13", "S0-n13-public", "public", "by", "pre-snapshot",
        "post-snapshot",
        "paper-disjoint", "paper-train-seed0", "paper-test-seed0",
    } <= set(views)  # fmt: skip
    assert views["by"]["problems"] == 90
    assert views["S0-n13-public"]["parents"] == ["S0-n13", "public"]
    assert views["pre-snapshot"]["undecided"] == 15
    assert len((folder / "out" / "by.jsonl").read_text().splitlines()) == 90
    rates = pd.read_csv(folder / "out" / "flag_rates.csv")
    assert rates.columns.tolist() == [
        "n", "pre_snapshot", "pre_flagged_pct", "post_snapshot", "post_flagged_pct", "channel",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing says which views to cut"),
        (["--paper-disjoint"], "--paper-disjoint looks at the benchmark's records. Add --benchmark FILE"),
        (["--audit", "{}/audit", "--within", "public"], "--within public: no such view"),
        (
            ["--benchmark", "{}/benchmark.jsonl", "--id-field", "id", "--paper-disjoint"],
            "no record has the field 'id'",
        ),
    ],
)
def test_views_that_cannot_be_cut(folder, arguments, message):
    found = run("views", "--out", folder / "out", *(argument.format(folder) for argument in arguments))
    assert found.exit_code == 2
    assert message in " ".join(found.output.split())
