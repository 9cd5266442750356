"""A tokenizer whose tokens are whole fragments of text, so that a tiny policy can write kernels.

Of any text it sees only the fragments that it knows; the rest is not there for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

PAD, START, END = "<|pad|>", "<|im_start|>", "<|im_end|>"
HEADERS = ("user\n", "assistant\n")
TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def fragment_tokenizer(fragments: Sequence[str], template: str = TEMPLATE) -> Any:
    """A token for each fragment, in order, behind those of the chat template. Longer fragments are found first."""
    bare = Tokenizer(models.BPE(vocab={}, merges=[]))
    bare.decoder = decoders.Fuse()
    bare.add_special_tokens([PAD, START, END])
    bare.add_tokens([AddedToken(text, normalized=False, special=False) for text in (*HEADERS, *fragments)])
    made = PreTrainedTokenizerFast(
        tokenizer_object=bare, pad_token=PAD, eos_token=END, padding_side="left", clean_up_tokenization_spaces=False
    )
    made.chat_template = template
    return made
