/* SPDX-License-Identifier: Apache-2.0 */
/* What a page sends, put together from its pieces and looked at before anybody acts on it. */
#include "server.h"

#include <string.h>

static bool sound(const command *c) {
    for (int k = 0; k < 6; k++)
        if (!(c->x[k] >= -1e9 && c->x[k] <= 1e9)) return false;
    return c->op > 0 && c->op < OP_COUNT;
}

int message_add(message *m, const void *piece, size_t size, bool last, command *out) {
    if (size > sizeof m->data - m->size) return -1;
    if (size) memcpy(m->data + m->size, piece, size);
    m->size += size;
    if (!last) return 0;
    bool whole = m->size == sizeof m->data;
    m->size = 0;
    memcpy(out, m->data, sizeof *out);
    return whole && sound(out) ? 1 : -1;
}
