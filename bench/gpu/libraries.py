# SPDX-License-Identifier: BSD-3-Clause
"""Prints where Python's packages of NVIDIA's libraries keep them (cuDNN, NCCL, CUDA), for LD_LIBRARY_PATH;
nothing where there are none."""
import glob
import os

try:
    import nvidia
except ImportError:
    places = []
else:
    places = list(nvidia.__path__)
print(":".join(folder for place in places for folder in sorted(glob.glob(os.path.join(place, "*", "lib")))))
