#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The reference U-Net in TensorFlow: what `engine: tensorflow` runs where study.yaml names no script
of its own. Several ranks: MultiWorkerMirroredStrategy, from TF_CONFIG; one rank with several GPUs (or
as many devices made of the CPU): MirroredStrategy."""
import os
import time

import unetctl
import tensorflow as tf

from unetctl.keras import count_pixels, make_unet


def choose_devices(run):
    """The devices of this rank: GPUs, or the CPU once for each GPU that the run is about."""
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        # Slurm may show this rank its own GPUs only, or all of the node.
        first = run.local_rank * run.task_gpus % len(gpus)
        tf.config.set_visible_devices(gpus[first : first + run.task_gpus], "GPU")
        return [f"GPU:{i}" for i in range(run.task_gpus)]
    cpu = tf.config.list_physical_devices("CPU")[0]
    parts = [tf.config.LogicalDeviceConfiguration() for _ in range(run.task_gpus)]
    tf.config.set_logical_device_configuration(cpu, parts)
    return [f"CPU:{i}" for i in range(run.task_gpus)]


def choose_strategy(run, devices):
    if run.world_size > 1:
        return tf.distribute.MultiWorkerMirroredStrategy()
    os.environ.pop("TF_CONFIG", None)
    return tf.distribute.MirroredStrategy(devices)


class Trainer:
    def __init__(self, run, strategy):
        self.run, self.strategy = run, strategy
        shape = (run.data["height"], run.data["width"])
        with strategy.scope():
            self.model = make_unet(*shape, run.data["channels"], run.model["base"], run.model["depth"],
                                   run.model["batch_norm"] != "none")
            self.optimizer = tf.keras.optimizers.Adam()

    def replica_step(self, images, masks, weight, count):
        with tf.GradientTape() as tape:
            each = tf.nn.sigmoid_cross_entropy_with_logits(masks, self.model(images, training=True))
            loss = tf.reduce_sum(tf.reduce_mean(each, (1, 2, 3))) * weight
            share = loss / count  # the optimizer sums over replicas: the mean of the step's images
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(share, variables), variables))
        return loss

    @tf.function(reduce_retracing=True)
    def step(self, images, masks, weight, count):
        losses = self.strategy.run(self.replica_step, args=(images, masks, weight, count))
        return self.strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

    def spread(self, values):
        """One value for each replica of this rank."""
        replicas = self.strategy.num_replicas_in_sync // self.run.world_size
        return self.strategy.experimental_distribute_values_from_function(
            lambda context: values[context.replica_id_in_sync_group % replicas])

    def train_epoch(self, epoch):
        loss = images = steps = 0
        self.optimizer.learning_rate.assign(self.run.lr(epoch))
        for parts, count in self.run.steps(epoch, parts=self.run.task_gpus):
            batches = [self.run.batch(items) for items, _ in parts]
            total = self.step(self.spread([tf.constant(b[0]) for b in batches]),
                              self.spread([tf.constant(b[1]) for b in batches]),
                              self.spread([tf.constant(weight) for _, weight in parts]),
                              tf.constant(count, tf.float32))
            loss += float(total)
            self.run.note_first_step()
            images += count
            steps += 1
        return loss / images, images, steps

    def evaluate(self):
        """Pixels of intersection, prediction and truth over the validation images of all ranks."""
        sums = count_pixels(self.run, self.model)
        others = [tf.zeros(3, tf.int64)] * (self.run.task_gpus - 1)
        return self.all_sum(self.spread([sums, *others])).numpy().tolist()

    @tf.function
    def all_sum(self, values):
        return self.strategy.reduce(tf.distribute.ReduceOp.SUM, values, axis=None)


def main():
    run = unetctl.Run()
    run.need("unet", mask=True)
    devices = choose_devices(run)
    tf.keras.utils.set_random_seed(run.seed)
    trainer = Trainer(run, choose_strategy(run, devices))
    for epoch in range(run.epochs):
        begin = time.monotonic()
        loss, images, steps = trainer.train_epoch(epoch)
        run.note_epoch(time.monotonic() - begin, loss, images, steps)
    begin = time.monotonic()
    intersection, pred, truth = trainer.evaluate()
    run.finish(intersection, pred, truth, time.monotonic() - begin)


if __name__ == "__main__":
    main()
