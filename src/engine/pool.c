/* pool.c - the engine's thread pool: parallel regions of independent tasks, taken dynamically.
 *
 * Kernels call eng_parallel; nothing else knows of threads. A region is a job on its caller's stack, listed
 * under a spin lock that is held for a few instructions. Idle workers spin some microseconds, then sleep on a
 * futex; so does a caller that waits for its last tasks. Several device threads may open regions at once:
 * workers serve the jobs in order. Workers are kept off the caller's CPU, because a woken worker queued
 * behind a spinning caller is the worst case. */
#include "base/env.h"
#include "engine/engine.h"
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 256, SPIN_NS = 15000, AFFINITY_MAX_THREADS = 16, AFFINITY_PERIOD_NS = 500000 };
enum { LINE = 128 }; /* two cache lines: the prefetcher pulls pairs */

typedef struct job {
    eng_task_fn fn;
    void *context;
    int64_t n_tasks;
    struct job *next;                     /* list, under lock */
    int workers;                          /* inside the job, under lock */
    _Alignas(LINE) _Atomic int64_t taken; /* next task */
    _Alignas(LINE) _Atomic uint32_t left; /* 0: workers may be inside, 1: all have gone */
} job;

static struct {
    _Alignas(LINE) _Atomic uint32_t generation; /* of the job list; what idle workers watch */
    _Alignas(LINE) _Atomic uint32_t sleepers;
    _Alignas(LINE) atomic_flag lock;
    job *first, *last;
    int n_jobs;
    _Alignas(LINE) _Atomic int size, started;
    pthread_mutex_t start_lock;
    pthread_t threads[MAX_THREADS];
    cpu_set_t allowed;
    _Atomic int avoided_cpu;
    _Atomic int64_t avoided_at;
} pool = {.lock = ATOMIC_FLAG_INIT, .start_lock = PTHREAD_MUTEX_INITIALIZER, .avoided_cpu = -1};

static _Thread_local int depth; /* inside a region */
static _Thread_local uint32_t count;

uint32_t eng_parallel_count(void) {
    return count;
}

static inline void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void futex_wait(_Atomic uint32_t *word, uint32_t value) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int n) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

static void lock_list(void) {
    for (int spins = 0; atomic_flag_test_and_set_explicit(&pool.lock, memory_order_acquire); spins++) {
        if (spins < 200)
            relax();
        else
            sched_yield(); /* its holder lost the CPU */
    }
}

static void unlock_list(void) {
    atomic_flag_clear_explicit(&pool.lock, memory_order_release);
}

bool eng_spin_while_equal(_Atomic uint32_t *word, uint32_t value, int64_t ns) {
    int64_t start = 0;
    for (int i = 1; atomic_load_explicit(word, memory_order_acquire) == value; i++) {
        relax();
        if (i % 64)
            continue;
        int64_t t = now_ns();
        if (!start)
            start = t;
        else if (t - start > ns)
            return false;
    }
    return true;
}

static void work(job *j, int worker) {
    depth++;
    int64_t i;
    while ((i = atomic_fetch_add_explicit(&j->taken, 1, memory_order_relaxed)) < j->n_tasks)
        j->fn(j->context, i, worker);
    depth--;
}

/* The first job with tasks left, entered; NULL if there is none. */
static job *enter_job(void) {
    lock_list();
    job *j = pool.first;
    while (j && atomic_load_explicit(&j->taken, memory_order_relaxed) >= j->n_tasks)
        j = j->next;
    if (j)
        j->workers++;
    unlock_list();
    return j;
}

static void leave_job(job *j) {
    lock_list();
    /* The last one out of a job whose owner has unlisted it (workers < 0 then counts those inside) tells the
     * owner. */
    bool tell = --j->workers == INT32_MIN;
    if (tell)
        atomic_store_explicit(&j->left, 1, memory_order_release);
    unlock_list();
    if (tell)
        futex_wake(&j->left, 1); /* the job may be gone by now: waking an address needs nothing to be there */
}

static void *worker_main(void *argument) {
    int worker = (int)(intptr_t)argument;
    uint32_t seen = 0;
    for (;;) {
        job *j = enter_job();
        if (j) {
            work(j, worker);
            leave_job(j);
            continue;
        }
        if (eng_spin_while_equal(&pool.generation, seen, SPIN_NS)) {
            seen = atomic_load_explicit(&pool.generation, memory_order_acquire);
            continue;
        }
        atomic_fetch_add(&pool.sleepers, 1);
        while (atomic_load(&pool.generation) == seen)
            futex_wait(&pool.generation, seen);
        atomic_fetch_sub(&pool.sleepers, 1);
        seen = atomic_load_explicit(&pool.generation, memory_order_acquire);
    }
    return NULL;
}

