/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/trainer.h"

#include "src/log.h"
#include "src/sha256.h"
#include "trainer/data/filename.h"
#include "trainer/data/png_file.h"

static const struct cli_option options[] = {{0}};

static int check(const char *path, struct err *e)
{
    char name[FILENAME_TEXT_SIZE], hex[65];
    struct png_pixels img;
    struct sha256 h;

    if (png_file_read(path, PNG_FILE_RAW, &img, e))
        return -1;
    sha256_init(&h);
    sha256_add(&h, img.samples, img.nbytes);
    sha256_finish(&h, hex);
    filename_escape(path, name, sizeof name);
    printf("%s\t%u\t%u\t%d\t%d\t%.16s\n", name, img.width, img.height, img.channels, img.bits, hex);
    if (img.warning[0])
        log_warn("%s: %s", name, img.warning);
    png_pixels_free(&img);
    return 0;
}

static int run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    int nfiles = noperands + nrest, nbad = 0;

    for (int i = 0; i < nfiles; i++)
        if (check(i < noperands ? operands[i] : rest[i - noperands], e)) {
            if (e->code != ERR_DATA || nfiles == 1)
                return -1;
            log_error("%s", e->text);
            nbad++;
        }
    return nbad ? err_set(e, ERR_DATA, "%d of %d files can't be used", nbad, nfiles) : 0;
}

const struct cli_command cmd_data_check = {
    .name = "data check",
    .args = "FILE...",
    .summary = "decode image files and print what is in them",
    .details =
        "One line per file: path, width, height, channels, bits of a sample, first 16 digits of\n"
        "the SHA-256 of the samples, separated by tabs. Samples are row by row, channels\n"
        "interleaved, 16-bit ones big-endian; 1, 2 and 4 bits one sample per byte, not scaled;\n"
        "palettes by index. In a path, a backslash is printed as \\\\, control characters and\n"
        "bytes that are no UTF-8 as \\xNN.\n"
        "Every file is tried; the exit code is 7 if any can't be used.\n\n"
        "  unet-train data check images/*.png\n",
    .options = options,
    .min_operands = 1,
    .max_operands = -1,
    .run = run,
};
