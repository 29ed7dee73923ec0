#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What a trained network is exported to, read by those it is for: onnxruntime and PyTorch (from
# safetensors) give our probabilities to 1e-5, TensorBoard reads the numbers over time.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
# shellcheck source=t/peers/peers.sh
. "$srcdir/t/peers/peers.sh"
need_python torch
need_python onnxruntime

cat >compare.py <<'EOP'
# compare.py onnx|safetensors FILE IMAGE.png-as-npy PROB.tif BASE DEPTH CLASSES: largest difference
import struct, sys, zlib
import numpy as np
kind, path, image, prob, base, depth, classes = sys.argv[1:]
base, depth, classes = int(base), int(depth), int(classes)

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
    return np.frombuffer(raw, "<f4").reshape(tags[257][0], tags[256][0], classes)

def read_png(name):
    """8-bit grey, as unet-train data synth draws it."""
    data, at, raw = open(name, "rb").read(), 8, b""
    while at < len(data):
        n, tag = struct.unpack_from(">I4s", data, at)
        body = data[at + 8:at + 8 + n]
        if tag == b"IHDR":
            width, height, bits, colour = struct.unpack_from(">IIBB", body)
            assert (bits, colour) == (8, 0)
        raw += body if tag == b"IDAT" else b""
        at += n + 12
    rows, flat = zlib.decompress(raw), np.zeros((height, width), np.uint8)
    for y in range(height):
        how, row = rows[y * (width + 1)], bytearray(rows[y * (width + 1) + 1:(y + 1) * (width + 1)])
        up = flat[y - 1] if y else np.zeros(width, np.uint8)
        for x in range(width):
            a, b, c = row[x - 1] if x else 0, int(up[x]), int(up[x - 1]) if x else 0
            p = a + b - c
            nearest = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            row[x] = (row[x] + [0, a, b, (a + b) // 2, nearest][how]) % 256
        flat[y] = np.frombuffer(bytes(row), np.uint8)
    return flat

x = (read_png(image).astype(np.float32) / np.float32(255))[None, None]
if kind == "onnx":
    import onnx, onnxruntime
    onnx.checker.check_model(onnx.load(path), full_check=True)
    got = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(["probabilities"], {"image": x})[0]
else:
    import torch
    from safetensors.torch import load_file
    from torch_unet import UNet
    model = UNet(base, depth, 1, True, classes)
    missing = model.load_state_dict(load_file(path), strict=False)
    assert not missing.unexpected_keys and all("num_batches" in k for k in missing.missing_keys), missing
    with torch.no_grad():
        logits = model.eval()(torch.from_numpy(x))
    got = (torch.sigmoid(logits) if classes == 1 else torch.softmax(logits, 1)).numpy()
want = read_tiff(prob).transpose(2, 0, 1)[None]
worst = float(np.abs(got - want).max())
print(f"{worst:.1e} over {want.size} numbers from {want.min():.3f} to {want.max():.3f}")
sys.exit(0 if got.shape == want.shape and worst <= 1e-5 and want.max() > want.min() else 1)
EOP
export PYTHONPATH=$srcdir/t
printf '0 ground\n255 mark\n' >two.txt
ok "synthetic data" unet-train data synth --out data --count 20 --size 64x80 --seed 1
ok "larger images" unet-train data synth --out large --count 1 --size 96x112 --seed 3
train=(unet-train train --data data --size 64x80 --base 4 --depth 3 --threads 1 --epochs 5 --batch-size 4 --lr 0.01)
ok "one class" "${train[@]}" --tensorboard --eval-epochs 2 --out one
ok "two classes" "${train[@]}" --classes 2 --class-file two.txt --out two
for net in "one 1" "two 2"; do
    read -r run classes <<<"$net"
    ok "$run: probabilities" unet-train predict --checkpoint "$run" --tile 96x112 --format tiff -p --threads 1 \
        --out "$run-p" large/images/0001.png
    ok "$run: export" unet-train export --checkpoint "$run" --onnx "$run.onnx" --safetensors "$run.safetensors"
    for kind in onnx safetensors; do
        python3 compare.py $kind "$run.$kind" large/images/0001.png "$run-p/0001_prob.tif" 4 3 "$classes" >"$OUT" 2>"$ERR"
        report $? "$run: $kind gives our probabilities: $(cat "$OUT")" || diag <"$ERR"
    done
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
    "$(awk -F, 'NR > 1 { printf "%s%d:%s", (NR > 2 ? " " : ""), NR - 1, $3 }' one/log.csv)" "the loss is log.csv's"
is "$(sed -n 's/^val.iou //p' read.txt | tr ' ' '\n' | cut -d: -f1 | tr '\n' ' ')" "2 4 5 " "IoU where it was validated"
done_testing
