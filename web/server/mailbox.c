/* SPDX-License-Identifier: Apache-2.0 */
/* Frames one way, commands the other. Neither side ever waits for the other to do work. */
#include "server.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void *take(const sti_allocator *a, size_t size) {
    void *p = a->resize(a->context, NULL, 0, size);
    if (p) memset(p, 0, size);
    return p;
}

void give(const sti_allocator *a, void *ptr, size_t size) {
    if (ptr) a->resize(a->context, ptr, size, 0);
}

/* ---- bytes ----------------------------------------------------------------------------------------- */

static bool room(bytes *b, size_t more) {
    if (b->failed || more > SIZE_MAX / 4 - b->size) return b->failed = true, false;
    if (b->data && b->size + more <= b->capacity) return true;
    size_t capacity = 2 * (b->size + more) + 64;
    uint8_t *data = b->allocator->resize(b->allocator->context, b->data, b->capacity, capacity);
    if (!data) return b->failed = true, false;
    b->data = data;
    b->capacity = capacity;
    return true;
}

void *bytes_room(bytes *b, size_t size) {
    if (!room(b, size)) return NULL;
    b->size += size;
    return b->data + b->size - size;
}

void bytes_add(bytes *b, const void *data, size_t size) {
    void *to = size ? bytes_room(b, size) : NULL;
    if (to) memcpy(to, data, size);
}

void bytes_text(bytes *b, const char *text) { bytes_add(b, text, strlen(text)); }

void bytes_print(bytes *b, const char *format, ...) {
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    bytes_text(b, text);
}

void bytes_free(bytes *b) {
    give(b->allocator, b->data, b->capacity);
    *b = (bytes){.allocator = b->allocator};
}

/* ---- frames ---------------------------------------------------------------------------------------- */

bool mailbox_init(mailbox *m, const sti_allocator *allocator) {
    for (int i = 0; i < 3; i++) m->frame[i].allocator = allocator;
    m->back = &m->frame[0];
    m->ready = &m->frame[1];
    m->front = &m->frame[2];
    return pthread_mutex_init(&m->lock, NULL) == 0;
}

void mailbox_free(mailbox *m) {
    for (int i = 0; i < 3; i++) bytes_free(&m->frame[i]);
    pthread_mutex_destroy(&m->lock);
}

static void exchange(bytes **a, bytes **b) {
    bytes *t = *a;
    *a = *b;
    *b = t;
}

void mailbox_publish(mailbox *m) {
    pthread_mutex_lock(&m->lock);
    exchange(&m->back, &m->ready);
    m->fresh = true;
    pthread_mutex_unlock(&m->lock);
}

bool mailbox_take(mailbox *m) {
    pthread_mutex_lock(&m->lock);
    bool fresh = m->fresh;
    if (fresh) exchange(&m->ready, &m->front);
    m->fresh = false;
    pthread_mutex_unlock(&m->lock);
    return fresh;
}

/* ---- commands -------------------------------------------------------------------------------------- */

/* Of these only the newest counts. */
static bool replaces(const command *new, const command *old) {
    if (new->op != old->op) return false;
    switch (new->op) {
    case OP_SEEK: return true;
    case OP_CONTROL:
    case OP_JOINT:
    case OP_OPTION:
    case OP_DRAG:
    case OP_TWIST:
    case OP_SPEED: return new->index == old->index;
    default: return false;
    }
}

void mailbox_send(mailbox *m, const command *c) {
    pthread_mutex_lock(&m->lock);
    int last = (m->first + m->count - 1) % INBOX;
    if (m->count > 0 && replaces(c, &m->inbox[last])) m->inbox[last] = *c;
    else {
        if (m->count == INBOX) { /* nobody listens: the oldest goes */
            m->first = (m->first + 1) % INBOX;
            m->count--;
            m->dropped++;
        }
        m->inbox[(m->first + m->count++) % INBOX] = *c;
    }
    atomic_store(&m->waiting, m->count);
    pthread_mutex_unlock(&m->lock);
}

bool mailbox_receive(mailbox *m, command *c) {
    if (atomic_load_explicit(&m->waiting, memory_order_relaxed) == 0) return false;
    pthread_mutex_lock(&m->lock);
    bool any = m->count > 0;
    if (any) {
        *c = m->inbox[m->first];
        m->first = (m->first + 1) % INBOX;
        m->count--;
    }
    atomic_store(&m->waiting, m->count);
    pthread_mutex_unlock(&m->lock);
    return any;
}
