"""A model in this process: loaded once, and asked many prompts at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from wmbxl.errors import UsageError
from wmbxl.extras import needs
from wmbxl.models.call import Reply
from wmbxl.train.settings import ModelConfig


@dataclass(frozen=True)
class Writing:
    """How answers are drawn.

    Attributes
    ----------
    max_tokens : int
        The budget of an answer.
    temperature : float
        0 takes the likeliest token, always.
    batch : int
        Answers that are written at once.
    seed : int
        Decides the draws, whatever was drawn before.
    """

    max_tokens: int
    temperature: float
    batch: int
    seed: int = 0


def library(name: str) -> Any:
    """Import a module that training needs."""
    return needs(name, extra="train", what="training")


def find_model(name: str, gguf_file: str | None, revision: str | None) -> None:
    """Look whether a model is there and of a known kind, before anything is written about it.

    Raises
    ------
    UsageError
        Transformers can't read it.
    """
    transformers = library("transformers")
    where = {"revision": revision} | ({"gguf_file": gguf_file} if gguf_file else {})
    try:
        transformers.AutoConfig.from_pretrained(name, **where)
        if not gguf_file:
            transformers.AutoTokenizer.from_pretrained(name, **where)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"model: Transformers can't read {gguf_file or name} ({str(error).splitlines()[0]}): name a folder with a "
            "model and its tokenizer, or a model that the Hugging Face Hub has and this machine can reach"
        ) from error


def convert(model: ModelConfig, folder: Path) -> None:
    """Turn weights in a GGUF file into a folder, since trainers read nothing else.

    Parameters
    ----------
    model : ModelConfig
        With a ``gguf_file``.
    folder : Path
        Appears whole, or not at all.
    """
    transformers = library("transformers")
    library("gguf")
    where = {"gguf_file": model.gguf_file, "revision": model.revision}
    part = folder.with_name(f"{folder.name}.part")
    transformers.AutoTokenizer.from_pretrained(model.name, **where).save_pretrained(part)
    plain = transformers.GgufConfig(dequantize=True)
    loaded = transformers.AutoModelForCausalLM.from_pretrained(
        model.name, dtype=model.dtype, quantization_config=plain, **where
    )
    loaded.save_pretrained(part)
    part.rename(folder)


def load(name: str, model: ModelConfig) -> tuple[Any, Any]:
    """Load a model and its tokenizer, on the GPU if there is one.

    Parameters
    ----------
    name : str
        A folder, or a name on the Hub.
    model : ModelConfig
        Its revision, if it is the Hub's, and its type of numbers.
    """
    torch, transformers = library("torch"), library("transformers")
    revision = model.revision if name == model.name else None
    loaded = transformers.AutoModelForCausalLM.from_pretrained(name, revision=revision, dtype=model.dtype)
    return loaded.to("cuda" if torch.cuda.is_available() else "cpu"), load_tokenizer(name, revision)


def load_tokenizer(name: str, revision: str | None) -> Any:
    """Load a tokenizer that can pad."""
    tokenizer = library("transformers").AutoTokenizer.from_pretrained(name, revision=revision)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def as_prompt(prompt: str, tokenizer: Any) -> Any:
    """Put a prompt as the trainers take it: as a conversation if the tokenizer has a template for one, else as text."""
    return [{"role": "user", "content": prompt}] if tokenizer.chat_template else prompt


def write(model: Any, tokenizer: Any, prompts: Sequence[str], how: Writing) -> Iterator[tuple[int, Reply]]:
    """Let a model answer prompts.

    Parameters
    ----------
    model, tokenizer
        As `load` returns them.
    prompts : sequence of str
        Without the template of a conversation.
    how : Writing
        How answers are drawn.

    Yields
    ------
    (position, reply) : tuple of int and Reply
        Position in `prompts`; the longest prompts come first, so that what doesn't fit into memory fails at once.
    """
    torch = library("torch")
    tokens = [_encode(prompt, tokenizer) for prompt in prompts]
    order = sorted(range(len(prompts)), key=lambda place: -len(tokens[place]))
    training = model.training
    model.eval()
    try:
        with torch.random.fork_rng():  # the draws of a training go on as if nobody had looked
            torch.manual_seed(how.seed)
            for start in range(0, len(order), how.batch):
                places = order[start : start + how.batch]
                yield from zip(places, _batch(model, tokenizer, [tokens[place] for place in places], how), strict=True)
    finally:
        model.train(training)


def _encode(prompt: str, tokenizer: Any) -> list[int]:
    told = as_prompt(prompt, tokenizer)
    if isinstance(told, str):
        return list(tokenizer(told)["input_ids"])
    text = tokenizer.apply_chat_template(told, add_generation_prompt=True, tokenize=False)
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def _batch(model: Any, tokenizer: Any, prompts: Sequence[list[int]], how: Writing) -> list[Reply]:
    torch, transformers = library("torch"), library("transformers")
    began = perf_counter()
    padded = tokenizer.pad({"input_ids": prompts}, padding_side="left", return_tensors="pt").to(model.device)
    ends = _ends(model, tokenizer)
    sampling = {"do_sample": True, "temperature": how.temperature} if how.temperature else {"do_sample": False}
    # All that decides the draws is named, or else the model's own defaults would hold.
    plain = {"top_p": 1.0, "top_k": 0, "repetition_penalty": 1.0, "num_beams": 1} if how.temperature else {}
    config = transformers.GenerationConfig(
        max_new_tokens=how.max_tokens, eos_token_id=ends, pad_token_id=tokenizer.pad_token_id, **sampling, **plain
    )
    on_gpu = model.device.type == "cuda"
    with torch.inference_mode(), torch.autocast(model.device.type, torch.bfloat16, enabled=on_gpu):
        written = model.generate(**padded, generation_config=config)[:, padded["input_ids"].shape[1] :]
    seconds = perf_counter() - began
    return [
        _reply(tokens, ends, tokenizer, len(prompt), seconds)
        for tokens, prompt in zip(written.tolist(), prompts, strict=True)
    ]


def _ends(model: Any, tokenizer: Any) -> list[int]:
    """Return the tokens that end an answer, as TRL takes them."""
    named = model.generation_config.eos_token_id
    ends = [] if named is None else [named] if isinstance(named, int) else list(named)
    return sorted({*ends, tokenizer.eos_token_id})


def _reply(tokens: list[int], ends: Sequence[int], tokenizer: Any, prompt_tokens: int, seconds: float) -> Reply:
    stop = next((place for place, token in enumerate(tokens) if token in ends), None)
    written = tokens if stop is None else tokens[: stop + 1]
    return Reply(
        text=tokenizer.decode(written, skip_special_tokens=True),
        finish_reason="length" if stop is None else "stop",
        prompt_tokens=prompt_tokens,
        completion_tokens=len(written),
        latency=seconds,
    )
