/* SPDX-License-Identifier: BSD-3-Clause */
/* CRC-32C (Castagnoli; RFC 3720, appendix B.4), as TFRecord files have it. */
#ifndef UNETCTL_SRC_FORMAT_CRC32C_H
#define UNETCTL_SRC_FORMAT_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Returns the CRC of more data. crc is 0 at first, then the previous result. */
uint32_t crc32c(uint32_t crc, const void *data, size_t n);

/* Returns the form that TFRecord stores: rotated right by 15 bits, plus a constant. */
uint32_t crc32c_mask(uint32_t crc);

#endif
