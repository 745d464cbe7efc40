"""A small BERT by transformers' Trainer, with accumulation and a DataCollator."""

import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

config = BertConfig(
    vocab_size=500, hidden_size=64, num_hidden_layers=2, num_attention_heads=2,
    intermediate_size=128, max_position_embeddings=64,
)  # fmt: skip
tokens = torch.arange(64 * 32).view(64, 32) % 500
data = [{"input_ids": row, "labels": index % 2} for index, row in enumerate(tokens)]
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder,
        per_device_train_batch_size=8,
        gradient_accumulation_steps=2,
        max_steps=5,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        logging_steps=1,
    )
    Trainer(BertForSequenceClassification(config), arguments, train_dataset=data).train()
