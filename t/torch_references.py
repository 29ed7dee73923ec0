# SPDX-License-Identifier: BSD-3-Clause
"""The networks of templates/models in PyTorch, by name: what bench/ times and trains beside ours."""
import torch
from torch import nn

from torch_resnet import ResNet


def glorot(net):
    """Keras's initial values: Glorot and Bengio's uniform ones, biases 0."""
    for module in net.modules():
        if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)):
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)


class Chips(nn.Module):
    """templates/models/chips.yaml; penalty() is its L2 term."""

    def __init__(self, base, channels, classes, size):
        super().__init__()
        layers, width = [], channels
        for i, factor in enumerate((1, 2, 2, 4, 4)):
            layers += [nn.Conv2d(width, factor * base, 3, 1, 1), nn.ReLU()]
            layers += [nn.MaxPool2d(2)] if i else []
            width = factor * base
        self.features = nn.Sequential(*layers)
        places = (size[0] // 16) * (size[1] // 16)
        self.dropout = nn.Dropout(0.5)
        self.dense1 = nn.Linear(places * width, 8 * base)
        self.dense2 = nn.Linear(8 * base, classes)
        glorot(self)

    def forward(self, x):
        x = self.dropout(self.features(x)).flatten(1)
        return self.dense2(torch.relu(self.dense1(x)))

    def penalty(self):
        weights = [m.weight for m in self.features if isinstance(m, nn.Conv2d)]
        return 0.0015 * sum(w.square().sum() for w in weights + [self.dense1.weight])


class Fcnn(nn.Module):
    """templates/models/fcnn.yaml, with the padding of TensorFlow's "same": behind, not before."""

    def __init__(self, base, channels, classes):
        super().__init__()
        widths = [base, 2 * base, 4 * base, 4 * base]
        self.down = nn.ModuleList(nn.Conv2d(ci, co, 3, 2)
                                  for ci, co in zip([channels] + widths, widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(ci, co, 3, 2) for ci, co in
                                zip(widths[::-1], [4 * base, 2 * base, base, classes]))
        glorot(self)

    def forward(self, x):
        skips = []
        for conv in self.down:
            x = torch.relu(conv(nn.functional.pad(x, (0, 1, 0, 1))))
            skips.append(x)
        skips.pop()
        for conv in self.up:
            x = conv(x)[:, :, :-1, :-1]
            if skips:
                x = torch.relu(x) + skips.pop()
        return x


def plan(base, channels, classes):
    """The network of nnU-Net's 2D plan for 128x128, its own class; PyTorch's initial values."""
    from dynamic_network_architectures.architectures.unet import PlainConvUNet
    widths = [min(base << s, 16 * base) for s in range(6)]
    return PlainConvUNet(channels, 6, widths, nn.Conv2d, 3, [1] + [2] * 5, 2, classes, [2] * 5,
                         True, nn.InstanceNorm2d, {"eps": 1e-5, "affine": True},
                         nonlin=nn.LeakyReLU)


class UNetResNet(nn.Module):
    """templates/models/unet-resnet.yaml on torchvision's encoder; initial values are PyTorch's."""

    def __init__(self, name, base, channels, classes):
        super().__init__()
        import torchvision
        body = getattr(torchvision.models, name.removeprefix("unet-"))()
        body.conv1 = nn.Conv2d(channels, 64, 7, 2, 3, bias=False)
        for module in body.modules():
            if isinstance(module, nn.Conv2d):
                module.reset_parameters()
        stem = nn.Sequential(body.conv1, body.bn1, nn.ReLU())
        first = nn.Sequential(body.maxpool, body.layer1)
        self.down = nn.ModuleList([stem, first, body.layer2, body.layer3, body.layer4])
        self.up, self.dec, width = nn.ModuleList(), nn.ModuleList(), 8 * base
        for skip in (4 * base, 2 * base, base, base, 0):
            co = width // 2
            layers = []
            for ci in (co + skip, co):
                layers += [nn.Conv2d(ci, co, 3, 1, 1, bias=False), nn.BatchNorm2d(co), nn.ReLU()]
            self.up.append(nn.ConvTranspose2d(width, co, 2, 2))
            self.dec.append(nn.Sequential(*layers))
            width = co
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        skips = []
        for stage in self.down:
            x = stage(x)
            skips.append(x)
        skips.pop()
        for up, dec in zip(self.up, self.dec):
            x = up(x)
            x = dec(torch.cat([x, skips.pop()], 1) if skips else x)
        return self.head(x)


def network(name, base, channels, classes, size):
    """base 0: the usual one. size: (height, width)"""
    if name == "nnunet":
        return plan(base or 32, channels, classes)
    if name.startswith("unet-resnet"):
        return UNetResNet(name, base or 64, channels, classes)
    if name.startswith("resnet"):
        return ResNet(name, base or 16, channels, True, classes)
    if name == "chips":
        return Chips(base or 16, channels, classes, size)
    if name == "fcnn":
        return Fcnn(base or 16, channels, classes)
    raise SystemExit(f"no network {name}: resnetN, chips, fcnn, nnunet or unet-resnetN")
