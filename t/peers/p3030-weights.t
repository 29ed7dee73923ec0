#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Weights of PyTorch as the beginning of a training (model.init): torchvision's resnet18, and the U-Net
# of templates/pytorch/train.py, by the line of the guide that converts a .pth. Ours then compute
# what PyTorch's do, to 1e-4.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
# shellcheck source=t/peers/peers.sh
. "$srcdir/t/peers/peers.sh"
need_python torch torchvision safetensors PIL numpy

cat >make.py <<'EOP'
# make.py: resnet18.pth and resnet34.pth of torchvision; unet.pth; images
import importlib.util, os, sys
import numpy as np
import torch, torchvision
from PIL import Image
torch.manual_seed(3)
net = torchvision.models.resnet18(num_classes=4)
torch.save({"state_dict": torchvision.models.resnet34(num_classes=7).state_dict()}, "resnet34.pth")
for name, values in net.named_buffers():
    if name.endswith("running_mean"):
        values.normal_(0, 0.1)
    elif name.endswith("running_var"):
        values.uniform_(0.5, 1.5)
torch.save(net.state_dict(), "resnet18.pth")
spec = importlib.util.spec_from_file_location("script", os.path.join(sys.argv[1], "templates/pytorch/train.py"))
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)
unet = script.UNet(1, 4, 2, False)
torch.save({"module." + k: v for k, v in unet.state_dict().items()}, "unet.pth")
torch.save(script.UNet(1, 4, 2, True).state_dict(), "normed.pth")
rng = np.random.default_rng(7)
for i in range(16):
    picture = rng.integers(0, 255, (64, 96, 3)).astype(np.uint8)
    os.makedirs(f"sides/side{i % 4}", exist_ok=True)
    Image.fromarray(picture).save(f"sides/side{i % 4}/{i:02}.png")
EOP
cat >same.py <<'EOP'
# same.py resnet18|unet: the numbers that the run has of the file, and the outputs
import csv, glob, importlib.util, os, re, sys
import numpy as np
import torch, torchvision
from PIL import Image
from safetensors.torch import load_file
ours = load_file(sys.argv[1] + "/checkpoint/weights.safetensors")
def read(names):
    images = [np.asarray(Image.open(n)) for n in names]
    return torch.from_numpy(np.stack([i.reshape(*i.shape[:2], -1) for i in images]).transpose(0, 3, 1, 2) / np.float32(255))
def worst(a, b):
    print(f"{np.abs(a - b).max():.1e} over {a.size} numbers from {a.min():.3f} to {a.max():.3f}")
    return a.shape == b.shape and np.abs(a - b).max() <= 1e-4 and a.max() > a.min()
def theirs(name):
    """The name of our tensor in torchvision."""
    name = re.sub(r"^stem\.", "", name).replace("shortcut_bn", "downsample.1").replace("shortcut", "downsample.0")
    name = re.sub(r"^stage(\d)\.(\d)", lambda m: f"layer{m[1]}.{int(m[2]) - 1}", name)
    return name.replace("head.", "fc.")
if sys.argv[1] == "resnet18":
    file, named = load_file("resnet18.safetensors"), {theirs(k): v for k, v in ours.items()}
    assert set(named) == {k for k in file if "num_batches" not in k}, set(named) ^ set(file)
    for k, v in named.items(): # no step changes a parameter by more than the rate
        assert "running" in k or torch.equal(v.reshape(-1), file[k].reshape(-1)) or \
            (v.reshape(-1) - file[k].reshape(-1)).abs().max() < 1e-9, k
    net = torchvision.models.resnet18(num_classes=4)
    named["fc.weight"] = named["fc.weight"].reshape(4, -1)
    missing = net.load_state_dict(named, strict=False)
    assert not missing.unexpected_keys and all("num_batches" in k for k in missing.missing_keys)
    rows = list(csv.DictReader(open("resnet18-p/classes.csv")))
    want = np.array([[float(v) for k, v in r.items() if k[:2] == "p_"] for r in rows], np.float32)
    with torch.no_grad():
        got = torch.softmax(net.eval()(read(r["image"] for r in rows)), 1).numpy()
else:
    spec = importlib.util.spec_from_file_location("script", os.path.join(sys.argv[2], "templates/pytorch/train.py"))
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    net = script.UNet(1, 4, 2, False)
    net.load_state_dict({k.removeprefix("module."): v for k, v in torch.load("unet.pth").items()})
    names = sorted(glob.glob("data/images/*.png"))[:4]
    with torch.no_grad():
        got = torch.sigmoid(net.eval()(read(names))).numpy()
    want = np.stack([np.asarray(Image.open("unet-p/" + os.path.basename(n)[:-4] + "_prob.tif"))[None] for n in names])
sys.exit(0 if worst(got, want) else 1)
EOP
export PYTHONPATH=$srcdir/python
# The command of the guide.
convert() { # PTH SAFETENSORS
    local script
    script=$(sed -n '/^    python3 -c .import sys, torch, safetensors/,/^    . resnet18-/p' "$srcdir/doc/GUIDE.md" |
        sed -e 's/^    //' -e "1s/^python3 -c '//" -e "\$s/^' .*//")
    python3 -c "$script" "$1" "$2"
}
ok "networks of PyTorch" python3 make.py "$srcdir"
for name in resnet18 resnet34 unet normed; do
    ok "$name: the line of the guide converts it" convert $name.pth $name.safetensors
done
still=(--threads 1 --epochs 1 --lr 1e-12)
ok "resnet18 begins with torchvision's" unet-train train --model resnet18 --data sides --size 64x96 --channels 3 \
    "${still[@]}" --batch-size 4 --set model.init=resnet18.safetensors --out resnet18
like "$ERR" 'resnet18.safetensors: 11178564 of 11178564 parameters fit, 0 are frozen$' "all fits"
ok "its probabilities" unet-train predict --checkpoint resnet18 -p --threads 1 --out resnet18-p sides/*/*.png
ok "PyTorch has the same numbers and probabilities" python3 same.py resnet18
diag <"$OUT"
ok "of grey images" unet-train model resnet18 --channels 1 --size 64x96 --classes 4 \
    --init resnet18.safetensors
like "$ERR" '1 tensor of the network anew: stem.conv1.weight .64x1x7x7, in the file 64x3x7x7.$' \
    "the first convolution does not fit"
ok "resnet34, as an encoder" unet-train model unet-resnet34 --channels 3 --size 64x96 \
    --init resnet34.safetensors
like "$ERR" ' 21284672 of .* 2 tensors of the file not used: fc.bias, fc.weight$' \
    "all but its head is used"

ok "images and masks" unet-train data synth --out data --count 12 --size 32x48 --seed 1
ok "the U-Net of the engine pytorch" unet-train train --data data --size 32x48 --set model.base=4 --set model.depth=2 \
    --set model.batch_norm=none "${still[@]}" --batch-size 4 --set model.init=unet.safetensors --out unet
ok "its probabilities" unet-train predict --checkpoint unet -p --format tiff --threads 1 --out unet-p data/images/*.png
ok "PyTorch has the same" python3 same.py unet "$srcdir"
diag <"$OUT"
ok "with batch norm" unet-train model unet --base 4 --depth 2 --size 32x48 --init normed.safetensors
like "$ERR" ': ([0-9]+) of \1 parameters fit, 0 are frozen$' "all fits"
done_testing
