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


def network(name, base, channels, classes, size):
    """base 0: the usual one. size: (height, width)"""
    if name.startswith("resnet"):
        return ResNet(name, base or 16, channels, True, classes)
    if name == "chips":
        return Chips(base or 16, channels, classes, size)
    if name == "fcnn":
        return Fcnn(base or 16, channels, classes)
    raise SystemExit(f"no network {name}: resnetN, chips or fcnn")
