"""What the course says about transformers and accelerate."""

import inspect

import pytest
import torch
import transformers
from support.says import says

from course.diagnostics.why.detectors.unused_parameters import OF_TRAINER
from course.models import bert


def test_a_model_with_labels_returns_the_loss():
    says("03b_overlap", "`labels`")
    model = bert()
    ids = torch.ones(2, 5, dtype=torch.long)
    assert model(input_ids=ids).loss is None
    assert model(input_ids=ids, labels=torch.tensor([0, 1])).loss.dim() == 0


def test_the_trainer_takes_dataparallel_without_a_launcher():
    says("07b_six_ways", "`nn.DataParallel`", "`Trainer`")
    source = inspect.getsource(transformers.Trainer._wrap_model)
    assert "self.args.n_gpu > 1" in source and "model = nn.DataParallel(model)" in source


def test_bert_adds_the_input_of_a_layer_to_its_output():
    says("05_mixed_precision", "first token")
    layer = transformers.models.bert.modeling_bert
    assert "self.LayerNorm(hidden_states + input_tensor)" in inspect.getsource(layer.BertOutput)
    assert "hidden_states[:, 0]" in inspect.getsource(layer.BertPooler)


def test_gather_for_metrics_drops_what_was_added():
    says("07b_six_ways", "gather_for_metrics")
    accelerate = pytest.importorskip("accelerate")
    text = " ".join(accelerate.Accelerator.gather_for_metrics.__doc__.split())
    assert "potentially drops duplicates in the last batch" in text


def test_accelerate_does_nothing_until_the_last_batch_of_a_step():
    says("07b_six_ways", "fourth batch")
    from accelerate.optimizer import AcceleratedOptimizer

    for method in (AcceleratedOptimizer.step, AcceleratedOptimizer.zero_grad):
        assert "gradient_state.sync_gradients" in inspect.getsource(method)


def test_the_trainer_searches_for_unused_parameters_by_itself(tmp_path):
    assert "`ddp_find_unused_parameters=False`" in OF_TRAINER
    searches = []
    for options in ({}, {"ddp_find_unused_parameters": False}):
        arguments = transformers.TrainingArguments(tmp_path, use_cpu=True, report_to=[], **options)
        trainer = transformers.Trainer(torch.nn.Linear(1, 1), arguments)
        handler = trainer.accelerator.ddp_handler
        if handler is None:
            pytest.skip(f"transformers {transformers.__version__} sets it among several ranks only")
        searches.append(handler.find_unused_parameters)
    assert searches == [True, False]
