#!/usr/bin/env python3
"""Writes tests/data/goldens/tokenizer_components.jsonl.gz: every component of tokenizer.json that the five golden tokenizers
do not use, in a tokenizer of its own, with what the library `tokenizers` (0.23.2) makes of some texts and ids.

Usage: tokenizer_components.py | gzip -9n > tests/data/goldens/tokenizer_components.jsonl.gz

The model is BPE with ignore_merges and, as its vocabulary, every piece the pre-tokenizer cuts, so that the ids show the cuts.
"""
import json
import sys

from tokenizers import Tokenizer, __version__

TEXTS = [
    "", " ", "a", "  leading and trailing  ", "Hello, World! (it's 42.5%)", "x1y22z333", "caf\u00e9 cafe\u0301 \u212b\u1e9b\u0323 \ufb01\u2460",
    "\u0130STANBUL \u03a3\u0391\u03a3 \u00df", "a\tb\nc\r\n\r\nd", "\u4f60\u597d\uff0c\u4e16\u754c\u3002", "\u00a0nbsp\u3000ideo\u2028line\u0085nel\u180emvs",
    "a--b---c", "\u0663\u0664\u2167\u00bd9\u2488", "\u2581\u2581low\u2581 mark \u2581", "_under_score __ A\u200dB\u203fC", "'s 'LL don't", "a\u0316\u0301\u0300b",
]


def tokenizer(normalizer=None, pre_tokenizer=None, decoder=None, post_processor=None, added=(), vocab=None, **model):
    tokens = [dict(id=None, content=a, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True) | dict(f)
              for a, f in added]
    return dict(version="1.0", truncation=None, padding=None, added_tokens=tokens, normalizer=normalizer, pre_tokenizer=pre_tokenizer,
                post_processor=post_processor, decoder=decoder,
                model=dict(type="BPE", dropout=None, unk_token=None, continuing_subword_prefix=None, end_of_word_suffix=None,
                           fuse_unk=False, byte_fallback=False, ignore_merges=True, vocab=vocab or {}, merges=[]) | model)


def number(file, pieces):
    vocab = file["model"]["vocab"]
    for piece in sorted(pieces):
        vocab.setdefault(piece, len(vocab))
    for token in file["added_tokens"]:
        token["id"] = vocab[token["content"]] if token["content"] in vocab else len(vocab) + file["added_tokens"].index(token)


def pieces_of(file, texts):
    """The pieces; with added tokens, which cut the text too, all substrings up to eight characters."""
    library = Tokenizer.from_str(json.dumps(file | dict(added_tokens=[])))
    seen = set()
    for text in texts:
        normal = library.normalizer.normalize_str(text) if library.normalizer else text
        cut = [p for p, _ in library.pre_tokenizer.pre_tokenize_str(normal)] if library.pre_tokenizer and normal else [normal]
        seen.update(c for p in cut for c in p)
        if file["added_tokens"]:
            for p in cut:
                seen.update(p[i:j] for i in range(len(p)) for j in range(i + 1, min(len(p), i + 8) + 1))
        seen.update(p for p in cut if p)
    return seen - {t["content"] for t in file["added_tokens"]}


def row(name, file, texts=TEXTS, decode=()):
    if not file["model"]["vocab"]:
        number(file, pieces_of(file, texts))
    else:
        number(file, ())
    library = Tokenizer.from_str(json.dumps(file))
    encoded = [dict(text=t, ids=library.encode(t, add_special_tokens=False).ids, with_special=library.encode(t).ids) for t in texts]
    decoded = [dict(ids=i, skip=s, text=library.decode(i, skip_special_tokens=s)) for i in decode for s in (False, True)]
    print(json.dumps(dict(name=name, tokenizer=file, encode=encoded, decode=decoded), separators=(",", ":")))


