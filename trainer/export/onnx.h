/* SPDX-License-Identifier: BSD-3-Clause */
/* A network as an ONNX file (https://onnx.ai, opset 13), for onnxruntime and others.
 *
 * The input is "image" [N][channels][H][W], 0..1. N is a free dimension; so are H and W if the
 * network accepts other sizes than that of training. The outputs are "logits" [N][classes][H][W] (H
 * and W are 1 for a network that classifies images) and "probabilities", their sigmoid or, with
 * several classes, their softmax. Weights keep their names. metadata_props (doc/FORMATS.md)
 * describe how images are prepared, and name the classes. */
#ifndef UNETCTL_TRAINER_EXPORT_ONNX_H
#define UNETCTL_TRAINER_EXPORT_ONNX_H

#include "trainer/checkpoint/checkpoint.h"
#include "trainer/network/network.h"

/* Writes a new file atomically. -1 with ERR_CONFIG if path exists, or ERR_INTERNAL if ONNX has no
 * operator for an op. */
int onnx_write(const char *path, const struct network_config *config,
               const struct checkpoint_classes *classes, const struct weights *w, struct err *e);

#endif
