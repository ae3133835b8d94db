/* What generated C uses of <string.h>, to compile it for targets whose C library is not installed.
 */
#ifndef TEST_STRING_H
#define TEST_STRING_H
#include <stddef.h>

void* memcpy(void*, const void*, size_t);
void* memmove(void*, const void*, size_t);
void* memset(void*, int, size_t);

#endif
