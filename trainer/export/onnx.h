/* SPDX-License-Identifier: BSD-3-Clause */
/* A network as an ONNX file (https://onnx.ai, opset 13), for onnxruntime and others.
 *
 * Input "image" [N][channels][H][W], 0..1; N is free, H and W are where the network takes other
 * sizes than that of training. Outputs "logits" [N][classes][H][W] (H and W 1 where images have one
 * class each) and "probabilities", their sigmoid or, with several classes, their softmax. Weights
 * keep their names. metadata_props (doc/FORMATS.md) have the preparation of images and the names of
 * the classes. */
#ifndef UNETCTL_TRAINER_EXPORT_ONNX_H
#define UNETCTL_TRAINER_EXPORT_ONNX_H

#include "trainer/checkpoint/checkpoint.h"
#include "trainer/network/network.h"

/* Writes a new file, atomically. ERR_INTERNAL for an op without an operator in ONNX. */
int onnx_write(const char *path, const struct network_config *config,
               const struct checkpoint_classes *classes, const struct weights *w, struct err *e);

#endif
