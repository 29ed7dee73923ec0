/* SPDX-License-Identifier: BSD-3-Clause */
/* unet-train export: writes a trained network in a format of other programs. */
#include "src/base.h"

#include "src/atomicfile.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/cmd/cmd.h"

static struct {
    const char *checkpoint, *onnx, *safetensors;
} given;

static const struct cli_option options[] = {
    OPTIONS_CHECKPOINT(given.checkpoint),
    {"onnx", 0, CLI_STRING, "FILE", "write network and weights for onnxruntime and others",
     &given.onnx, 0, 0},
    {"safetensors", 0, CLI_STRING, "FILE", "write the weights with PyTorch's names",
     &given.safetensors, 0, 0},
    {0}};

static const char details[] =
    "ONNX (opset 13): input \"image\" [N][channels][H][W], scaled as in training: 0..1, or as the\n"
    "metadata's image_scale says (data.scale; FORMATS, \"Data\"); where the network accepts\n"
    "other sizes than that of training, dimensions have names such as\n"
    "height_multiple_of_16. Metadata has image_layout, image_channels, image_range, image_scale,\n"
    "image_levels (LOW HIGH of image_scale auto: (v - LOW) / (HIGH - LOW), cut to 0..1),\n"
    "image_sizes, trained_size, scale, class_names, ignore. Outputs are \"logits\" and\n"
    "\"probabilities\" [N][classes][H][W], of a residual network [N][classes][1][1].\n"
    "\n"
    "safetensors: the input of PyTorch's load_state_dict for a U-Net with these names\n"
    "(enc1.conv1, enc1.bn1, ..., bridge, up1, dec1, ..., head) or a residual network\n"
    "(stem.conv1, stem.bn1, stage1.1.conv1, ..., head), convolutions as\n"
    "[out][in][height][width].\n"
    "\n"
    "  unet-train export --checkpoint STUDY/runs/unet-g01-s1 --onnx unet.onnx --safetensors "
    "unet.safetensors\n";

static int run_export(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct trained t = {.config = {.backend = "ref", .threads = 1}};

    if (!given.checkpoint || (!given.onnx && !given.safetensors))
        return err_set(e, ERR_USAGE,
                       "export: --checkpoint PATH is needed, and --onnx FILE or "
                       "--safetensors FILE or both");
    int rc = (given.onnx && atomicfile_check_new(given.onnx, e)) ||
                     (given.safetensors && atomicfile_check_new(given.safetensors, e)) ||
                     trained_open(&t, given.checkpoint, e)
                 ? -1
                 : 0;
    if (rc == 0 && given.onnx)
        rc = onnx_write(given.onnx, &t.config, &t.classes, network_weights(t.network), e);
    if (rc == 0 && given.onnx)
        log_info("%s: ONNX, %zu weights", given.onnx,
                 weights_trainable(network_weights(t.network)));
    if (rc == 0 && given.safetensors)
        rc = checkpoint_write_weights(given.safetensors, network_weights(t.network), e);
    if (rc == 0 && given.safetensors)
        log_info("%s: safetensors", given.safetensors);
    trained_close(&t);
    return rc;
}

const struct cli_command cmd_export = {
    .name = "export",
    .args = "",
    .summary = "Write a trained network for other programs",
    .details = details,
    .options = options,
    .run = run_export,
};
