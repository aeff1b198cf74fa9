/* SPDX-License-Identifier: Apache-2.0 */
#include "solve/kept.h"
#include "solve/solve.h"
#include <string.h>

/* Of one island, in bytes that are saved: then start, col and value follow. */
typedef struct header {
    uint64_t dofs;
    int slot, n, numbers, pad;
} header;

uint64_t sti__kept_dofs(const sti__island *s) {
    uint64_t hash = sti__hash(STI__HASH_SEED, s->dof, sizeof(int) * (size_t)s->n);
    return hash ? hash : 1;
}

/* ---- one island --------------------------------------------------------------------------------------- */

static size_t lay_out(sti__kept *k, int n, int numbers, void *base) {
    sti__cutter c = {base, 0};
    k->value = sti__cut(&c, (size_t)numbers, sizeof(double));
    k->start = sti__cut(&c, (size_t)n + 1, sizeof(int));
    k->col = sti__cut(&c, (size_t)numbers, sizeof(int));
    return c.used;
}

static bool reserve(sti__kept *k, int n, int numbers, const sti_allocator *a) {
    size_t need = lay_out(k, n, numbers, NULL);
    k->n = 0;
    k->ready = false;
    if (!sti__cut_room(a, &k->block, &k->room, need, need / 4)) return false;
    lay_out(k, n, numbers, k->block);
    return true;
}

void sti__kept_free(sti__kept *k, const sti_allocator *a) {
    if (k->block) sti__free_aligned(a, k->block, k->room);
    *k = (sti__kept){0};
}

static void keep(sti__island *s, const sti_allocator *a) {
    sti__kept *k = &s->kept;
    int numbers = s->hstart[s->n];
    if (!reserve(k, s->n, numbers, a)) return;
    memcpy(k->start, s->hstart, sizeof(int) * ((size_t)s->n + 1));
    memcpy(k->col, s->hcol, sizeof(int) * (size_t)numbers);
    memcpy(k->value, s->hvalue, sizeof(double) * (size_t)numbers);
    k->dofs = sti__kept_dofs(s);
    k->n = s->n;
    k->ready = true;
}

bool sti__kept_use(sti__island *s) {
    sti__kept *k = &s->kept;
    if (k->n != s->n || k->dofs != sti__kept_dofs(s)) return false;
    if (k->ready) return true;
    sti_csr H = {k->n, k->n, k->start, k->col, k->value};
    s->pattern = 0; /* the factor is planned for another one */
    if (!s->newton && !(s->newton = sti__chol_create(s->allocator, NULL))) return false;
    if (sti__chol_analyse(s->newton, &H, NULL) != STI_OK) return false;
    return k->ready = sti__chol_factor(s->newton, k->value, NULL, NULL) == STI_OK;
}

/* ---- all ------------------------------------------------------------------------------------------------ */

void sti__workspace_keep(sti_workspace *w) {
    sti__islands *s = w->islands;
    for (int i = 0; s && i < s->room; i++) {
        sti__island *island = &s->island[i];
        if (island->keeping == STI__KEEP_NEW) keep(island, &s->own);
        if (island->keeping == STI__KEEP_NONE) island->kept.n = 0;
        island->keeping = STI__KEEP_OLD;
    }
}

void sti__workspace_forget(sti_workspace *w) {
    for (int i = 0; w->islands && i < w->islands->room; i++) {
        w->islands->island[i].kept.n = 0;
        w->islands->island[i].keeping = STI__KEEP_OLD;
    }
}

static size_t size_of(int n, int numbers) {
    return sizeof(header) + sizeof(int) * ((size_t)n + 1 + (size_t)numbers) +
           sizeof(double) * (size_t)numbers;
}

size_t sti__kept_size(const sti_workspace *w) {
    size_t size = 0;
    for (int i = 0; w->islands && i < w->islands->room; i++) {
        const sti__kept *k = &w->islands->island[i].kept;
        if (k->n) size += size_of(k->n, k->start[k->n]);
    }
    return size;
}

uint64_t sti__kept_hash(const sti_workspace *w, uint64_t hash) {
    for (int i = 0; w->islands && i < w->islands->room; i++) {
        const sti__kept *k = &w->islands->island[i].kept;
        if (k->n) hash = sti__hash(hash, k->value, sizeof(double) * (size_t)k->start[k->n]);
    }
    return hash;
}

static void put(char **at, const void *from, size_t bytes) {
    memcpy(*at, from, bytes);
    *at += bytes;
}

void sti__kept_save(const sti_workspace *w, void *out) {
    char *at = out;
    for (int i = 0; w->islands && i < w->islands->room; i++) {
        const sti__kept *k = &w->islands->island[i].kept;
        if (!k->n) continue;
        header h = {k->dofs, i, k->n, k->start[k->n], 0};
        put(&at, &h, sizeof h);
        put(&at, k->start, sizeof(int) * ((size_t)k->n + 1));
        put(&at, k->col, sizeof(int) * (size_t)h.numbers);
        put(&at, k->value, sizeof(double) * (size_t)h.numbers);
    }
}

/* Rows of a lower triangle, ascending, each with its diagonal at the end. */
static bool is_lower(const sti__kept *k, int n, int numbers) {
    if (k->start[0] != 0 || k->start[n] != numbers) return false;
    for (int i = 0; i < n; i++) {
        if (k->start[i + 1] <= k->start[i] || k->start[i + 1] > numbers) return false;
        for (int j = k->start[i]; j < k->start[i + 1]; j++)
            if (k->col[j] < 0 || (j > k->start[i] && k->col[j] <= k->col[j - 1]) || !isfinite(k->value[j]))
                return false;
        if (k->col[k->start[i + 1] - 1] != i) return false;
    }
    return true;
}

static void take(const char **at, void *to, size_t bytes) {
    memcpy(to, *at, bytes);
    *at += bytes;
}

sti_status sti__kept_load(sti_workspace *w, const void *data, size_t size, int most, sti_error *error) {
    const char *at = data, *end = at + size;
    sti__workspace_forget(w);
    sti__islands *s = size ? sti__workspace_islands(w, error) : NULL;
    if (size && !s) return STI_NO_MEMORY;
    for (header h; at < end;) {
        if ((size_t)(end - at) < sizeof h) break;
        take(&at, &h, sizeof h);
        if (h.slot < 0 || h.slot >= most || h.n <= 0 || h.n > most || h.numbers < 0 ||
            size_of(h.n, h.numbers) - sizeof h > (size_t)(end - at))
            break;
        sti__kept *k = sti__islands_room(s, h.slot + 1) ? &s->island[h.slot].kept : NULL;
        if (!k || !reserve(k, h.n, h.numbers, &s->own)) {
            sti__workspace_forget(w);
            return sti__fail(error, STI_NO_MEMORY, "no memory for the factors of a snapshot");
        }
        take(&at, k->start, sizeof(int) * ((size_t)h.n + 1));
        take(&at, k->col, sizeof(int) * (size_t)h.numbers);
        take(&at, k->value, sizeof(double) * (size_t)h.numbers);
        if (!is_lower(k, h.n, h.numbers)) break;
        k->n = h.n;
        k->dofs = h.dofs;
        if (at == end) return STI_OK;
    }
    sti__workspace_forget(w);
    return size == 0 ? STI_OK : sti__fail(error, STI_FORMAT, "the snapshot is damaged");
}
