"""The embedded sets say what they promise, and real sets come in through the same door."""

import itertools
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import datasets
import pytest
import torch
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from course.core.errors import CourseError
from course.data import digits, hub, nli, nli_by_name

pytestmark = pytest.mark.usefixtures("one_thread")

# An oracle that shares nothing with the grammar: each word as a test of a scene, written out by hand.
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
    """The label by truth in every scene: true in all of the premise's, in none, or in some."""
    given, claimed = scenes(premise), scenes(hypothesis)
    return 0 if given <= claimed else 2 if not given & claimed else 1


def test_labels_agree_with_truth_in_every_scene():
    for split in ("train", "validation"):
        for premise, hypothesis, label in nli.pairs()[split][:300]:
            assert oracle(premise, hypothesis) == label, (premise, hypothesis)


def specific(sentence: str) -> int:
    """How many of its words stand for one thing only."""
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
    """One row a pair, one column a token, 1 where it stands in that sentence (and for padding, always)."""
    ids = batch["input_ids"] * (batch["token_type_ids"] == segment)
    return torch.zeros(len(ids), 64).scatter_(1, ids, 1.0)


def test_a_second_process_makes_the_same_pairs():
    code = "from course.data import nli; import hashlib; print(hashlib.sha256(repr(nli.pairs()).encode()).hexdigest())"
    texts = {_python(code, PYTHONHASHSEED=seed).stdout for seed in ("1", "2")}
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


def test_digits_are_images_in_the_unit_range_split_once():
    (images, labels), (more_images, more_labels) = (split.tensors for split in digits.load())
    assert images.shape == (1500, 1, 8, 8)
    assert images.dtype == torch.float32
    assert (images.min(), images.max()) == (0, 1)
    assert labels.dtype == torch.int64
    assert len(more_images) == len(more_labels) == 297
    assert set(labels.tolist()) == set(more_labels.tolist()) == set(range(10))
    assert torch.equal(images, digits.load()[0].tensors[0])


# Folders in the Hub's shape.

ROWS = [
    {
        "pairID": f"{i}",
        "premise": f"p {i}",
        "hypothesis": f"h {i}",
        "label": label,
        "genre": "fiction",
    }
    for i, label in enumerate([0, 1, 2, -1])
]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `datasets` prepares goes into the test's own folder."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def as_jsonl(folder: Path) -> None:
    for split in ("train", "validation_matched", "validation_mismatched"):
        rows = ROWS if split != "validation_mismatched" else ROWS[:1]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def as_parquet(folder: Path) -> None:
    (folder / "data").mkdir()
    for part, rows in enumerate((ROWS[:2], ROWS[2:])):
        datasets.Dataset.from_list(rows).to_parquet(
            folder / "data" / f"train-0000{part}-of-00002.parquet"
        )
    datasets.Dataset.from_list(ROWS).to_parquet(
        folder / "data" / "validation_matched-00000-of-00001.parquet"
    )
    datasets.Dataset.from_list(ROWS[:1]).to_parquet(
        folder / "data" / "validation_mismatched-00000-of-00001.parquet"
    )


def as_saved(folder: Path) -> None:
    table = datasets.Dataset.from_list(ROWS)
    datasets.DatasetDict(train=table, validation_matched=table).save_to_disk(folder)


