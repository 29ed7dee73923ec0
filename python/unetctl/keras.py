# SPDX-License-Identifier: BSD-3-Clause
"""The reference U-Net in Keras, for the engines tensorflow and horovod: logits [N, H, W, 1]."""
import tensorflow as tf
from tensorflow.keras import layers


def block(x, filters, batch_norm):
    for _ in range(2):
        x = layers.Conv2D(filters, 3, padding="same")(x)
        x = layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x) if batch_norm else x
        x = layers.ReLU()(x)
    return x


def make_unet(height, width, channels, base, depth, batch_norm):
    inputs = x = tf.keras.Input((height, width, channels))
    skips = []
    for level in range(depth):
        x = block(x, base << level, batch_norm)
        skips.append(x)
        x = layers.MaxPooling2D(2)(x)
    x = block(x, base << depth, batch_norm)
    for level in reversed(range(depth)):
        x = layers.Conv2DTranspose(base << level, 2, strides=2)(x)
        x = block(layers.Concatenate()([x, skips.pop()]), base << level, batch_norm)
    return tf.keras.Model(inputs, layers.Conv2D(1, 1)(x))


def count_pixels(run, model):
    """Of intersection, prediction and truth, over this rank's validation images."""
    sums = tf.zeros(3, tf.int64)
    predict = tf.function(lambda x: model(x, training=False))
    for item in run.val[run.rank :: run.world_size]:
        image, mask = run.batch([item])
        pred, truth = predict(image) > 0, tf.constant(mask) > 0.5
        sums += tf.stack([tf.math.count_nonzero(p) for p in (pred & truth, pred, truth)])
    return sums
