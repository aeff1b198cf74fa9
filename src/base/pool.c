/* SPDX-License-Identifier: Apache-2.0 */
/* Workers sleep until a job opens, then take pieces from a shared counter. Where there is a core for each thread they look out for the
   next job for a moment before they sleep: jobs of a step follow each other at once, and to wake takes longer than many of them do. Pieces depend on the
   grain only. A run that finds the pool busy (from inside a task, or another thread) works inline; so does one in a
   child of the process that made the pool, since fork leaves the workers behind. */
#include "base/internal.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define MAX_THREADS 1024
#define LOOKS 2000 /* each 10 to 50 ns */

typedef struct job {
    sti_task_body body;
    void *context;
    int count, grain;
} job;

struct sti_pool {
    sti_allocator allocator;
    pid_t process; /* that has the workers */
    pthread_mutex_t mutex;
    pthread_cond_t opened, emptied;
    job job;
    atomic_ullong generation; /* of the open job; written under the mutex, as is the next */
    atomic_int active;        /* workers inside it */
    bool open, stop;
    int looks; /* before a thread sleeps */
    atomic_flag busy;
    atomic_llong next; /* piece to take */
    int nworker;
    pthread_t worker[];
};

static void run_piece(const job *j, long long piece) {
    long long begin = piece * j->grain, end = begin + j->grain;
    j->body(j->context, (int)begin, (int)(end < j->count ? end : j->count));
}

static void take_pieces(sti_pool *pool, const job *j) {
    long long pieces = ((long long)j->count + j->grain - 1) / j->grain;
    for (;;) {
        long long piece = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (piece >= pieces) return;
        run_piece(j, piece);
    }
}

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void look_for_job(sti_pool *pool, unsigned long long seen) {
    for (int i = 0; i < pool->looks && atomic_load_explicit(&pool->generation, memory_order_relaxed) == seen;
         i++)
        relax();
}

static void look_for_end(sti_pool *pool) {
    for (int i = 0; i < pool->looks && atomic_load_explicit(&pool->active, memory_order_relaxed) > 0; i++)
        relax();
}

static void *work(void *argument) {
    sti_pool *pool = argument;
    unsigned long long seen = 0;
    for (;;) {
        look_for_job(pool, seen);
        pthread_mutex_lock(&pool->mutex);
        while (!pool->stop && (!pool->open || pool->generation == seen))
            pthread_cond_wait(&pool->opened, &pool->mutex);
        if (pool->stop) break;
        seen = pool->generation;
        job j = pool->job;
        pool->active++;
        pthread_mutex_unlock(&pool->mutex);
        take_pieces(pool, &j);
        pthread_mutex_lock(&pool->mutex);
        if (--pool->active == 0) pthread_cond_signal(&pool->emptied);
        pthread_mutex_unlock(&pool->mutex);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

static void run_inline(const job *j) {
    for (long long piece = 0; piece * j->grain < j->count; piece++) run_piece(j, piece);
}

static void run_shared(sti_pool *pool, const job *j) {
    pthread_mutex_lock(&pool->mutex);
    pool->job = *j;
    pool->generation++;
    pool->open = true;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    pthread_cond_broadcast(&pool->opened);
    pthread_mutex_unlock(&pool->mutex);
    take_pieces(pool, j);
    pthread_mutex_lock(&pool->mutex);
    pool->open = false; /* who still sleeps is not waited for */
    pthread_mutex_unlock(&pool->mutex);
    look_for_end(pool);
    pthread_mutex_lock(&pool->mutex);
    while (pool->active > 0) pthread_cond_wait(&pool->emptied, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}

static void pool_run(void *system, int count, int grain, sti_task_body body, void *context) {
    sti_pool *pool = system;
    job j = {body, context, count, grain > 0 ? grain : 1};
    if (count <= 0) return;
    if (pool->nworker == 0 || count <= j.grain || getpid() != pool->process ||
        atomic_flag_test_and_set(&pool->busy)) {
        run_inline(&j);
        return;
    }
    run_shared(pool, &j);
    atomic_flag_clear(&pool->busy);
}

static size_t pool_size(int nworker) { return sizeof(sti_pool) + (size_t)nworker * sizeof(pthread_t); }

static bool init_sync(sti_pool *pool) {
    if (pthread_mutex_init(&pool->mutex, NULL)) return false;
    if (pthread_cond_init(&pool->opened, NULL)) {
        pthread_mutex_destroy(&pool->mutex);
        return false;
    }
    if (pthread_cond_init(&pool->emptied, NULL)) {
        pthread_cond_destroy(&pool->opened);
        pthread_mutex_destroy(&pool->mutex);
        return false;
    }
    return true;
}

/* Stops the first `started` workers. */
static void stop_workers(sti_pool *pool, int started) {
    pthread_mutex_lock(&pool->mutex);
    pool->stop = true;
    pool->generation++;
    pthread_cond_broadcast(&pool->opened);
    pthread_mutex_unlock(&pool->mutex);
    for (int i = 0; i < started; i++) pthread_join(pool->worker[i], NULL);
    pthread_cond_destroy(&pool->emptied);
    pthread_cond_destroy(&pool->opened);
    pthread_mutex_destroy(&pool->mutex);
}

static void dismantle(sti_pool *pool, int started) {
    if (getpid() == pool->process)
        stop_workers(pool, started); /* elsewhere there are none, and the lock may be held */
    sti_allocator allocator = pool->allocator;
    sti__free(&allocator, pool, pool_size(pool->nworker));
}

sti_pool *sti_pool_create(int nthread, const sti_allocator *allocator) {
    if (nthread < 1) nthread = 1;
    if (nthread > MAX_THREADS) nthread = MAX_THREADS;
    sti_pool *pool = sti__alloc(allocator, pool_size(nthread - 1));
    if (!pool) return NULL;
    pool->allocator = *sti__allocator(allocator);
    pool->process = getpid();
    pool->nworker = nthread - 1;
    atomic_flag_clear(&pool->busy);
    atomic_init(&pool->next, 0);
    atomic_init(&pool->generation, 0);
    atomic_init(&pool->active, 0);
    pool->looks = sysconf(_SC_NPROCESSORS_ONLN) >= nthread ? LOOKS : 0;
    if (!init_sync(pool)) {
        sti__free(allocator, pool, pool_size(pool->nworker));
        return NULL;
    }
    for (int i = 0; i < pool->nworker; i++)
        if (pthread_create(&pool->worker[i], NULL, work, pool)) {
            dismantle(pool, i);
            return NULL;
        }
    return pool;
}

void sti_pool_destroy(sti_pool *pool) {
    if (pool) dismantle(pool, pool->nworker);
}

sti_tasks sti_pool_tasks(sti_pool *pool) { return (sti_tasks){pool_run, pool, pool->nworker + 1}; }
