"""The models of the labs: a small BERT classifier, and a small convnet."""

from typing import TYPE_CHECKING

from torch import nn

from course.core import CourseError
from course.data import hub

if TYPE_CHECKING:
    from transformers import BertForSequenceClassification

# (layers, width): three sizes of Turc et al. 2019, "Well-Read Students Learn Better", here with a
# small vocabulary; "wide" is our name.
SIZES = {"tiny": (2, 128), "mini": (4, 256), "wide": (4, 768)}
VOCABULARY = 64  # room for the embedded grammar's words
POSITIONS = 64  # tokens of the longest input
LABELS = 3


def bert(
    size: str = "tiny", *, checkpoint: str | None = None, dropout: float = 0.0
) -> "BertForSequenceClassification":
    """A BERT that classifies pairs of sentences into three labels.

    The weights are random, drawn from torch's generator (seed it first for equal weights):
    ``"tiny"`` has 0.4 million parameters, ``"mini"`` 3.3 million, ``"wide"`` 29 million: its
    gradients keep the links between GPUs busy. With a `checkpoint`, a name on the Hub
    (``"bert-base-cased"``) or a local folder as `save_pretrained` writes it, the encoder comes from
    there and only a missing classifier is random. There is no `dropout` unless you ask for it, so
    that runs can be compared exactly. Raises `CourseError` for an unknown size or a checkpoint that
    cannot be loaded.

    On the embedded pairs in batches of 32, ``"tiny"`` learns with AdamW at a constant rate of 3e-4,
    and faster at 1e-3 after 50 steps of warm-up. Without warm-up, 1e-3 starts badly (layer norms
    after the residual sums: Xiong et al. 2020).
    """
    from transformers import BertConfig, BertForSequenceClassification

    chances = {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    if checkpoint is not None:
        advice = "leave it out for a BERT with random weights"
        with hub.source(checkpoint, "the checkpoint", advice) as source:
            return BertForSequenceClassification.from_pretrained(
                source, num_labels=LABELS, **chances
            )
    if size not in SIZES:
        raise CourseError(
            f"There is no BERT of size {size!r}: use {' or '.join(map(repr, SIZES))}."
        )
    layers, width = SIZES[size]
    config = BertConfig(
        vocab_size=VOCABULARY,
        max_position_embeddings=POSITIONS,
        num_hidden_layers=layers,
        hidden_size=width,
        num_attention_heads=width // 32,
        intermediate_size=4 * width,
        num_labels=LABELS,
        # BERT's own 0.02 suits a width of 768; narrow layers learn faster with more.
        initializer_range=width**-0.5,
        **chances,
    )
    return BertForSequenceClassification(config)


def image_model(*, batch_norm: bool = True) -> nn.Sequential:
    """A convnet from images (N, 1, 8, 8) to logits (N, 10).

    Without `batch_norm` the samples of a batch do not interact.
    """

    def block(inputs: int, outputs: int) -> list[nn.Module]:
        norm = [nn.BatchNorm2d(outputs)] if batch_norm else []
        return [
            nn.Conv2d(inputs, outputs, kernel_size=3, padding=1),
            *norm,
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]

    return nn.Sequential(*block(1, 16), *block(16, 32), nn.Flatten(), nn.Linear(32 * 2 * 2, 10))
