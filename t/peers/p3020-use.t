#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What a trained network is exported to, read by those it is for: onnxruntime and PyTorch (from
# safetensors) give our probabilities to 1e-5, of U-Nets and residual networks, TensorBoard reads
# the numbers over time.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
# shellcheck source=t/peers/peers.sh
. "$srcdir/t/peers/peers.sh"
need_python torch onnxruntime onnx safetensors PIL

cat >compare.py <<'EOP'
# compare.py onnx|safetensors FILE NETWORK BASE CHANNELS CLASSES PROBABILITIES IMAGE...: our
# probabilities (a TIFF of one image, or classes.csv) against theirs. NETWORK: U-Net's depth or
# resnetN.
import csv, struct, sys, zlib
import numpy as np
from PIL import Image
kind, path, network, base, channels, classes, prob, *images = sys.argv[1:]
base, channels, classes = int(base), int(channels), int(classes)

def read_tiff(name):
    """32-bit floats in deflated strips, as unet-train predict writes them."""
    data = open(name, "rb").read()
    at, = struct.unpack_from("<I", data, 4)
    count, = struct.unpack_from("<H", data, at)
    tags = {}
    for i in range(count):
        tag, form, n, value = struct.unpack_from("<HHII", data, at + 2 + 12 * i)
        size = {3: 2, 4: 4}.get(form)
        if size:
            where = at + 2 + 12 * i + 8 if n * size <= 4 else value
            tags[tag] = struct.unpack_from("<%d%s" % (n, {2: "H", 4: "I"}[size]), data, where)
    raw = b"".join(zlib.decompress(data[o:o + n]) for o, n in zip(tags[273], tags[279]))
    return np.frombuffer(raw, "<f4").reshape(tags[257][0], tags[256][0], classes).transpose(2, 0, 1)[None]

def read_csv(name):
    rows = [r for r in csv.DictReader(open(name))]
    assert [r["image"] for r in rows] == images, (rows[0], images[0])
    return np.array([[float(v) for k, v in r.items() if k[:2] == "p_"] for r in rows], np.float32)[:, :, None, None]

pixels = np.stack([np.asarray(Image.open(i)).reshape(Image.open(i).height, -1, channels) for i in images])
x = np.ascontiguousarray(pixels.transpose(0, 3, 1, 2).astype(np.float32) / np.float32(255))
if kind == "onnx":
    import onnx, onnxruntime
    onnx.checker.check_model(onnx.load(path), full_check=True)
    got = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(["probabilities"], {"image": x})[0]
else:
    import torch
    from safetensors.torch import load_file
    from torch_resnet import ResNet
    from torch_unet import UNet
    model = (ResNet(network, base, channels, True, classes) if network.startswith("resnet") else
             UNet(base, int(network), channels, True, classes))
    missing = model.load_state_dict(load_file(path), strict=False)
    assert not missing.unexpected_keys and all("num_batches" in k for k in missing.missing_keys), missing
    with torch.no_grad():
        logits = model.eval()(torch.from_numpy(x))
    got = (torch.sigmoid(logits) if classes == 1 else torch.softmax(logits, 1)).numpy()
want = read_csv(prob) if prob.endswith(".csv") else read_tiff(prob)
worst = float(np.abs(got - want).max())
print(f"{worst:.1e} over {want.size} numbers from {want.min():.3f} to {want.max():.3f}")
sys.exit(0 if got.shape == want.shape and worst <= 1e-5 and want.max() > want.min() else 1)
EOP
export PYTHONPATH=$srcdir/t
printf '0 ground\n255 mark\n' >two.txt
ok "synthetic data" unet-train data synth --out data --count 20 --size 64x80 --seed 1
ok "larger images" unet-train data synth --out large --count 1 --size 96x112 --seed 3
compare() { # RUN PROBABILITIES NETWORK BASE CHANNELS CLASSES IMAGE...
    local run=$1 prob=$2 kind
    ok "$run: export" unet-train export --checkpoint "$run" --onnx "$run.onnx" \
        --safetensors "$run.safetensors"
    for kind in onnx safetensors; do
        python3 compare.py $kind "$run.$kind" "${@:3:4}" "$prob" "${@:7}" >"$OUT" 2>"$ERR"
        report $? "$run: $kind gives our probabilities: $(cat "$OUT")" || diag <"$ERR"
    done
}
train=(unet-train train --data data --size 64x80 --threads 1 --epochs 5 --batch-size 4 --lr 0.01)
ok "one class" "${train[@]}" --set model.base=8 --set model.depth=4 --set train.tensorboard=true --set train.eval_epochs=2 --out one
ok "two classes" "${train[@]}" --set model.base=4 --set model.depth=3 --set data.classes=2 --set data.class_file=two.txt --out two
for net in "one 4 8 1" "two 3 4 2"; do
    read -r run depth base classes <<<"$net"
    ok "$run: probabilities" unet-train predict --checkpoint "$run" --size 96x112 --format tiff \
        -p --threads 1 \
        --out "$run-p" large/images/0001.png
    compare "$run" "$run-p/0001_prob.tif" "$depth" "$base" 1 "$classes" large/images/0001.png
done

# Images that have a class as a whole, in colour: bright at one side, the class says which.
python3 - <<'EOP'
import os
import numpy as np
from PIL import Image
rng = np.random.default_rng(7)
for i in range(40):
    picture = rng.integers(0, 80, (32, 32, 3))
    half = np.rot90(picture, i % 4)
    half[:16] += 100
    os.makedirs(f"sides/side{i % 4}", exist_ok=True)
    Image.fromarray(picture.astype(np.uint8)).save(f"sides/side{i % 4}/{i:02}.png")
