"""Premise/hypothesis pairs from a small grammar: natural language inference without a download.

A sentence fills four slots: ``the [young] drummer sells apples``. The phrases of a slot form a
small taxonomy, and the meaning of a phrase is the set of the most specific things it can stand for:
*musician* is {pianist, drummer, violinist, singer}, and no adjective at all is {young, old}. Both
sentences describe the same scene, as MultiNLI's annotators were asked to assume, so the label
follows from the sets, slot by slot:

- **entailment** (0): in every slot the premise's set lies within the hypothesis's;
- **contradiction** (2): in some slot the two sets have nothing in common;
- **neutral** (1): anything else, so in some slot the hypothesis says more than the premise.

Columns, label numbers and names are MultiNLI's (Williams et al. 2018,
https://huggingface.co/datasets/nyu-mll/multi_nli).

Neither sentence alone gives the label away. Every hypothesis comes with equally many premises of
each label, and those premises are equally specific: the three of a triple have the same number of
slots filled with a most specific phrase, more than the hypothesis has, and any choice of these
slots is equally likely under each label. A bag-of-words classifier of the hypothesis or of the
premise stays near one in three (measured in tests/data/test_nli.py): the two must be compared.

No hypothesis of the validation split is one of the training split, so no pair is in both. Both
splits share their words, and a premise may occur in both: validation needs a comparison not seen
before.
"""

import itertools
import random
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

import torch
from torch.utils.data import Dataset

from course.core import CourseError
from course.data import hub, nli_by_name
from course.data.nli_by_name import LABELS

if TYPE_CHECKING:
    from datasets import DatasetDict
    from transformers import PreTrainedTokenizerBase

# One taxonomy per slot, in the order of the words. The empty phrase, for a word left out, stands
# for its whole branch.
SLOTS = (
    {"": {"young": {}, "old": {}}},
    {
        "musician": {"pianist": {}, "drummer": {}, "violinist": {}, "singer": {}},
        "athlete": {"boxer": {}, "runner": {}, "skier": {}, "swimmer": {}},
    },
    {
        "trades": {"buys": {}, "sells": {}, "swaps": {}},
        "prepares": {"washes": {}, "peels": {}, "slices": {}},
    },
    {
        "fruit": {"apples": {}, "pears": {}, "plums": {}, "cherries": {}},
        "vegetables": {"carrots": {}, "onions": {}, "beans": {}, "leeks": {}},
    },
)

SIZES = {"train": 9_000, "validation": 900}  # pairs; each a multiple of the three labels
# The chance that each further slot of a contradiction clashes too: a model first learns from
# sentences with many clashes.
CLASH = 0.9
SEED = 0

Phrases = tuple[str, ...]  # a sentence as its phrases, one per slot
Row = tuple[str, str, int]  # premise, hypothesis, label


def load(name: str | None = None) -> "DatasetDict":
    """The pairs as a `datasets.DatasetDict` with splits ``train`` and ``validation``.

    Each split has the columns ``premise``, ``hypothesis`` (strings) and ``label`` (a `ClassLabel`:
    0 entailment, 1 neutral, 2 contradiction). Without a `name` they come from the grammar, the same
    on every machine; with one, from the Hub (``"nyu-mll/multi_nli"``) or a local folder (see
    `course.data.nli_by_name`). Raises `CourseError` if that fails.
    """
    if name is not None:
        return nli_by_name.load(name)
    from datasets import ClassLabel, DatasetDict, Features, Value
    from datasets import Dataset as Table

    features = Features(
        premise=Value("string"), hypothesis=Value("string"), label=ClassLabel(names=list(LABELS))
    )
    splits = {}
    for split, rows in pairs().items():
        columns = dict(zip(features, zip(*rows, strict=True), strict=True))
        splits[split] = Table.from_dict(columns, features=features)
    return DatasetDict(splits)


