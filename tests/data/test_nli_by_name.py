"""Real pairs are loaded from folders with the layout of a Hub repository."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import datasets
import pytest
import torch
from support.errors import one_sentence

from course.core.errors import CourseError
from course.data import nli, nli_by_name

pytestmark = pytest.mark.usefixtures("one_thread")

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
    assert [rank.communicate()[0] for rank in ranks] == [b"3\n", b"3\n"]
