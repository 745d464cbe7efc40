"""The models have the shapes and sizes that they promise, repeat exactly, and learn."""

import pytest
import torch

from course import models
from course.core.errors import CourseError
from course.data import digits, hub, nli

pytestmark = pytest.mark.usefixtures("one_thread")


def parameters(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def accuracy(logits: torch.Tensor, labels: torch.Tensor) -> float:
    return (logits.argmax(1) == labels).float().mean().item()


def seeded(*args, **kwargs) -> torch.nn.Module:
    torch.manual_seed(0)
    return models.bert(*args, **kwargs)


def test_sizes_are_what_the_docstring_says():
    assert parameters(models.bert()) == pytest.approx(0.43e6, rel=0.05)
    assert parameters(models.bert("mini")) == pytest.approx(3.3e6, rel=0.05)
    assert parameters(models.bert("wide")) == pytest.approx(29e6, rel=0.05)
    with pytest.raises(CourseError, match="no BERT of size 'huge': use 'tiny' or 'mini' or 'wide'"):
        models.bert("huge")


def test_vocabulary_and_positions_hold_the_embedded_pairs():
    config = models.bert().config
    batch = nli.tokenized("train")[:]
    assert len(nli.make_tokenizer()) <= config.vocab_size
    assert batch["input_ids"].shape[1] <= config.max_position_embeddings


def test_the_seed_alone_decides_weights_and_a_step():
    """No dropout by default: two runs agree bit by bit; with dropout two forward passes differ."""
    batch = nli.tokenized("validation", size=8)[:]
    losses = [seeded()(**batch).loss for _ in range(2)]
    assert torch.equal(*losses)
    noisy = seeded(dropout=0.5)
    assert not torch.equal(noisy(**batch).loss, noisy(**batch).loss)


def test_every_parameter_gets_a_gradient():
    model = seeded()
    model(**nli.tokenized("train", size=8)[:]).loss.backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []


def test_a_checkpoint_comes_back_from_its_folder(tmp_path):
    saved = seeded("tiny")
    saved.save_pretrained(tmp_path)
    batch = nli.tokenized("validation", size=8)[:]
    assert torch.equal(models.bert(checkpoint=str(tmp_path))(**batch).logits, saved(**batch).logits)
    assert models.bert(checkpoint=str(tmp_path), dropout=0.3).config.hidden_dropout_prob == 0.3


def test_an_encoder_without_classifier_gets_one_for_three_labels(tmp_path):
    encoder = seeded().bert
    encoder.save_pretrained(tmp_path)
    torch.manual_seed(1)
    model = models.bert(checkpoint=str(tmp_path))
    assert model.classifier.out_features == 3
    assert torch.equal(
        model.bert.embeddings.word_embeddings.weight, encoder.embeddings.word_embeddings.weight
    )


def test_a_checkpoint_that_cannot_be_loaded_gives_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "_hub_answers", lambda: False)
    for checkpoint in ("nobody/nothing", str(tmp_path), "/no/such/folder"):
        with pytest.raises(CourseError) as caught:
            models.bert(checkpoint=checkpoint)
        assert "\n" not in str(caught.value)
        assert checkpoint in str(caught.value)


@pytest.mark.slow
@pytest.mark.rest
def test_bert_learns_to_infer():
    """In 280 steps of 32 pairs, far above the one in three of chance, on pairs it has not seen."""
    train, validation = nli.tokenized("train"), nli.tokenized("validation")[:]
    model = seeded()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for step in range(280):
        optimizer.zero_grad()
        model(**train[step * 32 : (step + 1) * 32]).loss.backward()
        optimizer.step()
    with torch.no_grad():
        assert accuracy(model(**validation).logits, validation["labels"]) > 0.75


@pytest.mark.parametrize("batch_norm", [True, False])
def test_the_convnet_learns_digits(batch_norm):
    (train_images, train_labels), (images, labels) = (split.tensors for split in digits.load())
    torch.manual_seed(0)
    model = models.image_model(batch_norm=batch_norm)
    assert any(isinstance(layer, torch.nn.BatchNorm2d) for layer in model) is batch_norm
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(6):
        for batch in torch.randperm(len(train_images)).split(50):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(
                model(train_images[batch]), train_labels[batch]
            ).backward()
            optimizer.step()
    with torch.no_grad():
        assert accuracy(model.eval()(images), labels) > 0.9


def test_without_batch_norm_a_sample_is_alone():
    """Logits of one image do not depend on the rest of the batch.

    With batch norm, in training, they do.
    """
    images = digits.load()[0].tensors[0][:8]
    alone, mixed = models.image_model(batch_norm=False), models.image_model()
    assert torch.allclose(alone(images)[:2], alone(images[:2]), atol=1e-6)
    assert not torch.allclose(mixed(images)[:2], mixed(images[:2]), atol=1e-3)