@pytest.mark.parametrize("write", [as_jsonl, as_parquet, as_saved])
def test_a_folder_gives_the_columns_of_the_embedded_set(write, tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    write(folder)
    splits = nli.load(str(folder))
    assert splits["train"].features == splits["validation"].features == nli.load()["train"].features
    for table in splits.values():
        assert table.to_list() == [
            {name: row[name] for name in nli_by_name.COLUMNS} for row in ROWS[:3]
        ]


def test_a_saved_copy_of_the_embedded_set_trains_alike(tmp_path):
    nli.load().save_to_disk(tmp_path)
    copy, own = (nli.tokenized("validation", name=name)[:] for name in (str(tmp_path), None))
    assert all(torch.equal(copy[key], own[key]) for key in own)


def test_real_sentences_ask_for_a_real_tokenizer(tmp_path):
    as_jsonl(tmp_path)
    with pytest.raises(CourseError, match="need a real tokenizer") as caught:
        nli.tokenized(name=str(tmp_path))
    assert one_sentence(caught.value)
    nli.make_tokenizer().save_pretrained(tmp_path / "tokenizer")
    batch = nli.tokenized(
        name=str(tmp_path), tokenizer=nli.make_tokenizer(str(tmp_path / "tokenizer")), max_length=5
    )[:]
    assert batch["input_ids"].shape == (3, 5)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, "no train and validation files"),
        (
            {"train.jsonl": ROWS},
            "needs a split named validation_matched or validation, but it has only train",
        ),
        (
            {"train.jsonl": [{"label": 0}], "validation.jsonl": [{"label": 1}]},
            "no column premise, hypothesis",
        ),
        (
            {"train.jsonl": ROWS, "validation.jsonl": [{"text": "t"}]},
            "damaged or has other columns than the rest",
        ),
        (
            {"train.jsonl": [ROWS[0] | {"label": 7}], "validation.jsonl": ROWS},
            "must be 0 entailment",
        ),
        (
            {"train.jsonl": [ROWS[0] | {"label": "neutral"}], "validation.jsonl": ROWS},
            "must be 0 entailment",
        ),
        ({"train.parquet": ROWS}, "not a parquet file"),
    ],
)
def test_a_folder_that_is_no_such_set_gives_one_sentence(files, says, tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    for name, rows in files.items():
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(CourseError, match=re.escape(says)) as caught:
        nli.load(str(folder))
    assert one_sentence(caught.value)


def test_labels_in_another_order_are_refused(tmp_path):
    names = datasets.ClassLabel(names=["contradiction", "neutral", "entailment"])
    table = datasets.Dataset.from_list(ROWS[:3]).cast_column("label", names)
    datasets.DatasetDict(train=table, validation=table).save_to_disk(tmp_path)
    with pytest.raises(CourseError, match="must be 0 entailment"):
        nli.load(str(tmp_path))


def test_ranks_may_load_a_folder_at_once(tmp_path):
    as_jsonl(tmp_path)
    code = f"from course.data import nli; print(len(nli.load({str(tmp_path)!r})['train']))"
    env = os.environ | {"HF_HOME": str(tmp_path / "home")}
    ranks = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=env)
        for _ in range(2)
    ]
    assert [rank.communicate(timeout=60)[0] for rank in ranks] == [b"3\n", b"3\n"]


# A Hub that is not there.


@pytest.mark.parametrize("accepts", [False, True], ids=["refuses", "never answers"])
def test_without_the_hub_a_name_fails_fast_in_one_sentence(accepts, monkeypatch):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        if accepts:
            server.listen()
        monkeypatch.setattr(
            "huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}"
        )
        monkeypatch.setattr(hub, "PATIENCE_S", 0.5)
        start = time.perf_counter()
        for load in (nli.load, nli.make_tokenizer):
            with pytest.raises(
                CourseError,
                match=r"'nobody/nothing' \(the Hub cannot be reached from here\).*embedded",
            ) as error:
                load("nobody/nothing")
            assert one_sentence(error.value)
        assert time.perf_counter() - start < 8
    assert not datasets.config.HF_HUB_OFFLINE


def test_a_name_that_the_hub_does_not_know_gives_its_reason(monkeypatch):
    def unknown(name: str) -> None:
        raise datasets.exceptions.DatasetNotFoundError(
            f"Dataset '{name}' doesn't exist on the Hub.\nMore lines."
        )

    monkeypatch.setattr(hub, "_hub_answers", lambda: True)
    monkeypatch.setattr(datasets, "load_dataset", unknown)
    with pytest.raises(
        CourseError, match=r"\(Dataset 'a/b' doesn't exist on the Hub\): check the name.*embedded"
    ) as error:
        nli.load("a/b")
    assert one_sentence(error.value)


def test_scripts_need_no_jupyter_and_import_little():
    blocked = ("IPython", "jupyter_client", "ipywidgets", "anywidget", "matplotlib")
    heavy = ("transformers", "datasets", "sklearn", "pandas")
    code = f"""
import sys
sys.modules.update(dict.fromkeys({blocked}))
from course import models
from course.data import digits, hub, nli
print([name for name in {heavy} if name in sys.modules])
nli.tokenized("validation", size=10), digits.load(), models.bert(), models.image_model()
"""
    run = _python(code)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "[]\n"


def one_sentence(error: CourseError) -> bool:
    """Whether the message is one line that ends in a full stop."""
    return "\n" not in str(error) and str(error).endswith(".")


def _python(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run `code` in a new interpreter."""
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | env,
        check=False,
    )
