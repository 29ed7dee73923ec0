/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/cmd/cmd.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/atomicfile.h"
#include "src/buf.h"
#include "src/log.h"
#include "trainer/data/set/split.h"

static const char *dir, *out, *train_list, *val_list;
static double val_fraction = 0.2;
static long seed = 1244;
static bool soft_masks;
static long classes = 1;
static const char *ignore, *class_file;

static const struct cli_option options[] = {
    {"data", 'd', CLI_STRING, "DIR", "data folder: images/ and masks/, or another format", &dir,
     0, 0},
    {"out", 'o', CLI_STRING, "FILE", "the split file to write", &out, 0, 0},
    {"val-fraction", 0, CLI_DOUBLE, "F", "share that validates (default 0.2)", &val_fraction, 0.001,
     0.999},
    {"seed", 0, CLI_INT, "S", "seed of the division (default 1244)", &seed, 0, 0x1p53},
    {"soft-masks", 0, CLI_FLAG, NULL, "masks may hold grey values", &soft_masks, 0, 0},
    {"train-list", 0, CLI_STRING, "FILE", "freeze a given split: one image file name per line",
     &train_list, 0, 0},
    {"val-list", 0, CLI_STRING, "FILE", "the same for validation", &val_list, 0, 0},
    {"classes", 0, CLI_INT, "N", "classes of the masks (default 1: foreground and background)",
     &classes, 1, 250},
    {"ignore", 0, CLI_STRING, "V", "mask value of pixels that do not count", &ignore, 0, 0},
    {"class-file", 0, CLI_STRING, "FILE", "which value or colour of a mask is which class",
     &class_file, 0, 0},
    {0}};

/* A split is frozen: what stands at out already may only be the same. */
static int write_once(const char *path, const struct buf *text, struct err *e)
{
    size_t n = 0;

    if (access(path, F_OK) != 0)
        return atomicfile_write(path, text->data, text->length, 0666, e);
    char *old = atomicfile_read(path, text->length + 1, &n, e);
    bool equal = old && n == text->length && memcmp(old, text->data, n) == 0;
    free(old);
    if (!equal)
        return err_set(e, ERR_CONFIG, "%s: exists and holds another split; splits are frozen. "
                       "Give another --out, or remove it if no run has used it", path);
    return 0;
}

static void tell(const struct split *s)
{
    if (s->nclasses)
        log_info("%s: %zu images train, %zu validate; %d classes", out, s->train.count,
                 s->val.count, s->nclasses);
    else if (s->mask_scale == MASK_CLASS)
        log_info("%s: %zu pairs train, %zu validate; masks of %ld classes", out, s->train.count,
                 s->val.count, classes < 2 ? 2 : classes);
    else
        log_info("%s: %zu pairs train, %zu validate; masks hold 0 and %d%s", out, s->train.count,
                 s->val.count, (int)s->mask_scale, soft_masks ? ", and grey values" : "");
}

static int run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct split_config config = {
        .dir = dir, .seed = seed, .val_fraction = val_fraction, .soft_masks = soft_masks,
        .train_list = train_list, .val_list = val_list, .classes = (int)classes, .ignore = ignore,
        .class_file = class_file};
    struct buf text = {0};

    (void)noperands, (void)operands, (void)nrest, (void)rest;
    if (!dir || !out)
        return err_set(e, ERR_USAGE, "data split: --data DIR and --out FILE are needed");
    struct split *s = split_create(&config, e);
    if (!s)
        return -1;
    split_encode(s, &text);
    int rc = text.failed ? err_set(e, ERR_INTERNAL, "no memory for the split")
                         : write_once(out, &text, e);
    if (rc == 0)
        tell(s);
    buf_destroy(&text);
    split_destroy(s);
    return rc;
}

const struct cli_command cmd_data_split = {
    .name = "data split",
    .args = "--data DIR --out FILE",
    .summary = "divide a data set into training and validation, once",
    .details =
        "DIR: images/ and masks/ with equal stems, or another usual layout (img/ and label/, imagesTr/\n"
        "and labelsTr/, NAME_mask beside NAME, JPEGImages/ and SegmentationClass/); TFRecord shards; or\n"
        "images of one class each: a folder per class, CIFAR-10's or idx files. Decodes and hashes\n"
        "everything, checks sizes and mask values, and writes which images train and which validate. A\n"
        "folder that is divided (train/ and val/ or test/, train.txt and val.txt, test_batch.bin, t10k-*)\n"
        "stays so. Otherwise the result depends on the seed and the pictures alone; equal pictures fall\n"
        "on the same side. A FILE that is there already is kept if it is the same and refused if not.\n\n"
        "Images: colour becomes grey by Rec. 601 luma when one channel is asked for, grey is\n"
        "repeated for three, alpha is dropped, palettes become RGB, 1, 2 and 4 bits are scaled to\n"
        "the full range. Masks: grey or palette index, 0 and 255 (65535 in 16 bits), or 0 and 1\n"
        "for the whole set; with --soft-masks anything between counts as value/255. With --classes\n"
        "N the values are the classes 0..N-1; a --class-file says otherwise, one line each:\n"
        "`VALUE NAME`, `FROM-TO NAME` or `RED GREEN BLUE NAME`; the name `ignore`, and the value --ignore, stand for\n"
        "pixels that count in no loss and no metric.\n\n"
        "  unet-train data split --data DIR --val-fraction 0.2 --seed 1244 --out split.json\n",
    .options = options,
    .min_operands = 0,
    .max_operands = 0,
    .run = run,
};
