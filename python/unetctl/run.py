# SPDX-License-Identifier: BSD-3-Clause
"""One run of a study of images, for scripts that `unetctl` starts (doc/FORMATS.md, "Engines").

    run = unetctl.Run()               what run.json and the environment say
    run.train, run.val                the items of the split
    run.load(item)                    image [H, W, C] and mask [H, W, 1], float32 in 0..1
    run.steps(epoch)                  this rank's items, step by step, and how many all ranks have
    run.lr(epoch)                     the learning rate
    run.note_epoch(...), run.finish(...)    rank 0: record.jsonl, log.csv

PYTHONPATH leads here; pip installs it where that folder is not visible. Images need NumPy and
Pillow.
"""
import json
import math
import os
import time
from datetime import datetime, timezone

from .job import Job, read_variable
from .schema import find_misfit

SCHEMA = 1  # of run.json and split.json


def _read_document(variable, name):
    path = read_variable(variable)
    with open(path, encoding="utf-8") as f:
        document = json.load(f)
    if document.get("schema") != SCHEMA:
        raise SystemExit(f"{path}: schema {document.get('schema')}: this unetctl reads schema "
                         f"{SCHEMA}; install the one that comes with this unetctl (python/)")
    wrong = find_misfit(name, document)
    if wrong:
        raise SystemExit(f"{path}: {wrong}: unetctl writes this file, and it was changed since")
    return document


