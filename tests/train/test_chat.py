"""Conversations in tokens, against what real chat templates render: answers as sampled, turns closed properly."""

from importlib import resources
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from train.chat import Chat, ChatError

SPECIAL = {
    "qwen2_5": ["<|im_start|>", "<|im_end|>", "<|endoftext|>"],
    "qwen3": ["<|im_start|>", "<|im_end|>", "<|endoftext|>"],
    "qwen3_5_think": ["<|im_start|>", "<|im_end|>", "<|endoftext|>"],
    "llama3": ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|end_of_text|>"],
    "gemma3": ["<bos>", "<start_of_turn>", "<end_of_turn>", "<eos>"],
}
END = {"llama3": "<|eot_id|>", "gemma3": "<end_of_turn>"}


def tokenizer(template: str) -> Any:
    """A token per byte, and the special ones; the last of them is the end of text, which is no end of turn."""
    bare = Tokenizer(models.BPE(vocab={letter: at for at, letter in enumerate(ALPHABET)}, merges=[]))
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bare.decoder = decoders.ByteLevel()
    special = SPECIAL[template]
    bare.add_special_tokens(special)
    made = PreTrainedTokenizerFast(
        tokenizer_object=bare, eos_token=special[-1], bos_token=special[0], clean_up_tokenization_spaces=False
    )
    made.chat_template = resources.files("trl").joinpath(f"chat_templates/{template}.jinja").read_text()
    return made


ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())


def chat_of(template: str, **options: Any) -> Chat:
    made = tokenizer(template)
    return Chat(made, [made.eos_token_id], options)


def encode(chat: Chat, text: str) -> list[int]:
    found: list[int] = chat.tokenizer(text, add_special_tokens=False)["input_ids"]
    return found


def played(chat: Chat, first: str, second: str) -> str:
    """A conversation of two turns as the policy sees it; answers come with what ended them."""
    tokens = chat.prompt("Write it.")
    tokens += encode(chat, first)
    tokens += chat.between(encode(chat, first), "It is wrong.")
    tokens += encode(chat, second)
    tokens += chat.ending(encode(chat, second))
    return str(chat.tokenizer.decode(tokens))


def rendered(chat: Chat, *answers: str) -> str:
    prompts = ["Write it.", "It is wrong."]
    messages = []
    for prompt, answer in zip(prompts, answers, strict=True):
        messages += [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]
    return str(chat.tokenizer.apply_chat_template(messages, tokenize=False))


@pytest.mark.parametrize("template", ["qwen2_5", "llama3", "gemma3"])
def test_a_conversation_is_what_the_template_renders(template: str) -> None:
    chat = chat_of(template)
    end = END.get(template, "<|im_end|>")
    assert encode(chat, end)[0] in chat.stop_ids
    expected = rendered(chat, "First.", "Second.").rstrip("\n")
    assert played(chat, f"First.{end}", f"Second.{end}") == expected
    assert played(chat, "First.", "Second.") == expected, "what was cut off is closed alike"


def test_thoughts_stay_as_they_were_sampled() -> None:
    chat = chat_of("qwen3")
    text = played(chat, "<think>\nHm.\n</think>\n\nFirst.<|im_end|>", "Second.<|im_end|>")
    assert text.count("Hm.") == 1
    assert "</think>\n\nFirst.<|im_end|>\n<|im_start|>user\nIt is wrong.<|im_end|>\n<|im_start|>assistant\nSec" in text
    assert chat.opened == ""


def test_a_thought_that_was_cut_off_is_closed_with_its_turn() -> None:
    chat = chat_of("qwen3_5_think")
    assert chat.opened == "<think>"
    text = played(chat, "Hm", "So\n</think>\n\nSecond.")
    assert "assistant\n<think>\nHm\n</think>\n\n<|im_end|>\n<|im_start|>user\nIt is wrong.<|im_end|>\n" in text
    assert text.endswith("So\n</think>\n\nSecond.<|im_end|>")
    assert chat_of("qwen3", enable_thinking=False).opened == ""


def test_an_end_of_text_that_is_no_end_of_turn_stays_and_is_followed_by_one() -> None:
    chat = chat_of("qwen2_5")
    answer = encode(chat, "First.<|endoftext|>")
    assert chat.text(answer) == "First."
    assert chat.tokenizer.decode(chat.between(answer, "No.")).startswith("<|im_end|>\n<|im_start|>user\nNo.")


def test_what_is_no_chat_model_is_refused() -> None:
    made = tokenizer("qwen2_5")
    for template, why in ((None, "no chat template"), ("{{ messages[0].content }}", "as it is")):
        made.chat_template = template
        with pytest.raises(ChatError, match=why):
            Chat(made, [made.eos_token_id])
