/* SPDX-License-Identifier: BSD-3-Clause */
/* CRC-32C (Castagnoli; RFC 3720, appendix B.4), as TFRecord files have it. */
#ifndef UNETCTL_SRC_FORMAT_CRC32C_H
#define UNETCTL_SRC_FORMAT_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* crc: 0 at the start, or what came out for the bytes before. */
uint32_t crc32c(uint32_t crc, const void *data, size_t n);

/* As TFRecord stores it: turned right by 15 bits, plus a constant. */
uint32_t crc32c_mask(uint32_t crc);

#endif
