"""A model that is made here: two small layers, and a tokenizer whose tokens are words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.train.records import benchmark

ANSWERS = [f"The answer is {letter}." for letter in "ABCD"]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a language model that says one of four answers, at random, again and again."""
    reason = "needs the extra train: pip install 'wmbxl[train]'"
    for package in ("torch", "trl", "datasets"):
        pytest.importorskip(package, reason=reason)
    torch = pytest.importorskip("torch", reason=reason)
    transformers = pytest.importorskip("transformers", reason=reason)
    tokenizers = pytest.importorskip("tokenizers", reason=reason)
    words = {
        word for problem in benchmark() for word in problem["prompt"].replace(",", " ,").replace("?", " ?").split()
    }
    vocabulary = {word: number for number, word in enumerate(["<pad>", "<end>", "<unknown>", *sorted(words)])}
    core = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unknown>"))
    core.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    core.add_tokens(ANSWERS)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="<end>", unk_token="<unknown>"
    )
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=len(tokenizer), hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
            max_position_embeddings=256, pad_token_id=0, eos_token_id=1, bos_token_id=None,
        )
    )  # fmt: skip
    folder: Path = tmp_path_factory.mktemp("tiny")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)