def normalizers():
    parts = {k: dict(type=k) for k in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "ByteLevel")}
    parts["StripBoth"] = dict(type="Strip", strip_left=True, strip_right=True)
    parts["StripLeft"] = dict(type="Strip", strip_left=True, strip_right=False)
    parts["StripRight"] = dict(type="Strip", strip_left=False, strip_right=True)
    parts["ReplaceString"] = dict(type="Replace", pattern=dict(String="a"), content="<$1>")
    parts["ReplaceRegex"] = dict(type="Replace", pattern=dict(Regex=r"\s+|-+"), content="_")
    parts["ReplaceEmptyMatch"] = dict(type="Replace", pattern=dict(Regex=r"b*"), content="|")
    parts["Prepend"] = dict(type="Prepend", prepend="\u2581")
    parts["Sequence"] = dict(type="Sequence", normalizers=[dict(type="NFKD"), dict(type="Sequence", normalizers=[
        dict(type="StripAccents"), dict(type="Lowercase")]), dict(type="Prepend", prepend="> ")])
    for name, part in parts.items():
        row("normalizer " + name, tokenizer(normalizer=part))


def pre_tokenizers():
    parts = {}
    for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        for invert in (False, True):
            parts[f"Split {behavior} {invert}"] = dict(type="Split", pattern=dict(Regex=r"[\s\-]|\d\d"), behavior=behavior, invert=invert)
        parts[f"Split {behavior} empty matches"] = dict(type="Split", pattern=dict(Regex=r"\d*"), behavior=behavior, invert=False)
        parts[f"Punctuation {behavior}"] = dict(type="Punctuation", behavior=behavior)
    parts["Split String"] = dict(type="Split", pattern=dict(String="--"), behavior="Isolated", invert=False)
    for prefix in (False, True):
        for regex in (False, True):
            parts[f"ByteLevel {prefix} {regex}"] = dict(type="ByteLevel", add_prefix_space=prefix, trim_offsets=True, use_regex=regex)
        parts[f"Digits {prefix}"] = dict(type="Digits", individual_digits=prefix)
    for scheme in ("always", "first", "never"):
        for split in (False, True):
            parts[f"Metaspace {scheme} {split}"] = dict(type="Metaspace", replacement="\u2581", prepend_scheme=scheme, split=split)
    parts["Whitespace"] = dict(type="Whitespace")
    parts["WhitespaceSplit"] = dict(type="WhitespaceSplit")
    parts["CharDelimiterSplit"] = dict(type="CharDelimiterSplit", delimiter="-")
    parts["Sequence"] = dict(type="Sequence", pretokenizers=[dict(type="WhitespaceSplit"), dict(type="Digits", individual_digits=True),
                                                              dict(type="Metaspace", replacement="\u2581", prepend_scheme="first", split=True)])
    for name, part in parts.items():
        row("pre-tokenizer " + name, tokenizer(pre_tokenizer=part))


REGEXES = [
    r"\p{N}{1,3}+", r"\p{N}{2}?", r"x{,2}", r"[^\W_]+", r"\w+", r"\bA|\Bo\B", r"(?m:.)+", r".+", r"^.|.$", r"(?i:'s|'LL|'T)", r"(?i)s|\u03c3",
    r"[a-z&&[^aeiou]]+", r"[\p{L}&&[^\p{Han}]]+", r"[[:punct:]]+", r"[[:alpha:][:digit:]]+", r"\h+", r"\v", r"[\s&&[^\n]]+", r"[^[a-m]\s]+",
    r"\p{Han}+|\p{^Han}", r"\P{L}+", r"\p{Letter}+", r"(?<=a).|(?<!a)b", r"(?>a+)b|\s++\S", r"[]\-]|\{|a{", r"[^(\s|[.,!?\u3001])]+", r"\R|\X",
    r"[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}",
]


def regexes():
    texts = TEXTS + ["12345678", "1234567 xxxxx", "faceless abbb aab  ab", "]-{a{", "\u00b2\u00b3\u00bd\u24b6\u0345 \u200b\ufeff",
                     "line one\nline two\n", "K\u212a s\u017f \u03c3\u03c2\u03a3", "HTTPServer\u4f60\u597dABCdef\u30ab\u30bf"]
    for regex in REGEXES:
        row("regex " + regex, tokenizer(pre_tokenizer=dict(type="Split", pattern=dict(Regex=regex), behavior="Isolated", invert=False)), texts)


