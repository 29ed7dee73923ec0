#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The reference U-Net in TensorFlow, gradients summed by Horovod: what `engine: horovod` runs where
study.yaml names no script of its own. A process for each GPU, or for each part of a CPU."""
import time

import unetctl
import tensorflow as tf
import horovod.tensorflow as hvd

from unetctl.keras import count_pixels, make_unet


def choose_device(run):
    """The GPU of this rank: Slurm may show it its own only, or all of the node."""
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        tf.config.set_visible_devices(gpus[run.local_rank % len(gpus)], "GPU")


class Trainer:
    def __init__(self, run):
        self.run = run
        self.model = make_unet(run.data["height"], run.data["width"], run.data["channels"], run.model["base"],
                               run.model["depth"], run.model["batch_norm"] != "none")
        self.optimizer = tf.keras.optimizers.Adam()
        hvd.broadcast_variables(self.model.variables, root_rank=0)

    @tf.function(reduce_retracing=True)
    def step(self, images, masks, weight, count):
        """Loss summed over this rank's images; the gradients of the mean over all ranks' images."""
        with tf.GradientTape() as tape:
            each = tf.nn.sigmoid_cross_entropy_with_logits(masks, self.model(images, training=True))
            loss = tf.reduce_sum(tf.reduce_mean(each, (1, 2, 3))) * weight
            share = loss / count
        gradients = tape.gradient(share, self.model.trainable_variables)
        return loss, [hvd.allreduce(g, op=hvd.Sum) for g in gradients]

    def train_epoch(self, epoch):
        loss = images = steps = 0
        self.optimizer.learning_rate.assign(self.run.lr(epoch))
        for ((items, weight),), count in self.run.steps(epoch):
            batch = [tf.constant(b) for b in self.run.batch(items)]
            mine, gradients = self.step(*batch, tf.constant(weight), tf.constant(count, tf.float32))
            self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
            loss += float(hvd.allreduce(mine, op=hvd.Sum))
            self.run.note_first_step()
            images += count
            steps += 1
        return loss / images, images, steps

    def evaluate(self):
        """Pixels of intersection, prediction and truth over the validation images of all ranks."""
        sums = count_pixels(self.run, self.model)
        return hvd.allreduce(sums, op=hvd.Sum).numpy().tolist()


def main():
    hvd.init()
    run = unetctl.Run()
    run.need("unet", mask=True)
    if (hvd.rank(), hvd.size()) != (run.rank, run.world_size):
        raise SystemExit(f"Horovod has rank {hvd.rank()} of {hvd.size()}, the launcher {run.rank} of "
                         f"{run.world_size}: is Horovod built with the MPI of this launcher?")
    choose_device(run)
    tf.keras.utils.set_random_seed(run.seed)
    trainer = Trainer(run)
    for epoch in range(run.epochs):
        begin = time.monotonic()
        loss, images, steps = trainer.train_epoch(epoch)
        run.note_epoch(time.monotonic() - begin, loss, images, steps)
    begin = time.monotonic()
    intersection, pred, truth = trainer.evaluate()
    run.finish(intersection, pred, truth, time.monotonic() - begin)


if __name__ == "__main__":
    main()
