#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Trains a small language model, which is built here, on made-up text with Hugging Face's Trainer; it
writes trainer_state.json."""
import os
import sys
import time

import torch
from torch.utils.data import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments


class Text(Dataset):
    """Sequences in which each token follows from the two before it."""

    def __init__(self, sequences, seed):
        rng = torch.Generator().manual_seed(seed)
        self.tokens = torch.randint(0, 17, (sequences, 32), generator=rng)
        for i in range(2, 32):
            self.tokens[:, i] = (3 * self.tokens[:, i - 1] + self.tokens[:, i - 2]) % 17

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return {"input_ids": self.tokens[i], "labels": self.tokens[i]}


class Clock(TrainerCallback):
    """Adds the time to what the Trainer logs, which has only that of the whole training."""

    def on_log(self, args, state, control, **_):
        state.log_history[-1]["elapsed"] = time.time() - begin


steps, seed, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
ranks = int(os.environ.get("WORLD_SIZE", "1"))
torch.set_num_threads(1)
torch.manual_seed(seed)
model = LlamaForCausalLM(LlamaConfig(vocab_size=17, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                                     num_attention_heads=2, max_position_embeddings=32))
args = TrainingArguments(out, max_steps=steps, per_device_train_batch_size=24 // ranks, seed=seed, learning_rate=3e-3,
                         logging_steps=max(steps // 10, 1), save_strategy="no",
                         report_to=[], disable_tqdm=True, use_cpu=not torch.cuda.is_available())
trainer = Trainer(model, args, train_dataset=Text(2400, 1), eval_dataset=Text(48, 2), callbacks=[Clock()])
begin = time.time()
trainer.train()
trainer.evaluate()
trainer.save_state()
