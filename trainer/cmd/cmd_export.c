/* SPDX-License-Identifier: BSD-3-Clause */
/* unet-train export: a trained network for other programs. */
#include "config.h"

#include <stdlib.h>

#include "src/atomicfile.h"
#include "src/log.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/cmd/compute_option.h"
#include "trainer/export/onnx.h"
#include "trainer/cmd/trained.h"
#include "trainer/cmd/cmd.h"

static const char *opt_checkpoint, *opt_onnx, *opt_safetensors;

static const struct cli_option options[] = {
    COMPUTE_OPTION_CHECKPOINT(opt_checkpoint),
    {"onnx", 0, CLI_STRING, "FILE", "network and weights for onnxruntime and others",
     &opt_onnx, 0, 0},
    {"safetensors", 0, CLI_STRING, "FILE", "weights by PyTorch's names", &opt_safetensors, 0, 0},
    {0}};

static const char details[] =
    "ONNX (opset 13): input \"image\" [N][channels][H][W] with values 0..1; where the network takes other\n"
    "sizes than that of training, names of dimensions such as height_multiple_of_16 say which. Metadata\n"
    "has image_layout, image_channels, image_range, image_sizes, trained_size, scale, class_names,\n"
    "ignore. Outputs \"logits\" and \"probabilities\" [N][classes][H][W], of a\n"
    "residual network [N][classes][1][1].\n"
    "safetensors: what PyTorch's load_state_dict takes for a U-Net with these names (enc1.conv1,\n"
    "enc1.bn1, ..., bridge, up1, dec1, ..., head) or a residual network (stem.conv1, stem.bn1,\n"
    "stage1.1.conv1, ..., head), convolutions as [out][in][height][width].\n"
    "\n"
    "  unet-train export --checkpoint STUDY/runs/unet-g01-s1 --onnx unet.onnx --safetensors unet.safetensors\n";

static int write_safetensors(const char *path, const struct weights *w, struct err *e)
{
    struct safetensors_entry *list = calloc(w->nentries ? w->nentries : 1, sizeof *list);

    if (!list)
        return err_set(e, ERR_INTERNAL, "out of memory");
    size_t n = safetensors_list(w, "", w->value, w->state, list);
    int rc = safetensors_write(path, NULL, list, n, e);
    free(list);
    return rc;
}

static int run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct trained t = {.config = {.backend = "ref", .threads = 1}};

    (void)noperands, (void)operands, (void)nrest, (void)rest;
    if (!opt_checkpoint || (!opt_onnx && !opt_safetensors))
        return err_set(e, ERR_USAGE,
                       "export: give --checkpoint PATH and --onnx FILE or --safetensors "
                       "FILE, or both");
    int rc = (opt_onnx && atomicfile_check_new(opt_onnx, e)) ||
                     (opt_safetensors && atomicfile_check_new(opt_safetensors, e)) ||
                     trained_open(&t, opt_checkpoint, e)
                 ? -1
                 : 0;
    if (rc == 0 && opt_onnx)
        rc = onnx_write(opt_onnx, &t.config, &t.classes, network_weights(t.network), e);
    if (rc == 0 && opt_onnx)
        log_info("%s: ONNX, %zu weights", opt_onnx, weights_trainable(network_weights(t.network)));
    if (rc == 0 && opt_safetensors)
        rc = write_safetensors(opt_safetensors, network_weights(t.network), e);
    if (rc == 0 && opt_safetensors)
        log_info("%s: safetensors", opt_safetensors);
    trained_close(&t);
    return rc;
}

const struct cli_command cmd_export = {
    .name = "export",
    .args = "",
    .summary = "Write a trained network for other programs",
    .details = details,
    .options = options,
    .run = run,
};
