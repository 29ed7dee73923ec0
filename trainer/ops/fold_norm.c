/* SPDX-License-Identifier: BSD-3-Clause */
/* The op that folds a batch norm into a convolution's weights; passes/fuse.c appends it. */
#include "config.h"
#include "trainer/ops/ops.h"

enum { OUT_CHANNELS }; /* index into the shape of the weights, [O][I][K][K] */

static int infer_fold_norm(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                           struct err *e)
{
    int64_t channels = in[0]->shape.dim[OUT_CHANNELS];

    for (int i = 1; i < 5 + (in[5] != NULL); i++)
        if (in[i]->shape.ndim != 1 || in[i]->shape.dim[0] != channels)
            return err_set(e, ERR_INTERNAL, "fold_norm: %s does not fit %s", in[i]->name,
                           in[0]->name);
    out[0] = in[0]->shape;
    out[1] = (struct shape){1, {channels}};
    return 0;
}

const struct op_kind fold_norm_kind = {
    .name = "fold_norm", .nin = 6, .nout = 2, .may_lack_in = 1 << 5, .infer = infer_fold_norm,
};
