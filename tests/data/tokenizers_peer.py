#!/usr/bin/env python3
"""Trains small tokenisers with the package `tokenizers` and writes what they give, for test_tokenizer_peer.cpp.

    tokenizers_peer.py FOLDER    writes FOLDER/NAME.json and FOLDER/NAME.cases.json for each; exit code 77: no package
"""

import json
import random
import sys

try:
    import tokenizers
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
except ImportError as error:
    print(error)
    sys.exit(77)

WORDS = (
    "the tide turns twice a day and the harbour fills; boats don't wait, they'd rather lift. We've seen 1234 gulls, 56 seals "
    "and 7 whales: I'll write it's 3.14 miles. Äpfel éclair naïve ﬁn straße ÉTÉ İstanbul 海は広い 大きい 바다 море θάλασσα "
    "\u0301combining e\u0301 a\u0308\u0323 \u1e69 क्षि नमस्ते 🦀🐚👩‍👩‍👧 ½ ² ٣٤ Ⅷ x_y --- (c) \u00a0 \u2003 \u200d \u00ad"
).split(" ")
ALPHABETS = [
    range(0x20, 0x7F), range(0xA0, 0x250), range(0x300, 0x370), range(0x370, 0x530), range(0x590, 0x700), range(0x900, 0xE00),
    range(0x1100, 0x1200), range(0x1E00, 0x2070), range(0x2070, 0x2C00), range(0x3000, 0x3200), range(0x4E00, 0x4F00),
    range(0xAC00, 0xAD00), range(0xF900, 0xFB50), range(0xFE00, 0x10000), range(0x10000, 0x10400), range(0x1D000, 0x1D800),
    range(0x1E900, 0x1E960), range(0x1F300, 0x1FA00), range(0x20000, 0x20100), range(0xE0000, 0xE0200), range(0, 0x20),
]
MARKS = ["<|endoftext|>", "[MASK]", "<mask>", " <mask>", "[CLS]", "<new>", "<New>", "a<word>b", " <word> ", "<word>"]


def random_text(rng):
    parts = []
    for _ in range(rng.randint(0, 14)):
        kind = rng.random()
        if kind < 0.45:
            parts.append(rng.choice(WORDS))
        elif kind < 0.7:
            parts.append("".join(chr(rng.choice(rng.choice(ALPHABETS))) for _ in range(rng.randint(1, 6))))
        elif kind < 0.8:
            parts.append(rng.choice(["  ", "\n", "\r\n \n", "\t ", "   x", "'s", "'LL", "'ſ", "\u3000", "\u0085"]))
        elif kind < 0.9:
            parts.append(rng.choice(MARKS))
        else:
            parts.append(str(rng.randint(0, 10**7)))
        if rng.random() < 0.7:
            parts.append(" ")
    return "".join(parts)


def corpus():
    rng = random.Random(3)
    return [" ".join(rng.choices(WORDS, k=12)) for _ in range(400)]


def trained(tokenizer, trainer):
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def bpe(special, vocabulary=420, **options):
    return trainers.BpeTrainer(vocab_size=vocabulary, special_tokens=special, show_progress=False,
                               initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **options)


def gpt2():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return trained(tokenizer, bpe(["<|endoftext|>"]))


def roberta():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trained(tokenizer, bpe(["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True, special=True)]))
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer.enable_truncation(20)
    tokenizer.enable_padding(pad_id=1, pad_token="<pad>", pad_to_multiple_of=8)
    return tokenizer


def bert(lowercase=True, strip_accents=None):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=20))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=strip_accents)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trained(tokenizer, trainers.WordPieceTrainer(vocab_size=300, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return tokenizer


def bert_cut():
    tokenizer = bert()
    tokenizer.enable_truncation(9, strategy="longest_first", direction="left")
    tokenizer.enable_padding(direction="left", length=16, pad_id=0, pad_type_id=1)
    return tokenizer


def split_bpe(pattern, normalizer=None, **options):
    tokenizer = Tokenizer(models.BPE(**options))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trained(tokenizer, bpe(["<|endoftext|>"]))
    tokenizer.add_tokens([AddedToken("<new>"), AddedToken("<word>", single_word=True, lstrip=True, rstrip=True)])
    return tokenizer


LINES = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def sentencepiece_like():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    return trained(tokenizer, trainers.BpeTrainer(vocab_size=600, special_tokens=["<unk>", "<s>", *bytes_], show_progress=False))


def words_bpe():
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents(), normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True)])
    tokenizer.decoder = decoders.BPEDecoder()
    trained(tokenizer, trainers.BpeTrainer(vocab_size=300, special_tokens=["[UNK]"], end_of_word_suffix="</w>", limit_alphabet=60, show_progress=False))
    tokenizer.add_tokens(["<New>"])
    return tokenizer


def metaspace():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(prepend_scheme="first"), pre_tokenizers.Punctuation()])
    tokenizer.decoder = decoders.Metaspace()
    return trained(tokenizer, trainers.BpeTrainer(vocab_size=400, special_tokens=["<unk>", "<|endoftext|>"], show_progress=False))


def encoding(made):
    return {"ids": made.ids, "type_ids": made.type_ids, "tokens": made.tokens, "attention_mask": made.attention_mask,
            "special_tokens_mask": made.special_tokens_mask}


def cases_of(tokenizer, rng, count):
    texts = ["", " ", "a", *WORDS, *(random_text(rng) for _ in range(count))]
    cases = []
    for text in texts:
        made, bare, pair = tokenizer.encode(text), tokenizer.encode(text, add_special_tokens=False), tokenizer.encode(text, texts[7])
        cases.append({"text": text, "single": encoding(made), "bare": bare.ids, "pair": encoding(pair),
                      "decoded": tokenizer.decode(made.ids), "kept": tokenizer.decode(made.ids, skip_special_tokens=False)})
    batch = [encoding(made) for made in tokenizer.encode_batch(texts[:8])]
    return {"pair_with": texts[7], "batch": batch, "cases": cases, "size": max(tokenizer.get_vocab().values()) + 1}


def main():
    folder, rng = sys.argv[1], random.Random(11)
    all_of_them = {
        "gpt2": gpt2(), "roberta": roberta(), "bert": bert(), "bert_cased": bert(False), "bert_accents": bert(True, False),
        "bert_cut": bert_cut(), "llama3": split_bpe(LINES % "{1,3}", ignore_merges=True),
        "qwen": split_bpe(LINES % "", normalizers.NFC()), "sentencepiece": sentencepiece_like(), "words": words_bpe(),
        "metaspace": metaspace(),
    }
    for name, tokenizer in all_of_them.items():
        tokenizer.save(f"{folder}/{name}.json")
        tokenizer = Tokenizer.from_file(f"{folder}/{name}.json")
        with open(f"{folder}/{name}.cases.json", "w") as file:
            json.dump(cases_of(tokenizer, rng, 400), file)
    print(f"tokenizers {tokenizers.__version__}: {len(all_of_them)} tokenisers")


main()
