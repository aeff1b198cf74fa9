/* SPDX-License-Identifier: Apache-2.0 */
#include <stiction/base.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

const char *sti_version(void) {
    return TEXT(STI_VERSION_MAJOR) "." TEXT(STI_VERSION_MINOR) "." TEXT(STI_VERSION_PATCH);
}