/* The threads are gone in a forked child; it starts its own when it needs them. */
static void after_fork(void) {
    atomic_store(&pool.started, 0);
    atomic_store(&pool.sleepers, 0);
    atomic_flag_clear(&pool.lock);
    pool.first = pool.last = NULL;
    pool.n_jobs = 0;
    depth = 0;
    pthread_mutex_init(&pool.start_lock, NULL);
}

int eng_pool_size(void) {
    int n = atomic_load_explicit(&pool.size, memory_order_acquire);
    if (n)
        return n;
    pthread_mutex_lock(&pool.start_lock);
    n = atomic_load(&pool.size);
    if (!n) {
        if (sched_getaffinity(0, sizeof pool.allowed, &pool.allowed))
            CPU_ZERO(&pool.allowed);
        int64_t wanted = tt_env_int(TT_ENV_THREADS);
        int cores = CPU_COUNT(&pool.allowed);
        n = wanted > 0            ? (int)(wanted < MAX_THREADS ? wanted : MAX_THREADS)
            : cores < 1           ? 1
            : cores < MAX_THREADS ? cores
                                  : MAX_THREADS;
        pthread_atfork(NULL, NULL, after_fork);
        atomic_store_explicit(&pool.size, n, memory_order_release);
    }
    pthread_mutex_unlock(&pool.start_lock);
    return n;
}

static void start(int size) {
    pthread_mutex_lock(&pool.start_lock);
    if (!atomic_load(&pool.started)) {
        sigset_t all, old; /* signals are the host program's threads' business */
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        int n = 1;
        for (; n < size; n++) {
            if (pthread_create(&pool.threads[n], NULL, worker_main, (void *)(intptr_t)n))
                break; /* fewer threads do the same work */
            char name[16];
            snprintf(name, sizeof name, "tt-pool-%d", n % 10000);
            pthread_setname_np(pool.threads[n], name);
        }
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        atomic_store(&pool.avoided_cpu, -1);
        atomic_store_explicit(&pool.started, n, memory_order_release);
    }
    pthread_mutex_unlock(&pool.start_lock);
}

/* Keeps the workers off this thread's CPU. */
static void avoid_my_cpu(int started) {
    int cpu = sched_getcpu();
    if (started > AFFINITY_MAX_THREADS || cpu < 0 ||
        cpu == atomic_load_explicit(&pool.avoided_cpu, memory_order_relaxed))
        return;
    int64_t t = now_ns(), before = atomic_load_explicit(&pool.avoided_at, memory_order_relaxed);
    if (t - before < AFFINITY_PERIOD_NS || !atomic_compare_exchange_strong(&pool.avoided_at, &before, t))
        return;
    atomic_store_explicit(&pool.avoided_cpu, cpu, memory_order_relaxed);
    cpu_set_t set = pool.allowed;
    if (CPU_COUNT(&set) < started)
        return; /* more threads than CPUs: they have to share */
    CPU_CLR(cpu, &set);
    for (int i = 1; i < started && CPU_COUNT(&set); i++)
        pthread_setaffinity_np(pool.threads[i], sizeof set, &set);
}

static void list_job(job *j) {
    lock_list();
    if (pool.last)
        pool.last->next = j;
    else
        pool.first = j;
    pool.last = j;
    pool.n_jobs++;
    unlock_list();
    atomic_fetch_add(&pool.generation, 1);
}

/* Takes the job off the list, so that no worker can enter any more; true if workers are still inside. */
static bool unlist_job(job *j) {
    lock_list();
    job **at = &pool.first, *previous = NULL;
    while (*at != j) {
        previous = *at;
        at = &(*at)->next;
    }
    *at = j->next;
    if (pool.last == j)
        pool.last = previous;
    pool.n_jobs--;
    bool busy = j->workers > 0;
    if (busy)
        j->workers += INT32_MIN;
    unlock_list();
    return busy;
}

void eng_parallel(int64_t n_tasks, eng_task_fn fn, void *context) {
    int size = eng_pool_size();
    if (n_tasks <= 1 || size == 1 || depth) {
        for (int64_t i = 0; i < n_tasks; i++)
            fn(context, i, 0);
        return;
    }
    int started = atomic_load_explicit(&pool.started, memory_order_acquire);
    if (!started) {
        start(size);
        started = atomic_load(&pool.started);
    }
    count++;
    job j = {.fn = fn, .context = context, .n_tasks = n_tasks};
    avoid_my_cpu(started);
    list_job(&j);
    uint32_t sleepers = atomic_load(&pool.sleepers);
    if (sleepers)
        futex_wake(&pool.generation, n_tasks - 1 < (int64_t)sleepers ? (int)(n_tasks - 1) : (int)sleepers);
    work(&j, 0);
    if (!unlist_job(&j))
        return;
    if (!eng_spin_while_equal(&j.left, 0, SPIN_NS))
        while (!atomic_load_explicit(&j.left, memory_order_acquire))
            futex_wait(&j.left, 0);
}
