/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/format/crc32c.h"

#include <pthread.h>

#define POLYNOMIAL 0x82f63b78u /* bits reversed */

/* table[k][b] is the CRC of byte b followed by k zero bytes, so that eight bytes are processed
 * at once. */
static uint32_t table[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_table(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        table[0][b] = crc;
    }
    for (int k = 1; k < 8; k++)
        for (int b = 0; b < 256; b++)
            table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 255];
}

uint32_t crc32c(uint32_t crc, const void *data, size_t n)
{
    const unsigned char *p = data;

    pthread_once(&once, fill_table);
    crc = ~crc;
    for (; n >= 8; n -= 8, p += 8)
        crc = table[7][(crc ^ p[0]) & 255] ^ table[6][(crc >> 8 ^ p[1]) & 255] ^
              table[5][(crc >> 16 ^ p[2]) & 255] ^ table[4][crc >> 24 ^ p[3]] ^ table[3][p[4]] ^
              table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
    for (; n > 0; n--, p++)
        crc = crc >> 8 ^ table[0][(crc ^ *p) & 255];
    return ~crc;
}

uint32_t crc32c_mask(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}
