"""Real premise/hypothesis pairs, by name on the Hub or from a local folder.

They get the columns of the embedded pairs. Several ranks may call this at once: `datasets` and
`huggingface_hub` lock their cache (HF_HOME, or ~/.cache/huggingface), so the first rank downloads
while the others wait and then read from the cache. On several nodes without a common cache, one
rank of each node downloads.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from course.core import CourseError
from course.data import hub

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

LABELS = ("entailment", "neutral", "contradiction")
COLUMNS = ("premise", "hypothesis", "label")
# Our names of the splits, and the names that data sets use, preferred one first: of MultiNLI's two
# validation splits, the labs take the matched one.
SPLITS = {"train": ("train",), "validation": ("validation_matched", "validation")}
BUILDERS = {".parquet": "parquet", ".jsonl": "json"}


def load(name: str) -> "DatasetDict":
    """Premise/hypothesis pairs with splits ``train`` and ``validation``, as `nli.load` has them.

    `name` is a set on the Hub (``"nyu-mll/multi_nli"``) or a folder: one that `save_to_disk` wrote,
    or one with parquet or jsonl files whose names begin with ``train`` and ``validation_matched``
    (or ``validation``), in the folder or one below, as in a copy of the Hub's repository. Pairs
    without an agreed label (−1) are left out. Raises `CourseError` if the set cannot be loaded, or
    has other splits, columns or labels.
    """
    from datasets import DatasetDict, load_dataset

    advice = (
        "check the name, give a local folder, "
        "or use nli.load() without a name for the embedded pairs"
    )
    with hub.source(name, "the data set", advice) as source:
        splits = _from_folder(source) if isinstance(source, Path) else load_dataset(source)
    return DatasetDict({ours: _tidy(_pick(splits, ours, name), name) for ours in SPLITS})


def _from_folder(folder: Path) -> "DatasetDict":
    """The splits in a local folder."""
    from datasets import load_dataset, load_from_disk
    from datasets.exceptions import DatasetGenerationError

    if (folder / "dataset_dict.json").exists():
        return load_from_disk(str(folder))
    for suffix, builder in BUILDERS.items():
        if files := _split_files(folder, suffix):
            try:
                return load_dataset(builder, data_files=files)
            except DatasetGenerationError as error:
                raise ValueError(
                    f"one of its {suffix} files is damaged or has other columns than the rest"
                ) from error
    raise ValueError(
        "it holds no train and validation files, .parquet or .jsonl, nor what save_to_disk writes"
    )


def _split_files(folder: Path, suffix: str) -> dict[str, list[str]]:
    """The files of each split: ``train-00000-of-00002.parquet`` is one part of ``train``."""
    files: dict[str, list[str]] = {}
    for file in sorted([*folder.glob(f"*{suffix}"), *folder.glob(f"*/*{suffix}")]):
        split = file.stem.split("-")[0]
        if any(split in theirs for theirs in SPLITS.values()):
            files.setdefault(split, []).append(str(file))
    return files


def _pick(splits: "DatasetDict", ours: str, name: str) -> "Dataset":
    """The split that we call `ours`."""
    for theirs in SPLITS[ours]:
        if theirs in splits:
            return splits[theirs]
    names = " or ".join(SPLITS[ours])
    raise CourseError(
        f"The data set {name!r} needs a split named {names}, but it has only {', '.join(splits)}."
    )


def _tidy(table: "Dataset", name: str) -> "Dataset":
    """Keep only the three columns and the labelled pairs, and name the three labels."""
    from datasets import ClassLabel

    missing = [column for column in COLUMNS if column not in table.column_names]
    if missing:
        raise CourseError(
            f"The data set {name!r} has no column {', '.join(missing)}: "
            f"it needs {', '.join(COLUMNS)}."
        )
    table = table.select_columns(list(COLUMNS))
    names = getattr(table.features["label"], "names", list(LABELS))
    values = set(table.unique("label"))
    if names != list(LABELS) or not values <= {-1, 0, 1, 2}:
        raise CourseError(
            f"The labels of the data set {name!r} must be "
            "0 entailment, 1 neutral and 2 contradiction."
        )
    if -1 in values:
        table = table.filter(_labelled, input_columns="label", batched=True)
    return table.cast_column("label", ClassLabel(names=list(LABELS)))


def _labelled(labels: list[int]) -> list[bool]:
    return [label >= 0 for label in labels]
