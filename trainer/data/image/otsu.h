/* SPDX-License-Identifier: BSD-3-Clause */
/* Otsu's threshold (IEEE Trans. SMC 9, 1979): what separates bright from dark best in one picture.
 * A network that is not clearly better than this has learnt nothing. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_OTSU_H
#define UNETCTL_TRAINER_DATA_IMAGE_OTSU_H

#include <stddef.h>
#include <stdint.h>

/* Grey value t that maximizes the variance between the values <= t and those above, the lowest such
 * t. 255 for a picture of one value: nothing is above. */
int otsu_threshold(const uint8_t *grey, size_t n);

#endif