def make_tokenizer(checkpoint: str | None = None) -> "PreTrainedTokenizerBase":
    """A word-piece tokenizer for the embedded pairs: the grammar's words, BERT's special tokens.

    It is made in memory. With a `checkpoint` (``"bert-base-cased"`` or a local folder), that
    checkpoint's own tokenizer is loaded. Raises `CourseError` if that fails.
    """
    from transformers import AutoTokenizer, BertTokenizerFast

    if checkpoint is None:
        tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_vocabulary()]
        return BertTokenizerFast(vocab={token: number for number, token in enumerate(tokens)})
    with hub.source(
        checkpoint, "the tokenizer of", "leave it out for that of the embedded pairs"
    ) as source:
        return AutoTokenizer.from_pretrained(source)


def _vocabulary() -> list[str]:
    """Every word of the grammar, in alphabetical order."""
    phrases = [phrase for slot in range(len(SLOTS)) for phrase in _meanings(slot)]
    return sorted({"the", *" ".join(phrases).split()})


def tokenized(
    split: str = "train",
    *,
    name: str | None = None,
    tokenizer: "PreTrainedTokenizerBase | None" = None,
    size: int | None = None,
    max_length: int = 128,
) -> "Tokenized":
    """The pairs of a split as tensors, tokenized here once so that no training step pays for it.

    `name` is as in `load`; real sentences need a `tokenizer` of a checkpoint. `size` keeps only the
    first pairs. Every pair is padded to the longest of them, and cut at `max_length` tokens. Raises
    `CourseError` for a split that does not exist, a size that it does not have, or words that the
    grammar's tokenizer does not know.
    """
    premises, hypotheses, labels = _columns(split, name, size)
    encode = tokenizer or make_tokenizer()
    options = {
        "padding": "longest",
        "truncation": True,
        "max_length": max_length,
        "return_token_type_ids": True,
    }
    tensors = encode(premises, hypotheses, return_tensors="pt", **options)
    if tokenizer is None and (tensors["input_ids"] == encode.unk_token_id).any():
        raise CourseError(
            f"The sentences of {name!r} need a real tokenizer: "
            "pass make_tokenizer('bert-base-cased'), say."
        )
    return Tokenized({**tensors, "labels": torch.tensor(labels)})


class Tokenized(Dataset):
    """Tensors of equal length whose items are dicts, as models of `transformers` take them.

    ``input_ids``, ``attention_mask`` and ``token_type_ids`` are (pairs, length), ``labels`` is
    (pairs,); all are int64.
    """

    def __init__(self, tensors: dict[str, torch.Tensor]) -> None:
        self.tensors = tensors

    def __len__(self) -> int:
        return len(self.tensors["labels"])

    def __getitem__(self, index: int | slice | list[int] | torch.Tensor) -> dict[str, torch.Tensor]:
        """One item, or with a slice or several indices a whole batch, without a loader."""
        return {name: tensor[index] for name, tensor in self.tensors.items()}


@cache
def pairs() -> dict[str, list[Row]]:
    """The embedded pairs of each split, in an order that is the same everywhere."""
    generator = random.Random(SEED)
    sentences = itertools.product(*map(_meanings, range(len(SLOTS))))
    hypotheses = [phrases for phrases in sentences if len(_specific_slots(phrases)) in (1, 2)]
    generator.shuffle(hypotheses)
    cut = len(hypotheses) // 10
    parts = {"train": hypotheses[cut:], "validation": hypotheses[:cut]}
    return {split: _draw(parts[split], size, generator) for split, size in SIZES.items()}


def _draw(hypotheses: list[Phrases], size: int, generator: random.Random) -> list[Row]:
    """`size` distinct pairs in triples of one hypothesis and a premise for each label.

    The three premises are equally specific.
    """
    drawn: dict[tuple[Phrases, Phrases], int] = {}
    while len(drawn) < size:
        hypothesis = generator.choice(hypotheses)
        count = generator.randrange(len(_specific_slots(hypothesis)) + 1, len(SLOTS))
        premises = [_premise(hypothesis, label, count, generator) for label in range(len(LABELS))]
        if not any((premise, hypothesis) in drawn for premise in premises):
            drawn |= {(premise, hypothesis): label for label, premise in enumerate(premises)}
    rows = [
        (_sentence(premise), _sentence(hypothesis), label)
        for (premise, hypothesis), label in drawn.items()
    ]
    generator.shuffle(rows)
    return rows


