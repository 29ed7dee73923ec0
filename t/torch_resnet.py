# SPDX-License-Identifier: BSD-3-Clause
"""The residual networks of templates/models/resnet.yaml in PyTorch, with their names of weights."""
from torch import nn

from torch_kinks import relu

LARGE = {"resnet18": [2, 2, 2, 2], "resnet34": [3, 4, 6, 3]}  # torchvision's


class Block(nn.Module):
    def __init__(self, ci, co, batch_norm, projection, large):
        super().__init__()
        bias, stride = projection or not batch_norm, 2 if co > ci else 1
        self.extra = co - ci
        self.conv1 = nn.Conv2d(ci, co, 3, stride, 1, bias=bias)
        self.conv2 = nn.Conv2d(co, co, 3, 1, 1, bias=bias)
        self.bn1 = nn.BatchNorm2d(co) if batch_norm else nn.Identity()
        self.bn2 = nn.BatchNorm2d(co) if batch_norm else nn.Identity()
        self.shortcut = (nn.Conv2d(ci, co, 1, stride, bias=bias) if (projection or large) and self.extra
                         else None)
        self.shortcut_bn = nn.BatchNorm2d(co) if self.shortcut and large and batch_norm else nn.Identity()

    def forward(self, x):
        y = self.bn2(self.conv2(relu(self.bn1(self.conv1(x)))))
        if self.shortcut:
            x = self.shortcut_bn(self.shortcut(x))
        elif self.extra:
            half = self.extra // 2
            x = nn.functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, half, self.extra - half))
        return relu(x + y)


class ResNet(nn.Module):
    def __init__(self, name, base, channels, batch_norm, classes):
        super().__init__()
        projection = name.endswith("-projection")
        self.large = name in LARGE
        blocks = LARGE.get(name) or [(int(name.removeprefix("resnet").split("-")[0]) - 2) // 6] * 3
        self.stem = nn.Module()
        self.stem.conv1 = nn.Conv2d(channels, base, *((7, 2, 3) if self.large else (3, 1, 1)),
                                    bias=projection or not batch_norm)
        self.stem.bn1 = nn.BatchNorm2d(base) if batch_norm else nn.Identity()
        width = base
        for stage, n in enumerate(blocks):
            block, layers = base << stage, nn.Sequential()
            for i in range(n):
                layers.add_module(str(i + 1), Block(width, block, batch_norm, projection, self.large))
                width = block
            self.add_module(f"stage{stage + 1}", layers)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        x = relu(self.stem.bn1(self.stem.conv1(x)))
        x = nn.functional.max_pool2d(x, 3, 2, 1) if self.large else x
        x = self.stage3(self.stage2(self.stage1(x)))
        x = self.stage4(x) if self.large else x
        return self.head(x.mean((2, 3), keepdim=True))
