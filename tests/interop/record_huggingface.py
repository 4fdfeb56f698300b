#!/usr/bin/env python3
"""What small GPT-2 and BERT models compute, written with NumPy in float64: huggingface.safetensors beside this file.

    record_huggingface.py            writes the record
    record_huggingface.py --check    also compares with the package transformers, where it is installed

Weights are a function of their names: test_huggingface.cpp draws the same, so that none are stored.
"""

import math
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

GPT2 = {"vocab_size": 61, "n_positions": 16, "n_embd": 24, "n_layer": 2, "n_head": 3}
BERT = {"vocab_size": 53, "max_position_embeddings": 16, "type_vocab_size": 2, "hidden_size": 24, "num_hidden_layers": 2,
        "num_attention_heads": 4, "intermediate_size": 40}
IDS = np.array([[5, 17, 3, 60, 0, 9, 33], [1, 1, 2, 40, 41, 42, 7]])
BERT_IDS = np.minimum(IDS, 52)
TYPES = np.array([[0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0, 0]])
MASK = np.array([[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0]])


def drawn(name, shape):
    """Numbers from [-0.3, 0.3), around 1 for the scales of norms."""
    key = 2166136261
    for byte in name.encode():
        key = (key ^ byte) * 16777619 % 2**32
    with np.errstate(over="ignore"):
        x = np.uint32(key) + np.arange(math.prod(shape), dtype=np.uint32) * np.uint32(0x9E3779B9)
        x = (x ^ (x >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        x = (x ^ (x >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        x ^= x >> np.uint32(16)
    values = (x.astype(np.float64) / 2**32 - 0.5) * 0.6
    is_scale = name.endswith(".weight") and ("ln_" in name or "LayerNorm" in name)
    return (values + is_scale).astype(np.float32).astype(np.float64).reshape(shape)


def norm(x, name, epsilon):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    width = (x.shape[-1],)
    return (x - mean) / np.sqrt(variance + epsilon) * drawn(name + ".weight", width) + drawn(name + ".bias", width)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def heads(x, count):
    return x.reshape(*x.shape[:2], count, -1).transpose(0, 2, 1, 3)


def attention(q, k, v, count, seen):
    q, k, v = heads(q, count), heads(k, count), heads(v, count)
    scores = np.where(seen, q @ k.transpose(0, 1, 3, 2) / math.sqrt(q.shape[-1]), -np.inf)
    return (softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(q.shape[0], q.shape[2], -1)


def gelu_new(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def gpt2(ids):
    width = GPT2["n_embd"]

    def conv1d(x, name, outputs):
        return x @ drawn(name + ".weight", (x.shape[-1], outputs)) + drawn(name + ".bias", (outputs,))

    table = drawn("wte.weight", (GPT2["vocab_size"], width))
    x = table[ids] + drawn("wpe.weight", (GPT2["n_positions"], width))[: ids.shape[1]]
    causal = np.tril(np.ones((ids.shape[1], ids.shape[1]), bool))
    for i in range(GPT2["n_layer"]):
        h = f"h.{i}"
        q, k, v = np.split(conv1d(norm(x, h + ".ln_1", 1e-5), h + ".attn.c_attn", 3 * width), 3, -1)
        x = x + conv1d(attention(q, k, v, GPT2["n_head"], causal), h + ".attn.c_proj", width)
        y = gelu_new(conv1d(norm(x, h + ".ln_2", 1e-5), h + ".mlp.c_fc", 4 * width))
        x = x + conv1d(y, h + ".mlp.c_proj", width)
    return norm(x, "ln_f", 1e-5) @ table.T


def bert(ids, types, mask):
    width, epsilon = BERT["hidden_size"], 1e-12

    def linear(x, name, outputs):
        return x @ drawn(name + ".weight", (outputs, x.shape[-1])).T + drawn(name + ".bias", (outputs,))

    x = drawn("embeddings.word_embeddings.weight", (BERT["vocab_size"], width))[ids]
    x = x + drawn("embeddings.position_embeddings.weight", (BERT["max_position_embeddings"], width))[: ids.shape[1]]
    x = x + drawn("embeddings.token_type_embeddings.weight", (BERT["type_vocab_size"], width))[types]
    x = norm(x, "embeddings.LayerNorm", epsilon)
    for i in range(BERT["num_hidden_layers"]):
        e = f"encoder.layer.{i}"
        q, k, v = (linear(x, f"{e}.attention.self.{part}", width) for part in ("query", "key", "value"))
        mixed = attention(q, k, v, BERT["num_attention_heads"], mask[:, None, None, :] != 0)
        x = norm(x + linear(mixed, e + ".attention.output.dense", width), e + ".attention.output.LayerNorm", epsilon)
        y = linear(gelu(linear(x, e + ".intermediate.dense", BERT["intermediate_size"])), e + ".output.dense", width)
        x = norm(x + y, e + ".output.LayerNorm", epsilon)
    return x, np.tanh(linear(x[:, 0], "pooler.dense", width))


def check(record):
    import torch
    from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel

    def fill(model, prefix):
        with torch.no_grad():
            for name, weight in model.named_parameters():
                weight.copy_(torch.from_numpy(drawn(name.removeprefix(prefix), tuple(weight.shape)).astype(np.float32)))
        return model.eval()

    with torch.no_grad():
        one = fill(GPT2LMHeadModel(GPT2Config(**GPT2)), "transformer.")(torch.from_numpy(IDS)).logits.numpy()
        other = fill(BertModel(BertConfig(**BERT)), "bert.")(torch.from_numpy(BERT_IDS), token_type_ids=torch.from_numpy(TYPES),
                                                            attention_mask=torch.from_numpy(MASK))
    pairs = {"gpt2": one, "bert": other.last_hidden_state.numpy(), "pooled": other.pooler_output.numpy()}
    for name, theirs in pairs.items():
        print(name, "largest difference from transformers:", np.abs(record[name] - theirs).max())


def main():
    states, pooled = bert(BERT_IDS, TYPES, MASK)
    record = {"gpt2": gpt2(IDS).astype(np.float32), "bert": states.astype(np.float32), "pooled": pooled.astype(np.float32)}
    save_file(record, str(Path(__file__).parent / "huggingface.safetensors"))
    if "--check" in sys.argv[1:]:
        check(record)


if __name__ == "__main__":
    main()
