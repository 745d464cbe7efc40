"""Fine-tune a tiny causal LM with the Trainer and a label-smoothed loss of our own."""

import tempfile

import torch
import torch.nn.functional as F
from torch.utils.data import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments, set_seed

VOCAB = 64


class Chains(Dataset):
    """Sequences in which each token is the last one plus a step, modulo the vocabulary."""

    def __init__(self, count, length=24, seed=0):
        g = torch.Generator().manual_seed(seed)
        start = torch.randint(0, VOCAB, (count, 1), generator=g)
        step = torch.randint(1, 5, (count, 1), generator=g)
        self.ids = (start + step * torch.arange(length)) % VOCAB

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.ids[i]}


class SmoothTrainer(Trainer):
    def __init__(self, *args, epsilon=0.1, **kwargs):
        super().__init__(*args, **kwargs)
        self.epsilon = epsilon

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        logits = outputs.logits[:, :-1]
        loss = F.cross_entropy(
            logits.reshape(-1, VOCAB),
            labels[:, 1:].reshape(-1),
            label_smoothing=self.epsilon,
        )
        return (loss, outputs) if return_outputs else loss


def main():
    set_seed(3)
    config = LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=64,
        pad_token_id=0,
    )
    model = LlamaForCausalLM(config)
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(
            output_dir=folder,
            max_steps=26,
            per_device_train_batch_size=4,
            gradient_accumulation_steps=4,
            learning_rate=1e-3,
            lr_scheduler_type="cosine",
            warmup_steps=4,
            logging_steps=5,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
        )
        trainer = SmoothTrainer(model=model, args=args, train_dataset=Chains(1024))
        trainer.train()


if __name__ == "__main__":
    main()
