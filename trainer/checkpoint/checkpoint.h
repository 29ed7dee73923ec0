/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights on disk: those of a trained network with a description of it, snapshots from which a
 * training resumes, and ONNX for other programs.
 *
 * run/ writes checkpoints and snapshots and reads snapshots; cmd/ reads checkpoints for eval,
 * predict and export. Every file is replaced atomically, every length is checked against the bytes
 * present, and a hash shows whether the numbers are those that were written. Other errors than
 * those of a file that is wrong are as in safetensors.h.
 *
 * To read: safetensors.h, the format of the arrays; checkpoint.c; fit.c, which reads weights of
 * other networks; onnx.c, which writes graphs for others. */
#pragma once

#include "trainer/checkpoint/safetensors.h"
#include "trainer/json/cjson.h"
#include "trainer/network/network.h"

/* Trained weights on disk: DIR/weights.safetensors (safetensors.h) has them with PyTorch's names
 * and shapes (core/graph.h), including the state of batch norm. DIR/model.json (doc/SCHEMAS.md)
 * describes the network, and how images and masks were prepared for it. */

/* Names of the classes, and how images and masks were read. */
struct checkpoint_classes {
    char **names;    /* [count]; NULL: unknown */
    int count;
    char *ignore;    /* the mask value of ignored pixels, as text, or "" */
    char *file;      /* the text of the class file, or "" */
    char scale[16];  /* data.scale; "": full */
    double levels[2]; /* of scale auto: the values that become 0 and 1; equal: full range */
    int bits;        /* of the images (data/image/pixels.h); 0: unknown */
    bool soft_masks; /* grey values of masks are probabilities */
    bool native;     /* trained on patches of images at their own size, not on resized images */
};

/* Frees what checkpoint_read_model has filled in. */
void checkpoint_classes_free(struct checkpoint_classes *c);

/* Writes both files to dir, each atomically; dir is created if needed (not its parents); model.json
 * comes last, so that a new folder with it is complete. Sets sha256 to the hash of
 * weights.safetensors in hexadecimal. */
int checkpoint_write(const char *dir, const struct network_config *config,
                     const struct checkpoint_classes *classes, const struct weights *w,
                     char sha256[65], struct err *e);

/* Writes w as safetensors, atomically. */
int checkpoint_write_weights(const char *path, const struct weights *w, struct err *e);

/* Reads the model.json in the folder of `file`, the weights. Sets model, channels, base, depth,
 * classes (unless model.json is too old to have it), batch_norm, height and width of *config. The
 * caller frees *classes, also after an error. sha256: the hash of the weights, or "" if model.json
 * does not have it. -1 with ERR_CHECKPOINT. */
int checkpoint_read_model(const char *file, struct network_config *config,
                          struct checkpoint_classes *classes, char sha256[65], struct err *e);

/* Reads the values of w, whose entries the file must match one to one. Every length is checked
 * against the bytes present. -1 with ERR_CHECKPOINT, which names the tensor; a value that is not
 * finite is an error, as is another hash than sha256 unless that is "". After an error the values
 * of w are undefined. */
int checkpoint_read_weights(const char *file, const char *sha256, struct weights *w, struct err *e);

/* Weights of a file as the beginning of another training (model.init), whose tensors need not be
 * those of the network. One fits where its name is that of an entry of w, or one of entry.torch
 * with the last part of that name (behind "module.", too), and its shape is the same, but for
 * further dimensions of 1. The head, the layer of the last parameters, and the stem, that of the
 * first, stay as they are where their weights have another shape. The bias of a convolution that
 * the file lacks becomes 0. Batch norm's num_batches_tracked is ignored. */

/* Sets what fits, logs it, and returns it as an object that the caller deletes (the line "init" of
 * logs/record.schema.json).
 * NULL with ERR_CHECKPOINT: as checkpoint_read_weights; fewer than half of the parameters besides
 * head and stem are in the file; one has another shape. After an error the values are undefined. */
cJSON *checkpoint_fit(const char *file, struct weights *w, struct err *e);

/* Snapshots are the checkpoints from which an interrupted training is resumed:
 * DIR/state-EEEEEEE-IIIIIIIIII.safetensors, named by the number of completed epochs and of images
 * used in the next one, so that names sort in the order of training. Files are written under
 * another name, fsynced and renamed, and their metadata have a hash of the content, so that
 * incomplete ones are never used. While a training runs the newest two are kept, in case one is
 * damaged; when it is complete, only the newest. */

/* Writes a snapshot to dir, which is created if needed (not its parents), and removes all but the
 * newest two. state: JSON with everything but the tensors of list. */
int snapshot_write(const char *dir, int epoch, size_t items, const char *state,
                   const struct safetensors_entry *list, size_t n, struct err *e);

struct snapshot {
    char *path;
    struct safetensors *file;
    const char *state; /* lives as long as the snapshot */
};

/* Opens the newest intact snapshot in dir; damaged ones are logged and skipped. Returns 1, 0 if
 * there is none, or -1 with ERR_CHECKPOINT if dir exists but cannot be read. */
int snapshot_open(const char *dir, struct snapshot *s, struct err *e);
void snapshot_close(struct snapshot *s);

/* Returns whether dir has a snapshot, intact or not. */
bool snapshot_exists(const char *dir);

/* Removes temporary files of killed processes; with older also all but the newest snapshot. */
void snapshot_clean(const char *dir, bool older);

/* A network as an ONNX file (https://onnx.ai, opset 13), for onnxruntime and others.
 *
 * The input is "image" [N][channels][H][W], 0..1. N is a free dimension; so are H and W if the
 * network accepts other sizes than that of training. The outputs are "logits" [N][classes][H][W] (H
 * and W are 1 for a network that classifies images) and "probabilities", their sigmoid or, with
 * several classes, their softmax. Weights keep their names. metadata_props (doc/FORMATS.md)
 * describe how images are prepared, and name the classes. */

/* Writes a new file atomically. -1 with ERR_CONFIG if path exists, or ERR_INTERNAL if ONNX has no
 * operator for an op. */
int onnx_write(const char *path, const struct network_config *config,
               const struct checkpoint_classes *classes, const struct weights *w, struct err *e);
