/* SPDX-License-Identifier: Apache-2.0 */
#include "solve/warm/kept_factor.h"
#include "solve/solve.h"
#include <limits.h>
#include <string.h>

typedef sti__kept_matrix matrix;

/* ---- the list ------------------------------------------------------------------------------------------- */

static size_t words_of(int n, int numbers) {
    size_t ints = (size_t)n + 1 + (size_t)numbers;
    return sizeof(matrix) / 8 + (size_t)numbers + (ints + 1) / 2;
}

static double *value_of(const matrix *m) { return (double *)(void *)(m + 1); }
static int *start_of(const matrix *m) { return (int *)(void *)(value_of(m) + m->numbers); }
static int *col_of(const matrix *m) { return start_of(m) + m->n + 1; }

/* The one after `m`, the first for NULL; NULL at the end. */
static matrix *next(const sti__kept *k, const matrix *m) {
    char *first = k->data, *at = m ? (char *)m + 8 * (size_t)m->words : first;
    return first && at < first + 8 * (size_t)k->words ? (matrix *)(void *)at : NULL;
}

bool sti__kept_room(sti__kept *k, size_t bytes, const sti_allocator *a) {
    if (bytes <= k->room) return true;
    void *data = sti__alloc_aligned(a, bytes);
    if (!data) return false;
    if (k->words) memcpy(data, k->data, 8 * (size_t)k->words);
    sti__free_aligned(a, k->data, k->room);
    k->data = data;
    k->room = bytes;
    return true;
}

void sti__kept_free(sti__kept *k, const sti_allocator *a) {
    sti__free_aligned(a, k->data, k->room);
    sti__free_aligned(a, k->spare, k->more);
    *k = (sti__kept){0};
}

/* Rows of a lower triangle, ascending, each with its diagonal at the end. */
static bool is_lower(const matrix *m, const char *value, const char *start, const char *col) {
    int begin = 0, end, j, last = -1;
    for (int i = 0; i <= m->n; i++, begin = end) {
        memcpy(&end, start + sizeof(int) * (size_t)i, sizeof end);
        if (i == 0 ? end != 0 : end <= begin || end > m->numbers) return false;
        for (int k = begin; k < end; k++) {
            double x;
            memcpy(&j, col + sizeof(int) * (size_t)k, sizeof j);
            memcpy(&x, value + sizeof x * (size_t)k, sizeof x);
            if (j < 0 || (k > begin && j <= last) || !isfinite(x)) return false;
            last = j;
        }
        if (i > 0 && last != i - 1) return false;
    }
    return begin == m->numbers;
}

bool sti__kept_check(const void *data, size_t bytes, int most) {
    const char *at = data, *end = at + bytes;
    matrix m;
    for (int slot = -1; at < end; at += 8 * (size_t)m.words, slot = m.slot) {
        if ((size_t)(end - at) < sizeof m) return false;
        memcpy(&m, at, sizeof m);
        if (m.slot <= slot || m.slot >= most || m.n <= 0 || m.n > most || m.numbers < m.n || m.words < 0 ||
            words_of(m.n, m.numbers) != (size_t)m.words || 8 * (size_t)m.words > (size_t)(end - at))
            return false;
        const char *value = at + sizeof m, *start = value + sizeof(double) * (size_t)m.numbers;
        if (!is_lower(&m, value, start, start + sizeof(int) * ((size_t)m.n + 1))) return false;
    }
    return bytes / 8 <= INT_MAX;
}

/* ---- one island ----------------------------------------------------------------------------------------- */

static uint64_t dofs_of(const sti__island *s) {
    uint64_t hash = sti__hash(STI__HASH_SEED, s->dof, sizeof(int) * (size_t)s->n);
    return hash ? hash : 1;
}

static void write_matrix(const sti__island *s, int slot, matrix *m) {
    int numbers = s->hstart[s->n];
    *m = (matrix){dofs_of(s), slot, s->n, numbers, (int)words_of(s->n, numbers)};
    ((uint64_t *)(void *)m)[m->words - 1] = 0; /* what follows the last number, if they are odd */
    memcpy(value_of(m), s->hvalue, sizeof(double) * (size_t)numbers);
    memcpy(start_of(m), s->hstart, sizeof(int) * ((size_t)s->n + 1));
    memcpy(col_of(m), s->hcol, sizeof(int) * (size_t)numbers);
}

