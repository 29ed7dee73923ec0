# SPDX-License-Identifier: BSD-3-Clause
"""Images and masks of a study as NumPy arrays, by NumPy and Pillow."""
import math
import os

import numpy as np
from PIL import Image

_TURNS = {2: Image.FLIP_LEFT_RIGHT, 3: Image.ROTATE_180, 4: Image.FLIP_TOP_BOTTOM,
          5: Image.TRANSPOSE, 6: Image.ROTATE_270, 7: Image.TRANSVERSE, 8: Image.ROTATE_90}


def read_picture(path, mode, orientation):
    """Samples [H, W] or [H, W, 3] and the largest that they could be, turned as split.json says.
    FOLDER/ has a mask for each object."""
    if path.endswith("/"):
        names = sorted(n for n in os.listdir(path) if not n.startswith("."))
        masks = [read_picture(path + n, mode, orientation)[0] > 0 for n in names]
        return np.uint8(255) * np.logical_or.reduce(masks), 255
    with Image.open(path) as f:
        if f.mode.startswith("F"):
            raise SystemExit(f"{path}: holds floats, which this script does not read; "
                             "use engine: embedded")
        deep = f.mode.startswith("I")
        picture = f if deep else f.convert(mode)
        if orientation in _TURNS:
            picture = picture.transpose(_TURNS[orientation])
        samples = np.asarray(picture)
    if deep and mode == "RGB":
        samples = np.stack([samples] * 3, axis=-1)
    return samples, 65535 if deep else 255


def scale_image(samples, largest, how, levels=None):
    """data.scale of samples [H, W, C], as trainer/data/image/pixels.h defines it. levels:
    split.json's image_levels."""
    if how == "auto" and levels and largest > 255:
        values = (samples.astype(np.float64) - levels[0]) / (levels[1] - levels[0])
        return values.clip(0, 1).astype(np.float32)
    if how in ("full", "auto"):
        return samples.astype(np.float32) / largest
    out = np.zeros(samples.shape, np.float32)
    for c in range(samples.shape[2]):
        plane = samples[:, :, c].astype(np.float64)
        base, span = plane.min(), plane.max() - plane.min()
        if how == "zscore":
            base, span = plane.mean(), plane.std()
        elif how == "percentile":
            values = np.sort(plane, axis=None)
            low, high = (values[math.ceil(share * len(values)) - 1] for share in (0.01, 0.99))
            base, span = (low, high - low) if low < high else (base, span)
        if span > 0:
            plane = (plane - base) / span
            out[:, :, c] = plane if how == "zscore" else plane.clip(0, 1)
    return out


def resize_with_pad(picture, height, width):
    """Aspect kept, bilinear, centred in zeros."""
    if picture.shape[:2] == (height, width):
        return picture
    scale = min(height / picture.shape[0], width / picture.shape[1])
    h = max(1, round(picture.shape[0] * scale))
    w = max(1, round(picture.shape[1] * scale))
    out = np.zeros((height, width, picture.shape[2]), np.float32)
    top, left = (height - h) // 2, (width - w) // 2
    for c in range(picture.shape[2]):
        plane = Image.fromarray(picture[:, :, c]).resize((w, h), Image.BILINEAR)
        out[top : top + h, left : left + w, c] = np.asarray(plane)
    return out
