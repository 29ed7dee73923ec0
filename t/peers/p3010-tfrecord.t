#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# TFRecord shards against TensorFlow: what we write is read as OTBTF reads it, what TensorFlow
# writes as OTBTF writes it is read by us; the same samples both ways.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
. "$srcdir/t/peers/peers.sh"
need_python tensorflow

ok 'a set' unet-train data synth --out png --count 7 --size 32x48 --seed 3
ok 'our shards' unet-train data convert --data png --to tfrecord --shard 3 --out ours
mkdir -p classes/a classes/b
cp png/images/000[123].png classes/a && cp png/images/000[4567].png classes/b
ok 'our shards of classes' unet-train data convert --data classes --to tfrecord --out ours-classes

cat >peer.py <<'END'
import glob, json, os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

def read(path):
    """Every sample, parsed as OTBTF's TFRecords.parse_tfrecord does."""
    types = json.load(open(path + "/output_types.json"))
    shapes = json.load(open(path + "/output_shapes.json"))
    files = sorted(glob.glob(path + "/*.records"))
    for record in tf.data.TFRecordDataset(files):
        parsed = tf.io.parse_single_example(record, {k: tf.io.FixedLenFeature([], tf.string) for k in types})
        yield {k: tf.ensure_shape(tf.io.parse_tensor(parsed[k], out_type=types[k]), shapes[k]).numpy() for k in types}

def write(path, samples, per_shard):
    """As OTBTF's ds2tfrecord does."""
    os.makedirs(path)
    json.dump({k: tf.as_dtype(v.dtype).name for k, v in samples[0].items()}, open(path + "/output_types.json", "w"))
    json.dump({k: list(v.shape) for k, v in samples[0].items()}, open(path + "/output_shapes.json", "w"))
    for i in range(0, len(samples), per_shard):
        with tf.io.TFRecordWriter("%s/%d.records" % (path, i // per_shard)) as writer:
            for sample in samples[i:i + per_shard]:
                feature = {k: tf.train.Feature(bytes_list=tf.train.BytesList(
                    value=[tf.io.serialize_tensor(tf.constant(v)).numpy()])) for k, v in sample.items()}
                example = tf.train.Example(features=tf.train.Features(feature=feature))
                writer.write(example.SerializeToString())

def png(path):
    return tf.io.decode_png(tf.io.read_file(path)).numpy()

ours = list(read("ours"))
assert len(ours) == 7, len(ours)
for i, sample in enumerate(ours):
    assert (sample["image"] == png("png/images/%04d.png" % (i + 1))).all(), i
    assert (sample["mask"] == png("png/masks/%04d.png" % (i + 1))).all(), i
labels = [int(s["label"]) for s in read("ours-classes")]
assert labels == [0, 0, 0, 1, 1, 1, 1], labels

write("theirs", ours, 4)
write("floats", [{"input_xs_patch": (s["image"] / 255).astype(np.float32),
                  "labels_patch": (s["mask"] // 255).astype(np.int32)} for s in ours], 4)
rng = np.random.default_rng(1)  # OTBTF's images have four bands
write("bands", [{"input": rng.integers(0, 65535, (16, 16, 4), dtype=np.uint16),
                 "labels": rng.integers(0, 2, (16, 16, 1), dtype=np.uint8)} for _ in range(8)], 4)
write("deep", [{"image": s["image"].astype(np.uint16) * 257, "mask": s["mask"][..., 0]} for s in ours], 4)
END
ok 'TensorFlow reads ours and writes its own' python3 peer.py
samples() { unet-train data check "$1" 2>/dev/null | cut -f 2- | sort; }
ok 'we read what it wrote' unet-train data convert --data theirs --to png --out back
is "$(samples back/images)" "$(samples png/images)" 'the same images'
is "$(samples back/masks)" "$(samples png/masks)" 'the same masks'
ok 'floats from 0 to 1, labels of int32, under other names' unet-train data split --data floats \
    --out floats.json
ok 'uint16, masks of two dimensions' unet-train data convert --data deep --to png --out deep-back
is "$(samples deep-back/images | cut -f 4 | sort -u)" 16 'stay 16 bits'
is "$(samples deep-back/masks)" "$(samples png/masks)" 'the same masks again'
train=(unet-train train --size 32x48 --set model.base=4 --set model.depth=2 --threads 1 --epochs 1 --batch-size 4)
ok 'training from shards of TensorFlow' "${train[@]}" --data theirs --out run
ok 'four bands of uint16' "${train[@]}" --size 16x16 --channels 4 --data bands --out bands-run
ok 'to shards of ours' unet-train data convert --data bands --to tfrecord --out bands-ours
cat >bands.py <<'END'
import glob, tensorflow as tf
def read(path):
    for raw in tf.data.TFRecordDataset(sorted(glob.glob(path + "/*.records"))):
        features = tf.train.Example.FromString(raw.numpy()).features.feature
        yield {k: tf.io.parse_tensor(v.bytes_list.value[0], tf.uint8 if "label" in k or "mask" in k else
                                     tf.uint16).numpy() for k, v in features.items()}
pairs = list(zip(read("bands"), read("bands-ours")))
assert len(pairs) == 8
for a, b in pairs:
    assert b["image"].shape == (16, 16, 4) and (a["input"] == b["image"]).all() and (a["labels"] == b["mask"]).all()
END
ok 'TensorFlow reads the same four bands' python3 bands.py
done_testing
