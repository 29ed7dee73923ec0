/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/format/tfrecord.h"

#include "t/tap.h"

int main(void)
{
    unsigned char bytes[32] = {0};

    is_int(crc32c(0, "123456789", 9), 0xe3069283, "the check value of the polynomial");
    is_int(crc32c(0, bytes, 32), 0x8a9136aa, "RFC 3720: 32 zeros");
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    is_int(crc32c(0, bytes, 32), 0x46dd794e, "RFC 3720: 0 to 31");
    is_int(crc32c(0, "", 0), 0, "the CRC of no bytes");
    is_int(crc32c_mask(crc32c(0, "123456789", 9)), 0xc78ab0e5, "the masked check value");
    return done_testing();
}