def _premise(hypothesis: Phrases, label: int, count: int, generator: random.Random) -> Phrases:
    """A premise with `count` specific slots that gives `hypothesis` this label."""
    patterns = [set(slots) for slots in itertools.combinations(range(len(SLOTS)), count)]
    if LABELS[label] == "contradiction":
        return _contradiction(hypothesis, generator.choice(patterns), generator)
    # To entail, a premise is specific wherever the hypothesis is; a neutral one is not, somewhere.
    entailed = LABELS[label] == "entailment"
    fitting = [slots for slots in patterns if (_specific_slots(hypothesis) <= slots) == entailed]
    pattern = generator.choice(fitting)
    options = [_options(slot, phrase, slot in pattern) for slot, phrase in enumerate(hypothesis)]
    return tuple(generator.choice(nested) for nested, _ in options)


def _contradiction(hypothesis: Phrases, pattern: set[int], generator: random.Random) -> Phrases:
    """A premise that clashes with `hypothesis` in at least one slot.

    It is specific in the slots of `pattern` only.
    """
    options = [_options(slot, phrase, slot in pattern) for slot, phrase in enumerate(hypothesis)]
    certain = generator.choice([slot for slot, (_, disjoint) in enumerate(options) if disjoint])
    chosen = []
    for slot, (nested, disjoint) in enumerate(options):
        clashes = slot == certain or (disjoint and generator.random() < CLASH)
        chosen.append(generator.choice(disjoint if clashes else nested))
    return tuple(chosen)


@cache
def _options(slot: int, phrase: str, specific: bool) -> tuple[list[str], list[str]]:
    """The phrases of a slot that are compatible with `phrase`, and those that clash with it.

    All of them are `specific`, or all of them are not.
    """
    own = _meanings(slot)[phrase]
    others = {
        other: meaning
        for other, meaning in _meanings(slot).items()
        if (len(meaning) == 1) == specific
    }
    nested = [other for other, meaning in others.items() if meaning <= own or meaning >= own]
    return nested, [other for other, meaning in others.items() if not meaning & own]


@cache
def _specific_slots(phrases: Phrases) -> set[int]:
    """The slots whose phrase can mean only one thing."""
    return {slot for slot, phrase in enumerate(phrases) if len(_meanings(slot)[phrase]) == 1}


@cache
def _meanings(slot: int) -> dict[str, frozenset[str]]:
    """Every phrase of a slot with the set of the most specific phrases that it can stand for."""
    return dict(_below(SLOTS[slot]))


def _below(taxonomy: dict) -> Iterator[tuple[str, frozenset[str]]]:
    for phrase, branch in taxonomy.items():
        narrower = dict(_below(branch))
        yield phrase, frozenset().union(*narrower.values()) or frozenset([phrase])
        yield from narrower.items()


def _sentence(phrases: Phrases) -> str:
    return " ".join(("the", *filter(None, phrases)))


def _columns(
    split: str, name: str | None, size: int | None
) -> tuple[list[str], list[str], list[int]]:
    """Premises, hypotheses and labels of the first `size` pairs of a split."""
    if split not in SIZES:
        raise CourseError(f"There is no split {split!r}: use 'train' or 'validation'.")
    table = pairs()[split] if name is None else load(name)[split]
    if size is not None and not 1 <= size <= len(table):
        raise CourseError(
            f"The {split} split has {len(table)} pairs: "
            f"size must lie between 1 and that, not {size}."
        )
    rows = table[:size]
    columns = zip(*rows, strict=True) if name is None else rows.values()
    return tuple(list(column) for column in columns)
