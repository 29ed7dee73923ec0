/* SPDX-License-Identifier: BSD-3-Clause */
/* A network as an ONNX file (https://onnx.ai, opset 13), for onnxruntime and others.
 *
 * Input "image" [N][channels][H][W], 0..1; N is free, H and W are where the network takes other
 * sizes than that of training. Outputs "logits" [N][classes][H][W] (H and W 1 where images have
 * classes as a whole) and "probabilities", their sigmoid or, of several classes, the softmax over
 * the classes. Weights keep their names. metadata_props (doc/FORMATS.md) say how images are
 * prepared and what classes are called. */
#ifndef UNETCTL_TRAINER_EXPORT_ONNX_H
#define UNETCTL_TRAINER_EXPORT_ONNX_H

#include "trainer/checkpoint/checkpoint.h"
#include "trainer/core/network.h"

/* Atomically, to a path where nothing is yet. ERR_INTERNAL for an op that ONNX has no name for. */
int onnx_write(const char *path, const struct network_config *config,
               const struct checkpoint_classes *classes, const struct weights *w, struct err *e);

#endif
