/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/data/image/image_file.h"

#include <setjmp.h>

#include <jpeglib.h>
#include <jerror.h>

/* Each scan is a pass over the whole picture; progressive files of cameras and encoders have about
 * ten. */
#define MAX_SCANS 100
/* Each component of an 8 x 8 block takes at least one bit. A file whose header claims more pixels
 * than that allows is refused before memory is allocated. */
#define MAX_PIXELS_PER_BYTE 512u

struct jpeg_decoder {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf on_error;
    const char *name;
    struct err *e;
    char *warning;
    size_t warning_size;
};

/* Returns whether libjpeg, as built, does not read this kind of file, which may be sound. */
static bool is_unsupported(int code)
{
    static const int codes[] = {JERR_BAD_PRECISION, JERR_ARITH_NOTIMPL, JERR_SOF_UNSUPPORTED,
                                JERR_CONVERSION_NOTIMPL, JERR_COMPONENT_COUNT, JERR_NOT_COMPILED,
                                JERR_IMAGE_TOO_BIG, JERR_WIDTH_OVERFLOW, JERR_OUT_OF_MEMORY};

    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i] == code)
            return true;
    return false;
}

static void handle_error(j_common_ptr jpeg)
{
    struct jpeg_decoder *d = jpeg->client_data;
    char text[JMSG_LENGTH_MAX];

    jpeg->err->format_message(jpeg, text);
    if (is_unsupported(jpeg->err->msg_code))
        err_set(d->e, ERR_DATA, "%s: a JPEG of a kind that is not read (%s): convert it to PNG",
                d->name, text);
    else
        err_set(d->e, ERR_DATA, "%s: damaged JPEG: %s", d->name, text);
    longjmp(d->on_error, 1);
}

/* Called by libjpeg; level -1 is a warning. libjpeg warns when it replaces missing data. Such a
 * file counts as damaged; only superfluous bytes between markers remain a warning. */
static void handle_message(j_common_ptr jpeg, int level)
{
    struct jpeg_decoder *d = jpeg->client_data;
    char text[JMSG_LENGTH_MAX];

    if (level >= 0)
        return;
    jpeg->err->format_message(jpeg, text);
    if (jpeg->err->msg_code != JWRN_EXTRANEOUS_DATA) {
        err_set(d->e, ERR_DATA, "%s: damaged JPEG: %s", d->name, text);
        longjmp(d->on_error, 1);
    }
    if (d->warning && !d->warning[0])
        snprintf(d->warning, d->warning_size, "%s", text);
}

static void handle_progress(j_common_ptr jpeg)
{
    struct jpeg_decoder *d = jpeg->client_data;

    if (d->jpeg.input_scan_number > MAX_SCANS) {
        err_set(d->e, ERR_DATA, "%s: damaged JPEG: more than %d scans", d->name, MAX_SCANS);
        longjmp(d->on_error, 1);
    }
}

static int read_jpeg_header(struct jpeg_decoder *d, const uint8_t *bytes, size_t nbytes,
                            struct pixels *img)
{
    jpeg_create_decompress(&d->jpeg);
    d->jpeg.client_data = d;
    d->progress.progress_monitor = handle_progress;
    d->jpeg.progress = &d->progress;
    jpeg_mem_src(&d->jpeg, bytes, (unsigned long)nbytes);
    jpeg_save_markers(&d->jpeg, JPEG_APP0 + 1, 0xffff); /* EXIF */
    jpeg_read_header(&d->jpeg, TRUE);
    if (pixels_check_size(d->jpeg.image_width, d->jpeg.image_height, d->name, d->e))
        return -1;
    if ((uint64_t)d->jpeg.image_width * d->jpeg.image_height >
        (uint64_t)nbytes * MAX_PIXELS_PER_BYTE)
        return err_set(d->e, ERR_DATA, "%s: damaged JPEG: claims %u x %u pixels, more than its %zu "
                       "bytes can hold", d->name, d->jpeg.image_width, d->jpeg.image_height,
                       nbytes);
    img->width = d->jpeg.image_width;
    img->height = d->jpeg.image_height;
    return 0;
}

static int read_orientation(const struct jpeg_decompress_struct *j)
{
    for (jpeg_saved_marker_ptr m = j->marker_list; m; m = m->next)
        if (m->data_length > 6 && memcmp(m->data, "Exif\0", 6) == 0)
            return orientation_of_exif(m->data + 6, m->data_length - 6);
    return 1;
}

static int read_jpeg_samples(struct jpeg_decoder *d, struct pixels *img)
{
    struct jpeg_decompress_struct *j = &d->jpeg;

    if (j->jpeg_color_space == JCS_CMYK || j->jpeg_color_space == JCS_YCCK)
        return err_set(d->e, ERR_DATA, "%s: a CMYK JPEG is not supported: convert it to RGB",
                       d->name);
    j->out_color_space = j->jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
    img->source_bits = 8;
    img->orientation = read_orientation(j);
    if (pixels_allocate(img, d->name, j->out_color_space == JCS_RGB ? 3 : 1, 8, d->e))
        return -1;
    /* libjpeg keeps a progressive file as coefficients of two bytes each. */
    j->mem->max_memory_to_use = (long)(3 * img->nbytes + ((size_t)16 << 20));
    jpeg_start_decompress(j);
    size_t stride = img->nbytes / img->height;
    while (j->output_scanline < j->output_height) {
        JSAMPROW row = img->samples + j->output_scanline * stride;
        jpeg_read_scanlines(j, &row, 1);
    }
    jpeg_finish_decompress(j);
    return 0;
}

/* The three handlers above jump back to here, so no local variable is changed after setjmp. */
static int decode_jpeg(struct jpeg_decoder *d, const uint8_t *bytes, size_t nbytes,
                       enum pixels_mode mode, struct pixels *img)
{
    d->jpeg.err = jpeg_std_error(&d->errors);
    d->errors.error_exit = handle_error;
    d->errors.emit_message = handle_message;
    d->jpeg.client_data = d;
    if (setjmp(d->on_error) || read_jpeg_header(d, bytes, nbytes, img))
        return -1;
    return mode == PIXELS_SIZE ? 0 : read_jpeg_samples(d, img);
}

int jpeg_file_decode(const uint8_t *bytes, size_t nbytes, const char *name, enum pixels_mode mode,
                     struct pixels *img, struct err *e)
{
    struct jpeg_decoder d = {
        .name = name, .e = e, .warning = img->warning, .warning_size = sizeof img->warning};

    memset(img, 0, sizeof *img);
    img->pages = 1;
    int rc = decode_jpeg(&d, bytes, nbytes, mode, img);
    jpeg_destroy_decompress(&d.jpeg);
    if (rc)
        pixels_free(img);
    return rc;
}
