#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What recipe.yaml runs, in the unpacked source. libslurm is each cluster's own: Slurm is asked through its
# commands.
set -eu
./configure --prefix="$PREFIX" --with-mpi=yes --with-tiff=yes --with-jpeg=yes --without-slurm \
    --without-cuda
make -j"${CPU_COUNT:-1}"
make install