EOP
for model in resnet44 resnet20-projection; do
    ok "$model" unet-train train --model $model --data sides --size 32x32 --channels 3 --threads 1 \
        --epochs 3 \
        --batch-size 8 --lr 0.003 --out $model
    ok "$model: probabilities" unet-train predict --checkpoint $model -p --threads 1 \
        --out $model-p sides/*/*.png
    compare $model $model-p/classes.csv $model 16 3 4 sides/*/*.png
done

# Layers that these do not have: dropout, odd and overlapping poolings, larger windows,
# dilation, instance norm, leaky ReLU, upsampling, flatten and dense layers, means, transposed 3x3.
cat >means.yaml <<'EOP'
model: means
of: classes
layers:
  - conv: {channels: 6, kernel: 7, stride: 2}
  - instance_norm
  - leaky_relu: 0.01
  - conv: {channels: 6, dilation: 2}
  - upsample_bilinear
  - upsample_nearest
  - avg_pool
  - max_pool: 3
  - avg_pool
  - flatten
  - dense: {channels: 8, bias: 0}
  - relu
  - dense: classes
EOP
for model in chips means.yaml; do
    ok "$model" unet-train train --model $model --data sides --size 32x32 --channels 3 --threads 1 \
        --epochs 3 \
        --batch-size 8 --lr 0.003 --out "at-$model"
    ok "$model: probabilities" unet-train predict --checkpoint "at-$model" -p --threads 1 \
        --out "at-$model-p" sides/*/*.png
    ok "$model: export" unet-train export --checkpoint "at-$model" --onnx "$model.onnx"
    ok "$model: onnxruntime computes the same" python3 compare.py onnx "$model.onnx" $model 16 3 4 \
        "at-$model-p/classes.csv" sides/*/*.png
done
ok "fcnn" unet-train train --model fcnn --data data --size 64x80 --threads 1 --epochs 3 \
    --batch-size 4 --lr 0.003 --out fcnn
ok "fcnn: probabilities" unet-train predict --checkpoint fcnn -p --format tiff --threads 1 \
    --out fcnn-p data/images/0001.png
ok "fcnn: export" unet-train export --checkpoint fcnn --onnx fcnn.onnx
ok "fcnn: onnxruntime computes the same" python3 compare.py onnx fcnn.onnx fcnn 16 1 1 \
    fcnn-p/0001_prob.tif data/images/0001.png

# --- what an ONNX file says of itself ---
cat >about.py <<'EOP'
# about.py FILE SIZES KEY=VALUE...: declared sizes; other sizes run where they are declared, and
# only there
import sys
import numpy as np
import onnx, onnxruntime
path, sizes, *want = sys.argv[1:]
model = onnx.load(path)
shape = [d.dim_param or d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
assert "/".join(map(str, shape[2:])) == sizes, shape
assert model.doc_string and "0 to 1" in model.graph.input[0].doc_string and model.graph.output[1].doc_string
metadata = {p.key: p.value for p in model.metadata_props}
for pair in want:
    key, value = pair.split("=", 1)
    assert metadata[key] == value, (key, metadata)
session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
height, width = map(int, metadata["trained_size"].split("x"))
def runs(more):
    image = np.zeros((2, shape[1], height + more, width + more), np.float32)
    return session.run(["probabilities"], {"image": image})[0].shape
assert runs(0)[0] == 2
if isinstance(shape[2], str):
    assert runs(16)
else:
    try:
        runs(16)
    except Exception as e:
        assert "nvalid dimensions" in str(e), e
    else:
        sys.exit("another size is accepted")
EOP
ok "a U-Net" python3 about.py one.onnx height_multiple_of_16/width_multiple_of_16 \
    trained_size=64x80 scale=fit \
    image_channels=grey image_range=0..1 image_layout=NCHW 'image_sizes=multiples of 16' \
    'class_names=["foreground"]'
ok "of two classes" python3 about.py two.onnx height_multiple_of_8/width_multiple_of_8 \
    'class_names=["ground","mark"]'
ok "a residual network takes any size" python3 about.py resnet44.onnx height/width \
    'image_channels=R, G, B' \
    image_sizes=any 'class_names=["side0","side1","side2","side3"]'
for model in chips means.yaml; do
    ok "$model takes that of training only" python3 about.py $model.onnx 32/32 \
        'image_sizes=exactly 32x32'
done

need_python tensorboard
cat >events.py <<'EOP'
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1])
events.Reload()
for tag in sorted(events.Tags()["scalars"]):
    print(tag, *[f"{s.step}:{s.value:.6f}" for s in events.Scalars(tag)])
EOP
ok "TensorBoard reads the events" eval 'python3 events.py one/tensorboard >read.txt'
is "$(sed -n 's/^train.loss //p' read.txt)" \
    "$(awk -F, 'NR > 1 { printf "%s%d:%s", (NR > 2 ? " " : ""), NR - 1, $3 }' one/log.csv)" \
    "the loss is log.csv's"
is "$(sed -n 's/^val.iou //p' read.txt | tr ' ' '\n' | cut -d: -f1 | tr '\n' ' ')" "2 4 5 " \
    "IoU where it was validated"
done_testing
