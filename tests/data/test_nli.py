"""The embedded pairs: their labels are true, and one sentence alone says next to nothing."""

import itertools
import re
from collections import Counter

import pytest
import torch
from support.errors import one_sentence
from support.python import run_python
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from course.core.errors import CourseError
from course.data import nli

pytestmark = pytest.mark.usefixtures("one_thread")

# An oracle that shares nothing with the grammar: each word as a test of a scene, written by hand.
SCENES = list(
    itertools.product(
        ("young", "old"),
        ("pianist", "drummer", "violinist", "singer", "boxer", "runner", "skier", "swimmer"),
        ("buys", "sells", "swaps", "washes", "peels", "slices"),
        ("apples", "pears", "plums", "cherries", "carrots", "onions", "beans", "leeks"),
    )
)
KINDS = {
    "musician": "pianist drummer violinist singer",
    "athlete": "boxer runner skier swimmer",
    "trades": "buys sells swaps",
    "prepares": "washes peels slices",
    "fruit": "apples pears plums cherries",
    "vegetables": "carrots onions beans leeks",
}


def scenes(sentence: str) -> set[tuple[str, ...]]:
    """The scenes in which a sentence is true."""
    the, *words = sentence.split()
    assert the == "the"
    allowed = [set(KINDS.get(word, word).split()) for word in words]
    return {scene for scene in SCENES if all(kinds & set(scene) for kinds in allowed)}


def oracle(premise: str, hypothesis: str) -> int:
    """The label: the hypothesis holds in all scenes of the premise, in none, or in some."""
    premises, claimed = scenes(premise), scenes(hypothesis)
    return 0 if premises <= claimed else 2 if not premises & claimed else 1


def test_labels_agree_with_truth_in_every_scene():
    for split in ("train", "validation"):
        for premise, hypothesis, label in nli.pairs()[split][:300]:
            assert oracle(premise, hypothesis) == label, (premise, hypothesis)


def specific(sentence: str) -> int:
    """How many words of a sentence stand for one thing only."""
    return sum(word not in KINDS and word != "the" for word in sentence.split())


def test_splits_are_distinct_balanced_and_share_no_hypothesis():
    pairs = nli.pairs()
    for rows in pairs.values():
        assert len({row[:2] for row in rows}) == len(rows)
        assert set(Counter(label for *_, label in rows).values()) == {len(rows) // 3}
        by_hypothesis = Counter((hypothesis, label) for _, hypothesis, label in rows)
        assert all(
            by_hypothesis[hypothesis, 0] == count
            for (hypothesis, _), count in by_hypothesis.items()
        )
        detail = Counter((specific(premise), label) for premise, _, label in rows)
        assert all(detail[number, 0] == count for (number, _), count in detail.items())
    hypotheses = {split: {hypothesis for _, hypothesis, _ in rows} for split, rows in pairs.items()}
    assert len(pairs["train"]) >= 5000
    assert not hypotheses["train"] & hypotheses["validation"]


@pytest.mark.parametrize("segment", [0, 1], ids=["premise", "hypothesis"])
def test_one_sentence_alone_says_next_to_nothing(segment):
    """Softmax regression on the bag of one sentence's words stays near one in three."""
    splits = {split: nli.tokenized(split)[:] for split in ("train", "validation")}
    bags = {split: _bag(batch, segment) for split, batch in splits.items()}
    model = torch.nn.Linear(bags["train"].shape[1], 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(100):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(
            model(bags["train"]), splits["train"]["labels"]
        ).backward()
        optimizer.step()
    guesses = model(bags["validation"]).argmax(1)
    assert (guesses == splits["validation"]["labels"]).float().mean() <= 0.42


def _bag(batch: dict[str, torch.Tensor], segment: int) -> torch.Tensor:
    """One row per pair and one column per token, 1 where that sentence has it.

    The column of the padding token is always 1.
    """
    ids = batch["input_ids"] * (batch["token_type_ids"] == segment)
    return torch.zeros(len(ids), 64).scatter_(1, ids, 1.0)


@pytest.mark.rest
def test_a_second_process_makes_the_same_pairs():
    code = (
        "from course.data import nli; import hashlib; "
        "print(hashlib.sha256(repr(nli.pairs()).encode()).hexdigest())"
    )
    texts = {run_python(code, PYTHONHASHSEED=seed).stdout for seed in ("1", "2")}
    assert len(texts) == 1
    assert texts != {""}


def test_load_has_the_columns_and_names_of_multi_nli():
    splits = nli.load()
    assert set(splits) == {"train", "validation"}
    for split, table in splits.items():
        assert table.column_names == ["premise", "hypothesis", "label"]
        assert table.features["label"].names == ["entailment", "neutral", "contradiction"]
        assert tuple(table[0].values()) == nli.pairs()[split][0]


def test_tokenizer_knows_every_word_and_gives_the_sentences_back():
    tokenizer = nli.make_tokenizer()
    for premise, hypothesis, _ in nli.pairs()["train"][:200]:
        ids = tokenizer(premise, hypothesis)["input_ids"]
        assert tokenizer.decode(ids) == f"[CLS] {premise} [SEP] {hypothesis} [SEP]"
    for split in ("train", "validation"):
        assert not (nli.tokenized(split)[:]["input_ids"] == tokenizer.unk_token_id).any()


def test_tokenized_pairs_are_batches_for_a_loader_and_for_ranks():
    train = nli.tokenized("train", size=64)
    premise, hypothesis, label = nli.pairs()["train"][5]
    item, tokenizer = train[5], nli.make_tokenizer()
    alone = tokenizer(premise, hypothesis)
    length = len(alone["input_ids"])
    assert item["input_ids"][:length].tolist() == alone["input_ids"]
    assert item["token_type_ids"][:length].tolist() == alone["token_type_ids"]
    assert item["attention_mask"].sum() == length
    assert item["labels"] == label
    assert train[:]["labels"].tolist() == [label for *_, label in nli.pairs()["train"][:64]]
    halves = [
        DataLoader(train, batch_size=32, sampler=DistributedSampler(train, 2, rank))
        for rank in range(2)
    ]
    batches = [next(iter(half)) for half in halves]
    assert {name: tuple(value.shape) for name, value in batches[0].items()} == {
        "input_ids": (32, 13),
        "token_type_ids": (32, 13),
        "attention_mask": (32, 13),
        "labels": (32,),
    }
    both = torch.cat([batch["input_ids"] for batch in batches]).tolist()
    assert sorted(both) == sorted(train[:]["input_ids"].tolist())


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: nli.tokenized("test"), "no split 'test'"),
        (lambda: nli.tokenized("validation", size=10**6), "900 pairs"),
        (lambda: nli.tokenized(size=0), "not 0"),
        (lambda: nli.load("/no/such/folder"), "no folder /no/such/folder"),
        (lambda: nli.make_tokenizer("./nowhere"), "no folder ./nowhere"),
    ],
)
def test_a_wrong_argument_gives_one_sentence(call, says):
    with pytest.raises(CourseError, match=re.escape(says)) as caught:
        call()
    assert one_sentence(caught.value)
