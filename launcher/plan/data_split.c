/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/plan/data_split.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launcher/host/jsonio.h"
#include "launcher/plan/model_look.h"
#include "launcher/plan/trainer_program.h"
#include "src/log.h"

#define MAX_SPLIT ((size_t)1 << 30)

int data_split_read(const struct study *s, json_t **dst, struct err *e)
{
    char file[PATH_MAX];

    *dst = NULL;
    if (snprintf(file, sizeof file, "%s/split.json", s->dir) >= PATH_MAX || access(file, F_OK))
        return 0;
    *dst = jsonio_read(file, MAX_SPLIT, e);
    return *dst ? 0 : -1;
}

/* Checks that the data have what the network learns from: masks, or one class per image. */
static int check_split(const struct plan *p, struct err *e)
{
    const char *model = p->study.model.name;
    bool ours = strcmp(p->study.engine, "embedded") == 0;
    struct model_look look = {0};

    if (!ours)
        return 0;
    /* The usual model learns from masks. Asking unet-train about others takes as long as
     * everything else here. */
    if (strcmp(model, "unet") != 0 && model_look_open(&p->study, true, &look, e))
        return -1;
    bool wants_masks = !look.of_classes;
    json_t *root;
    if (data_split_read(&p->study, &root, e))
        return -1;
    bool has_classes = json_object_get(root, "classes") != NULL, known = root != NULL;

    json_decref(root);
    if (!known || wants_masks != has_classes)
        return 0;
    return err_set(e, ERR_CONFIG, wants_masks
                       ? "model.name %s needs a mask for each image, and in %s an image has one "
                       "class "
                         "as a whole: --model resnet44 (or 20, 32, 56, 110)"
                       : "model.name %s gives each image one class as a whole, and %s has masks: "
                         "--model unet", model, p->study.data.dir);
}

int data_split_make(const struct plan *p, struct err *e)
{
    char file[PATH_MAX], fraction[32], seed[32], classes[32];
    const char *argv[] = {"data", "split", "--data", p->study.data.dir, "--out", file,
                          "--image-folder", p->study.data.images, "--mask-folder",
                          p->study.data.masks,
                          "--val-fraction", fraction, "--seed", seed, "--classes",
                          classes, "--ignore", p->study.data.ignore, "--class-file",
                          p->study.data.class_file,
                          p->study.data.soft_masks ? "--soft-masks" : NULL, NULL};

    if (!study_has_images(&p->study))
        return 0;
    snprintf(file, sizeof file, "%s/split.json", p->study.dir);
    if (access(file, F_OK) == 0)
        return check_split(p, e);
    snprintf(fraction, sizeof fraction, "%.17g", p->study.data.val_fraction);
    snprintf(classes, sizeof classes, "%d", p->study.data.classes);
    snprintf(seed, sizeof seed, "%d", p->study.data.split_seed);
    log_info("splitting %s into training and validation: %s", p->study.data.dir, file);
    return trainer_program_run(argv, e) ? -1 : check_split(p, e);
}