class Run(Job):
    def __init__(self):
        self.started = time.monotonic()
        self.plan = _read_document("UNETCTL_RUN_JSON", "run")
        self.split = _read_document("UNETCTL_SPLIT", "split")
        super().__init__()
        self.seed = self.plan["seed"]
        self.gpus = self.plan["layout"]["gpus"]
        self.data, self.model, self.options = (self.plan[k] for k in ("data", "model", "train"))
        self.epochs = self.options["epochs"]
        self.train, self.val = self.split["train"], self.split["val"]
        self.rows, self.began = [], datetime.now(timezone.utc)
        self._first_step = None
        self._loaded = {}
        if self.model["batch_norm"] == "sync":
            raise SystemExit("model.batch_norm: sync: this script has local or none")
        if self.rank == 0:
            self._write_header()

    def need(self, model, mask):
        """End where the study asks for another network, or other data, than the script has."""
        if self.model["name"] != model:
            raise SystemExit(f"model.name: {self.model['name']}: this script has {model} only; "
                             "name one of yours, or use engine: embedded")
        if mask and self.split["mask_max"] == 0:
            raise SystemExit("the values of these masks stand for classes (data.classes, "
                             "data.class_file), and this script reads masks of 0 and 255, "
                             "or 0 and 1")
        if mask and not all("mask" in item for item in self.train):
            raise SystemExit("the images of this data set have classes, and this script needs "
                             "masks")

    # ---- data

    def load(self, item):
        """Decoded once."""
        if item["stem"] not in self._loaded:
            self._loaded[item["stem"]] = self._decode(item)
        return self._loaded[item["stem"]]

    def _decode(self, item):
        from .images import read_picture, resize_with_pad, scale_image
        folder = os.environ.get("UNETCTL_DATA_DIR", self.data["dir"])
        shape = self.data["height"], self.data["width"]
        mode = "L" if self.data["channels"] == 1 else "RGB"
        samples, largest = read_picture(os.path.join(folder, item["image"]), mode,
                                        item.get("orientation"))
        values, full = read_picture(os.path.join(folder, item["mask"]), "L",
                                    item.get("mask_orientation"))
        mask = values.astype("float32") / (full if self.split["mask_max"] == 255 else 1)
        image = scale_image(samples.reshape(*samples.shape[:2], -1), largest,
                            self.data.get("scale", "full"), self.split.get("image_levels"))
        image = resize_with_pad(image, *shape)
        mask = resize_with_pad(mask.reshape(*mask.shape[:2], 1), *shape)
        return image, mask if self.data["soft_masks"] else (mask > 0.5).astype("float32")

    def batch(self, items):
        import numpy as np
        pictures = [self.load(item) for item in items]
        return np.stack([p[0] for p in pictures]), np.stack([p[1] for p in pictures])

    def steps(self, epoch, parts=None, first=None):
        """For each step what `parts` replicas from `first` on do (by default this rank alone), each
        (items, weight), and the number of images that all replicas have in the step. Every image is
        used once. A replica for which the last step has none gets one of weight 0: all take part in
        summing up gradients. remainder: drop leaves that step out."""
        import numpy as np
        parts = 1 if parts is None else parts
        first = self.rank * parts if first is None else first
        items = self.train * self.data["repeat"]
        order = np.random.default_rng([self.seed, epoch]).permutation(len(items))
        size = self.options["batch_per_gpu"] * self.gpus
        for begin in range(0, len(order), size):
            chosen = order[begin : begin + size]
            if len(chosen) < size and self.data["remainder"] == "drop":
                break
            shares = [[items[i] for i in chosen[first + p :: self.gpus]] for p in range(parts)]
            yield [(s, 1.0) if s else ([items[chosen[0]]], 0.0) for s in shares], len(chosen)

    def lr(self, epoch):
        gpus = (self.options.get("rate_gpus") or
                (1 if self.options.get("global_batch") else self.gpus))
        scale = {"none": 1, "linear": gpus, "sqrt": math.sqrt(gpus),
                 "two-thirds": gpus ** (2 / 3)}[self.options["lr_scaling"]]
        percent = 100 * epoch
        factor = 1.0
        if self.options["lr_schedule"] == "step":
            for bound in (40, 60, 75):
                factor /= 2 if percent >= bound * self.epochs else 1
        elif self.options["lr_schedule"] == "cosine":
            factor = (1 + math.cos(math.pi * epoch / self.epochs)) / 2
        elif self.options["lr_schedule"] == "poly":
            factor = (1 - epoch / self.epochs) ** 0.9
        return self.options["lr"] * scale * factor

    # ---- results, written by rank 0

    def _append(self, **line):
        self.check_start()
        with open(os.path.join(self.dir, "record.jsonl"), "a", encoding="utf-8") as f:
            f.write(json.dumps(line) + "\n")

    def _write_header(self):
        layout = self.plan["layout"]
        open(os.path.join(self.dir, "record.jsonl"), "w", encoding="utf-8").close()
        self._append(
            kind="run", schema=1, study=self.plan["study"], run=self.plan["run"], seed=self.seed,
            engine=self.plan["engine"], attempt_dir=os.path.basename(self.dir),
            started=self.began.strftime("%Y-%m-%dT%H:%M:%SZ"),
            host=os.environ.get("SLURMD_NODENAME") or os.uname().nodename, gpus=self.gpus,
            nodes=layout["nodes"], world_size=self.world_size, devices=self.gpus,
            strategy=layout["strategy"], height=self.data["height"], width=self.data["width"],
            channels=self.data["channels"], batch_per_gpu=self.options["batch_per_gpu"],
            global_batch=self.options["batch_per_gpu"] * self.gpus, epochs=self.epochs,
            train_images=len(self.train), val_images=len(self.val), repeat=self.data["repeat"],
            lr=self.options["lr"], slurm_job=os.environ.get("SLURM_JOB_ID"),
        )

    def note_first_step(self):
        if self._first_step is None:
            self._first_step = time.monotonic() - self.started

    def note_epoch(self, seconds, loss, images, steps):
        """Behind each epoch; loss is the mean over the images of all ranks."""
        epoch, lr = len(self.rows), self.lr(len(self.rows))
        if not math.isfinite(loss):
            raise SystemExit(f"epoch {epoch}: the loss is {loss}")
        self.rows.append((seconds, loss, lr))
        if self.rank == 0:
            self._append(kind="epoch", epoch=epoch, seconds=seconds, loss=loss, lr=lr,
                         images=images, steps=steps)

    def finish(self, intersection, pred, truth, test_time):
        """Once, with whole numbers of pixels summed over all validation images and ranks."""
        if self.rank != 0:
            return
        union = pred + truth - intersection
        iou = (intersection + 1) / (union + 1)
        total = sum(seconds for seconds, _, _ in self.rows)
        text = ",time_per_epoch,loss,lr,training_time,test_time,iou\n"
        for epoch, (seconds, loss, lr) in enumerate(self.rows):
            text += (f"{epoch},{seconds:.6f},{loss:.6f},{lr:.6f},"
                     f"{total:.6f},{test_time:.6f},{iou:.6f}\n")
        self.check_start()
        path = os.path.join(self.dir, "log.csv")
        with open(path + ".tmp", "w", encoding="utf-8") as f:
            f.write(text)
            f.flush()
            os.fsync(f.fileno())
        os.replace(path + ".tmp", path)
        self._append(kind="end", status="done", training_time=total, test_time=test_time,
                     startup_s=self._first_step or 0.0, iou=iou,
                     dice=(2 * intersection + 1) / (pred + truth + 1),
                     intersection=int(intersection), union=int(union), pred=int(pred),
                     truth=int(truth), val_images=len(self.val))