def added_tokens():
    texts = ["<s>a</s>", "a <x> b", "a<x>b <x>", "<x><x>  <x>", "a  <l>  b", "a  <r>  b<r>", "<lr>  <lr> \n <lr>", "word words sword word. word\u0301 \u24b6word",
             "<a><ab><abc>", "<ab<abc", "A B ab Ab", "\u212b \u00c5 A\u030a", "  ", "<r>   <sp>", "<x> <x", "<w><w> a<w> <w>a"]
    flags = [("<x>", {}), ("<l>", dict(lstrip=True)), ("<r>", dict(rstrip=True)), ("<lr>", dict(lstrip=True, rstrip=True)),
             ("word", dict(single_word=True, special=False)), ("<a>", {}), ("<ab", {}), ("<abc>", dict(special=False)),
             ("AB", dict(normalized=True)), ("\u212b", dict(normalized=True, special=False)), ("<w>", dict(single_word=True)), (" ", dict(special=False))]
    plain = [f for f in flags if f[0] != " "]
    row("added tokens", tokenizer(added=plain), texts)
    row("added tokens, one of them a space", tokenizer(added=flags), texts)
    row("added tokens, normalized", tokenizer(normalizer=dict(type="Sequence", normalizers=[dict(type="NFD"), dict(type="Lowercase")]), added=plain), texts)
    row("added tokens, metaspace first", tokenizer(added=plain, pre_tokenizer=dict(type="Metaspace", replacement="\u2581", prepend_scheme="first", split=True)), texts)
    row("added tokens, prepend", tokenizer(added=plain, normalizer=dict(type="Prepend", prepend="\u2581")), texts)
    row("added tokens, strip", tokenizer(added=plain, normalizer=dict(type="Strip", strip_left=True, strip_right=True)), texts)


def models():
    merges = dict(ignore_merges=False, merges=["a b", "ab c", "b c", "a bc", "a a", "aa aa"])
    vocab = {t: i for i, t in enumerate(["<unk>", "a", "b", "c", "ab", "abc", "bc", "aa", "aaaa"])}
    texts = ["abc", "bcabc", "aaaaaaa", "aabcbc", "a?b", "??a??", "", "xyz"]
    row("model, merges", tokenizer(vocab=dict(vocab), **merges), texts)
    row("model, unk", tokenizer(vocab=dict(vocab), unk_token="<unk>", **merges), texts)
    row("model, fused unk", tokenizer(vocab=dict(vocab), unk_token="<unk>", **(merges | dict(fuse_unk=True))), texts)
    some = dict(vocab) | {"<0x3F>": 9, "<0xC3>": 10, "<0xA9>": 11}
    row("model, some bytes", tokenizer(vocab=some, unk_token="<unk>", byte_fallback=True, **(merges | dict(fuse_unk=True))),
        texts + ["a\u00e9\u00e8b", "\u00e8\u00e9\u00e8", "\u00e8?a"])
    again = merges | dict(merges=[["a", "b"], ["b", "c"], ["a", "b"], ["ab", "c"]])
    row("model, a merge given twice", tokenizer(vocab=dict(vocab), **again), texts)


