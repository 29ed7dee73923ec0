#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# TFRecord shards against TensorFlow: what it writes as OTBTF does has the same samples, and it reads
# what t/tfrecord.py writes for other tests.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
. "$srcdir/t/peers/peers.sh"
need_python tensorflow

ok 'a set' unet-train data synth --out png --count 7 --size 32x48 --seed 3
ok 'shards of t/tfrecord.py' python3 "$srcdir/t/tfrecord.py" png ours 3
mkdir -p classes/a classes/b
cp png/images/000[123].png classes/a && cp png/images/000[4567].png classes/b
ok 'the same of classes' python3 "$srcdir/t/tfrecord.py" classes ours-classes 100

cat >peer.py <<'END'
import glob, json, os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

def read(path, **kinds):
    """The features of every record."""
    for record in tf.data.TFRecordDataset(sorted(glob.glob(path + "/*.records"))):
        yield tf.io.parse_single_example(record, {k: tf.io.FixedLenFeature([], v) for k, v in kinds.items()})

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

ours = [{"image": png("png/images/%04d.png" % i), "mask": png("png/masks/%04d.png" % i)} for i in range(1, 8)]
records = list(read("ours", image=tf.string, mask=tf.string))
assert len(records) == 7, len(records)
for record, sample in zip(records, ours):
    for key in sample:
        assert (tf.io.decode_png(record[key]).numpy() == sample[key]).all(), key
labels = [int(r["label"]) for r in read("ours-classes", image=tf.string, label=tf.int64)]
assert labels == [0, 0, 0, 1, 1, 1, 1], labels

write("theirs", ours, 4)
write("floats", [{"input_xs_patch": (s["image"] / 255).astype(np.float32),
                  "labels_patch": (s["mask"] // 255).astype(np.int32)} for s in ours], 4)
rng = np.random.default_rng(1)  # OTBTF's images have four bands
write("bands", [{"input": rng.integers(0, 65535, (16, 16, 4), dtype=np.uint16),
                 "labels": rng.integers(0, 2, (16, 16, 1), dtype=np.uint8)} for _ in range(8)], 4)
write("labelled", [{"image": s["image"], "label": np.int64(i > 2)} for i, s in enumerate(ours)], 4)
write("deep", [{"image": s["image"].astype(np.uint16) * 257, "mask": s["mask"][..., 0]} for s in ours], 4)
END
ok 'TensorFlow reads them and writes its own' python3 peer.py
samples() { unet-train data check "$1" 2>/dev/null | cut -f 2- | sort; }
ok 'we read what it wrote' unet-train data convert --data theirs --to png --out back
is "$(samples back/images)" "$(samples png/images)" 'the same images'
is "$(samples back/masks)" "$(samples png/masks)" 'the same masks'
ok 'classes' unet-train data convert --data labelled --to png --out labelled-back
is "$(samples labelled-back/1)" "$(samples classes/b)" 'have their images'
ok 'floats from 0 to 1, labels of int32, under other names' unet-train data split --data floats \
    --out floats.json
ok 'uint16, masks of two dimensions' unet-train data convert --data deep --to png --out deep-back
is "$(samples deep-back/images | cut -f 4 | sort -u)" 16 'stay 16 bits'
is "$(samples deep-back/masks)" "$(samples png/masks)" 'the same masks again'
train=(unet-train train --size 32x48 --set model.base=4 --set model.depth=2 --threads 1 --epochs 1 --batch-size 4)
ok 'training from shards of TensorFlow' "${train[@]}" --data theirs --out run
ok 'four bands of uint16' "${train[@]}" --size 16x16 --channels 4 --data bands --out bands-run
done_testing
