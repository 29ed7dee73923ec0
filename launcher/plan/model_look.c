/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/plan/model_look.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/host/jsonio.h"
#include "launcher/plan/trainer_program.h"

int model_look_open(const struct study *study, bool loud, struct model_look *dst, struct err *e)
{
    char size[48], channels[24], classes[24], base[24], depth[24], *text;
    const char *argv[16] = {"model", study->model.name, "--json", "--size", size, "--channels",
                            channels};
    int n = 7;

    *dst = (struct model_look){0};
    snprintf(size, sizeof size, "%dx%d", study->data.height, study->data.width);
    snprintf(channels, sizeof channels, "%d", study->data.channels);
    snprintf(classes, sizeof classes, "%d", study->data.classes);
    snprintf(base, sizeof base, "%d", study->model.base);
    snprintf(depth, sizeof depth, "%d", study->model.depth);
    /* 1 is the preset: image folders define their own number of classes */
    if (study->data.classes > 1)
        argv[n++] = "--classes", argv[n++] = classes;
    if (study->model.base)
        argv[n++] = "--base", argv[n++] = base;
    if (study->model.depth)
        argv[n++] = "--depth", argv[n++] = depth;
    if (strcmp(study->model.batch_norm, "none") == 0)
        argv[n++] = "--batch-norm=none";
    argv[n] = NULL;
    if (trainer_program_read(argv, &text, e))
        return -1;
    bool empty = !*text;
    json_t *root = empty ? NULL : jsonio_decode(text, strlen(text), "unet-train model --json", e);
    free(text);
    if (!empty && !root)
        return -1;
    const char *of = json_string_value(json_object_get(root, "of"));
    dst->of_classes = of && strcmp(of, "classes") == 0;
    dst->parameters = json_integer_value(json_object_get(root, "parameters"));
    dst->state = json_integer_value(json_object_get(root, "state"));
    dst->tensors = json_integer_value(json_object_get(root, "tensors"));
    json_decref(root);
    if (of)
        return 0;
    if (loud)
        (void)trainer_program_run(argv, e);
    return err_set(e, ERR_CONFIG, "model.name %s cannot be built for this study%s (unet-train "
                   "model %s --size %s)", study->model.name, loud ? ", as said above" : "",
                   study->model.name, size);
}
