# SPDX-License-Identifier: BSD-3-Clause
"""Prints the folders in which Python's packages keep NVIDIA's libraries (cuDNN, NCCL, CUDA), for
LD_LIBRARY_PATH, or an empty line."""
import glob
import os

try:
    import nvidia
except ImportError:
    places = []
else:
    places = list(nvidia.__path__)
print(":".join(folder for place in places for folder in sorted(glob.glob(os.path.join(place, "*", "lib")))))
