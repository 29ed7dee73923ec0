/* SPDX-License-Identifier: BSD-3-Clause */
/* What runs would need, found out before anything is spent: for plan, doctor and submit.
 *
 * look.h: what is there, asked of unet-train where it knows more: the parameters of the model, the
 * images of the data, the GPUs of this host. A look that fails has a text that says why; nothing
 * depends on it but advice.
 * begin.h: a new study.yaml, for init, from a folder of images or a command line.
 * cost.h: what follows for a plan: GPU-hours and bytes as upper bounds, advice in sentences, and
 * split.json, which is made once.
 *
 * Read look.c first. */
#pragma once

#include "src/base.h"

#include "launcher/study/study.h"

/* Runs `unet-train ARGV...` (NULL-terminated, without the program's name); its stdout and stderr
 * go to the caller's stderr. Returns 0, or -1 with the program's exit code in e. */
int trainer_program_run(const char *const *argv, struct err *e);

/* Runs it with its stderr discarded. *text gets its stdout, which the caller frees, whatever its
 * exit code is. Returns 0, or -1 if it could not be run. */
int trainer_program_read(const char *const *argv, char **text, struct err *e);

/* Replaces this process by `unet-train ARGV...`; returns, with -1, only if that failed. */
int trainer_program_exec(const char *const *argv, struct err *e);

/* Asks unet-train about a study's network. */
struct model_look {
    /* numbers of trained values, of running means and variances, of tensors */
    int64_t parameters, state, tensors;
    bool of_classes;                    /* the network assigns one class to a whole image */
};

/* Returns 0, or -1 with ERR_CONFIG if the network cannot be built for the size of the study's
 * images, or with init, if the weights of model.init do not fit it. If loud, unet-train prints the
 * reason to stderr. */
int model_look_open(const struct study *study, bool loud, bool init, struct model_look *dst,
                    struct err *e);

/* Examines a data folder, for the defaults of init, the warnings of init, plan and doctor, and for
 * generate, which needs to know whether there are images. */
struct data_look {
    /* Samples and masks that unet-train finds, or where it cannot read them, image files in
     * images/ and masks/. Where images have classes, masks is 0. */
    size_t images, masks;
    /* images for training and for validation if the folder is divided into them, or 0 */
    size_t train, val;
    long classes;         /* number of classes if each image has one; 0: the images have masks */
    bool looked;          /* the masks were examined, and meaning to masks_text describe them */
    enum data_meaning { DATA_FOREGROUND, DATA_ONE_CLASS, DATA_CLASSES, DATA_UNSURE } meaning;
    long mask_classes;    /* the value that data.classes should have */
    char ignore[12], class_file[4096], masks_text[1024];
    char trouble[1024];   /* why unet-train could not read the data, or "" */
    /* Images without a mask of the same stem (the name without its suffix), and masks without an
     * image. This and the next three members are only set if trouble is. */
    size_t unpaired;
    char odd[256];        /* an example of unpaired, as images/NAME or masks/NAME */
    size_t strange;       /* other files in the two folders, which are ignored */
    char stranger[256];   /* an example of them */
    /* How many images unet-train read as a sample, spread evenly over the sorted names, and how
     * many of those it could not read. What follows describes the others. */
    size_t sampled, unreadable;
    long width, height; /* medians */
    long min_width, max_width, min_height, max_height;
    int channels;                /* the largest number that an image has */
    /* numbers of images with 1 or 2 channels, with more channels, and with 16 bits */
    size_t grey, colour, deep;
    /* the range of the images' means over the deviation within them; 0 if scaling each image by
     * itself is not advised */
    double image_spread;
};

/* A data folder, and the folders in it that the settings data.images and data.masks choose, or
 * "". */
struct data_place {
    const char *dir, *images, *masks;
};

/* Counts DIR/images and DIR/masks, or what unet-train finds in another layout, and examines some
 * masks; with_sample more of them, and a sample of the images also where trouble is set, of which
 * unreadable ones are only counted. Then warnings of unet-train are logged. Returns 0, or -1 with
 * unet-train's error (ERR_DATA if the layout is unknown, ERR_CONFIG if several folders may hold the
 * masks). If only files in images/ and masks/ are at fault, it returns 0, and trouble has that
 * error. */
int data_look_open(const struct data_place *place, bool with_sample, struct data_look *dst,
                   struct err *e);
int data_look_count(const struct study *s, struct data_look *dst, struct err *e); /* no sample */

/* Returns why a study with these settings could not train on the data, as far as this look
 * shows, or NULL: masks with a single class, masks whose values mean something other than what
 * is set, or no images for training or validation. */
const char *data_look_complaint(const struct data_look *look, const struct study *s);

/* Finds out what the runs of a study will compute on, from train.backend, the site (the profile of
 * the cluster), and the capabilities of unet-train. Only a job on the nodes can show that their
 * GPUs work (unetctl doctor --gpus N). */
struct compute_look {
    char backend[16];  /* "cuda", "simd" ...; "" if unknown or chosen by another program */
    char text[1024];   /* "the CPU (backend simd): train.backend is cpu"; "" if backend is */
    char problem[512]; /* what is wrong with this choice, or "" */
    const char *remedy; /* what to do about the problem; "" if the problem's text says it */
    bool fatal;        /* the problem would end every run at its start */
};

/* Returns whether unet-train is the trainer, rather than the program of another engine
 * (study.engine) or one that the site names. */
bool compute_look_applies(const struct study *study, const struct site *site);

/* Never fails: if unet-train does not answer, that is the problem. All texts are empty where
 * compute_look_applies returns false. */
void compute_look_open(const struct study *study, const struct site *site,
                       struct compute_look *dst);