bool sti__kept_use(sti__island *s) {
    const matrix *m = s->kept;
    if (!m || m->n != s->n || m->dofs != dofs_of(s)) return false;
    if (s->kept_ready) return true;
    sti_csr H = {m->n, m->n, start_of(m), col_of(m), value_of(m)};
    s->pattern = 0; /* the factor is planned for another one */
    if (!s->newton && !(s->newton = sti__chol_create(s->allocator, NULL))) return false;
    if (sti__chol_analyse(s->newton, &H, NULL) != STI_OK) return false;
    return s->kept_ready = sti__chol_factor(s->newton, value_of(m), NULL, NULL) == STI_OK;
}

/* ---- all ------------------------------------------------------------------------------------------------ */

void sti__kept_hand_out(sti__islands *s) {
    for (int i = 0; i < s->room; i++) s->island[i].kept = NULL;
    for (const matrix *m = s->kept ? next(s->kept, NULL) : NULL; m; m = next(s->kept, m))
        if (m->slot < s->room) s->island[m->slot].kept = m;
}

static sti__keeping keeping_of(const sti__islands *s, int slot) {
    return slot < s->room ? s->island[slot].keeping : STI__KEEP_OLD;
}

/* Words of the next list; -1 if it is the one that is there. */
static int64_t count_words(const sti__islands *s) {
    int64_t words = 0;
    bool changes = false;
    for (int i = 0; i < s->room; i++)
        if (s->island[i].keeping == STI__KEEP_NEW) {
            words += (int64_t)words_of(s->island[i].n, s->island[i].hstart[s->island[i].n]);
            changes = true;
        }
    for (const matrix *m = next(s->kept, NULL); m; m = next(s->kept, m)) {
        bool old = keeping_of(s, m->slot) == STI__KEEP_OLD;
        words += old ? m->words : 0;
        changes |= !old;
    }
    return changes ? words : -1;
}

/* Into `spare`, by slot: new ones, and old ones between them. */
static void make_list(const sti__islands *s) {
    const matrix *old = next(s->kept, NULL);
    char *at = s->kept->spare;
    for (int i = 0; i < s->room || old; i++) {
        matrix *to = (matrix *)(void *)at;
        bool here = old && old->slot == i;
        if (keeping_of(s, i) == STI__KEEP_NEW) write_matrix(&s->island[i], i, to);
        else if (here && keeping_of(s, i) == STI__KEEP_OLD) memcpy(to, old, 8 * (size_t)old->words);
        else to = NULL;
        if (to) at += 8 * (size_t)to->words;
        if (here) old = next(s->kept, old);
    }
}

static void swap_list(sti__kept *k, int64_t words) {
    void *data = k->data;
    size_t room = k->room;
    k->data = k->spare;
    k->room = k->more;
    k->spare = data;
    k->more = room;
    k->words = (int)words;
}

/* Both lists become as long: the next one is then made without memory. */
bool sti__workspace_prepare(sti_workspace *w) {
    sti__islands *s = w->islands;
    int64_t words = s && s->kept ? count_words(s) : -1;
    if (words < 0 || words > INT_MAX) return true;
    size_t bytes = sti__mul((size_t)words, 8);
    if (!sti__make_room(&s->own, &s->kept->spare, &s->kept->more, bytes, bytes / 4)) return false;
    if (!sti__kept_room(s->kept, s->kept->more, &s->own)) return false;
    sti__kept_hand_out(s);
    return true;
}

void sti__workspace_retreat(sti_workspace *w) {
    for (int i = 0; w->islands && i < w->islands->room; i++) {
        w->islands->island[i].kept_ready = false; /* its factor may be that of another matrix by now */
        w->islands->island[i].keeping = STI__KEEP_OLD;
    }
}

void sti__workspace_keep(sti_workspace *w) {
    sti__islands *s = w->islands;
    if (!s || !s->kept) return;
    int64_t words = count_words(s);
    if (words > INT_MAX || (words >= 0 && sti__mul((size_t)words, 8) > s->kept->more)) {
        sti__workspace_forget(w); /* there is no room, as after a stage that ran out of memory */
        return;
    }
    if (words >= 0) {
        make_list(s);
        swap_list(s->kept, words);
    }
    for (int i = 0; i < s->room; i++) {
        s->island[i].kept_ready |= s->island[i].keeping == STI__KEEP_NEW;
        s->island[i].keeping = STI__KEEP_OLD;
    }
}

void sti__workspace_forget(sti_workspace *w) {
    if (w->kept) w->kept->words = 0;
    for (int i = 0; w->islands && i < w->islands->room; i++) {
        w->islands->island[i].kept = NULL;
        w->islands->island[i].kept_ready = false;
        w->islands->island[i].keeping = STI__KEEP_OLD;
    }
}
