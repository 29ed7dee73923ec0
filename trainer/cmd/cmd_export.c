/* SPDX-License-Identifier: BSD-3-Clause */
/* unet-train export: writes a trained network in a format of other programs. */
#include "config.h"

#include "src/atomicfile.h"
#include "src/log.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/cmd/cmd.h"

static const char *opt_checkpoint, *opt_onnx, *opt_safetensors;

static const struct cli_option options[] = {
    OPTIONS_CHECKPOINT(opt_checkpoint),
    {"onnx", 0, CLI_STRING, "FILE", "write network and weights for onnxruntime and others",
     &opt_onnx, 0, 0},
    {"safetensors", 0, CLI_STRING, "FILE", "write the weights with PyTorch's names",
     &opt_safetensors, 0, 0},
    {0}};

static const char details[] =
    "ONNX (opset 13): input \"image\" [N][channels][H][W], scaled as in training: 0..1, or as the\n"
    "metadata's image_scale says (data.scale; FORMATS, \"Data\"); where the network accepts\n"
    "other sizes than that of training, dimensions have names such as\n"
    "height_multiple_of_16. Metadata has image_layout, image_channels, image_range, image_scale,\n"
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

    if (!opt_checkpoint || (!opt_onnx && !opt_safetensors))
        return err_set(e, ERR_USAGE,
                       "export: --checkpoint PATH is needed, and --onnx FILE or "
                       "--safetensors FILE or both");
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
        rc = checkpoint_write_weights(opt_safetensors, network_weights(t.network), e);
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
    .run = run_export,
};