def decoders():
    tokens = ["\u2581Hello", "\u2581", "world", "  ", "\u2581\u2581x\u2581y", "<0xF0>", "<0x9F>", "<0x8E>", "<0x89>", "<0x41>", "<0x0A>", "<0xC3>", "<0x0a>", "<0xZZ>",
              " lead", "trail ", " ", "aXb", "X", "XX", "</s>", "caf\u00e9", "\u0120the", "\u00c3", "\u00a9", "\u4f60", "<0xE4>", "<0xBD>", "<0xA0>", ""]
    vocab = {t: i for i, t in enumerate(tokens)}
    ids = [[0, 1, 2, 3, 4], [1, 0], [4, 4], [5, 6, 7, 8, 2], [5, 6, 2], [9, 9, 10, 2], [26, 27, 28, 9, 11, 2], [11, 24, 23], [23, 24, 22], [21, 25], [14, 15, 16, 14], [16, 16, 0],
           [2, 15, 16, 16], [17, 18, 19, 17], [20, 0, 20, 1], [], [12, 13], [5, 20, 6, 7, 8], [3], [99, 0], [29, 2, 29], [19, 19, 2], [15, 3], [10, 5, 6, 7, 8, 9]]
    def replace(a, b): return dict(type="Replace", pattern=dict(String=a), content=b)
    def strip(start, stop): return dict(type="Strip", content=" ", start=start, stop=stop)
    def metaspace(scheme): return dict(type="Metaspace", replacement="\u2581", prepend_scheme=scheme, split=True)
    bytes_, fuse = dict(type="ByteFallback"), dict(type="Fuse")
    byte_level = dict(type="ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True)
    whole = [i for i in ids if 29 not in i]  # the library fails on Strip of an empty token
    for name, parts, given in [("none", None, ids), ("ByteLevel", [byte_level], ids), ("ByteFallback", [bytes_], ids), ("Fuse", [fuse], ids),
                               ("Strip start", [strip(1, 0)], ids), ("Strip stop", [strip(0, 1)], whole), ("Metaspace always", [metaspace("always")], ids),
                               ("Metaspace never", [metaspace("never")], ids), ("Replace", [replace("X", "--")], ids),
                               ("Replace regex", [dict(type="Replace", pattern=dict(Regex="X|[ \u2581]+"), content="#")], ids),
                               ("llama", [replace("\u2581", " "), bytes_, fuse, strip(1, 0)], ids), ("gemma", [replace("\u2581", " "), bytes_, fuse], ids),
                               ("bytes, metaspace", [bytes_, metaspace("first")], ids), ("fused, replaced", [fuse, replace("XX", "~")], ids),
                               ("fused, stripped", [bytes_, fuse, strip(2, 1)], [i for i in whole if i not in ([], [3])]), ("bytes, stripped", [bytes_, strip(1, 0)], ids),
                               ("byte level, replaced", [byte_level, replace("  ", "_")], ids)]:
        decoder = None if parts is None else parts[0] if len(parts) == 1 else dict(type="Sequence", decoders=parts)
        row("decoder " + name, tokenizer(vocab=dict(vocab), decoder=decoder, added=[("</s>", {})]), ["", "</s>"], given)


def post_processors():
    def special(name): return dict(SpecialToken=dict(id=name, type_id=0))
    text = dict(Sequence=dict(id="A", type_id=0))
    template = dict(type="TemplateProcessing", single=[special("<s>"), text, special("</s>"), special("<s>")], pair=[text, dict(Sequence=dict(id="B", type_id=1))],
                    special_tokens={"<s>": dict(id="<s>", ids=[1, 2], tokens=["<s>", "a"]), "</s>": dict(id="</s>", ids=[0], tokens=["</s>"])})
    level = dict(type="ByteLevel", add_prefix_space=True, trim_offsets=False, use_regex=True)
    vocab = {"</s>": 0, "<s>": 1, "a": 2, "hi": 3}
    added = [("<s>", {}), ("</s>", {})]
    texts = ["", "hi", "<s>hi", "<s>hi</s>"]
    row("post-processor template", tokenizer(vocab=dict(vocab), post_processor=template, added=added), texts)
    row("post-processor sequence", tokenizer(vocab=dict(vocab), post_processor=dict(type="Sequence", processors=[level, template]), added=added), texts)


if __name__ == "__main__":
    print("made with tokenizers", __version__, file=sys.stderr)
    for part in (normalizers, pre_tokenizers, regexes, added_tokens, models, decoders, post_processors):
        part()
