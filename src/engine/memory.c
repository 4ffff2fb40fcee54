/* memory.c - the allocator behind buffers and program scratch.
 *
 * Freed blocks wait in lists by size class, so that a training step that frees and takes the same sizes makes
 * no system calls and touches warm pages. Memory goes back to the system in two ways: when the lists hold more than their cap they are
 * emptied, and a block that nobody took for a whole period (5 to 10 seconds) is freed by a thread that lives
 * only while the lists hold much. Large blocks come from mmap on huge pages. A request that the limit or the host
 * cannot satisfy is refused before anything is touched, so the host never has to kill the process. */
#include "engine/memory.h"
#include "base/arena.h"
#include "base/env.h"
#include "engine/engine.h"
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    ALIGN = 64,
    SMALL_MAX = 4096,
    SMALL_CLASSES = SMALL_MAX / ALIGN,
    STEPS = 8,
    N_CLASSES = SMALL_CLASSES + 50 * STEPS
};
static const int64_t MAP_FROM = 1 << 20, HUGE_FROM = 4 << 20, HUGE_PAGE = 2 << 20, ASK_HOST_FROM = 64 << 20;

#ifdef __SANITIZE_ADDRESS__
enum { CACHING = 0 }; /* freed blocks go to the sanitizer, which then finds their late uses */
#else
enum { CACHING = 1 };
#endif

typedef struct free_block {
    struct free_block *next;
} free_block;

struct eng_memory {
    pthread_mutex_t lock;
    int device;
    int64_t cap;
    eng_memory_stats stats;
    free_block *lists[N_CLASSES];        /* the last freed first */
    int count[N_CLASSES], low[N_CLASSES]; /* blocks in a list; the fewest since the last sweep: so many were of no use */
    eng_rows *zeros;                      /* freed blocks that are zero but for few rows, the last freed first */
    int n_zeros;
    eng_memory *next;                    /* sweeper's list */
};

enum { MOST_ZEROS = 256, KEEP = 16 << 20 }; /* what may stay in the lists for ever */
static struct {
    pthread_mutex_t lock; /* before any memory's own */
    eng_memory *first;
    _Atomic bool running;
    _Atomic int period_ms;
} sweeper = {.lock = PTHREAD_MUTEX_INITIALIZER, .period_ms = 5000};

static _Atomic int64_t cached_everywhere; /* bytes in the lists of all devices; each keeps within the same cap */
static _Atomic int64_t allocations; /* of all devices, for TORCH_TPU_FAULT=alloc:N */

/* Rounds up to the size class; false when no block is that large. */
static bool class_of(int64_t bytes, int64_t *out_size, int *out_class) {
    if (bytes <= SMALL_MAX) {
        int64_t units = bytes <= 0 ? 1 : (bytes + ALIGN - 1) / ALIGN;
        *out_size = units * ALIGN;
        *out_class = (int)units - 1;
        return true;
    }
    int e = 63 - __builtin_clzll((unsigned long long)(bytes - 1)); /* 2^e < bytes <= 2^(e+1) */
    if (e >= 60)
        return false;
    int64_t base = (int64_t)1 << e, step = base / STEPS;
    int64_t k = (bytes - base + step - 1) / step; /* 1 .. STEPS */
    *out_size = base + k * step;
    *out_class = SMALL_CLASSES + (e - 12) * STEPS + (int)k - 1;
    return *out_class < N_CLASSES;
}

static void *system_alloc(int64_t size) {
    if (size < MAP_FROM)
        return aligned_alloc(ALIGN, (size_t)size);
    int64_t extra = size >= HUGE_FROM ? HUGE_PAGE : 0;
    char *p = mmap(NULL, (size_t)(size + extra), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    if (extra) {
        char *start = (char *)(((uintptr_t)p + (uintptr_t)extra - 1) & ~((uintptr_t)extra - 1));
        int64_t head = start - p, page = sysconf(_SC_PAGESIZE), tail = (extra - head) & ~(page - 1);
        if (head)
            munmap(p, (size_t)head);
        int64_t kept = (size + page - 1) & ~(page - 1);
        if (tail)
            munmap(start + kept, (size_t)(size + extra - head - kept));
        madvise(start, (size_t)kept, MADV_HUGEPAGE);
        p = start;
    }
    return p;
}

static void system_free(void *p, int64_t size) {
    if (size < MAP_FROM) {
        free(p);
    } else {
        int64_t page = sysconf(_SC_PAGESIZE);
        munmap(p, (size_t)((size + page - 1) & ~(page - 1)));
    }
}

/* ---- what the host has ---- */
static int64_t read_number(const char *path, const char *key) {
    FILE *f = fopen(path, "re");
    if (!f)
        return -1;
    char line[256];
    long long v = -1;
    while (fgets(line, sizeof line, f)) {
        if (!key) {
            if (sscanf(line, "%lld", &v) != 1)
                v = -1; /* "max" */
            break;
        }
        size_t n = strlen(key);
        if (!strncmp(line, key, n) && sscanf(line + n, "%lld", &v) == 1) {
            v *= 1024;
            break;
        }
    }
    fclose(f);
    return v;
}

static int64_t host_total(void) {
    int64_t total = read_number("/proc/meminfo", "MemTotal:");
    int64_t group = read_number("/sys/fs/cgroup/memory.max", NULL);
    if (total < 0)
        total = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    return group > 0 && group < total ? group : total;
}

static int64_t host_available(void) {
    int64_t free_bytes = read_number("/proc/meminfo", "MemAvailable:");
    int64_t group = read_number("/sys/fs/cgroup/memory.max", NULL),
            used = read_number("/sys/fs/cgroup/memory.current", NULL);
    if (group > 0 && used >= 0) {
        int64_t cache =
            read_number("/sys/fs/cgroup/memory.stat", "inactive_file "); /* given back under pressure */
        int64_t left = group - used + (cache > 0 ? cache / 1024 : 0);
        if (free_bytes < 0 || left < free_bytes)
            free_bytes = left;
    }
    return free_bytes < 0 ? INT64_MAX : free_bytes;
}

eng_memory *eng_memory_create(int device, int64_t limit) {
    eng_memory *m = tt_calloc(1, sizeof *m);
    pthread_mutex_init(&m->lock, NULL);
    int64_t total = host_total();
    m->device = device;
    m->stats.limit = limit > 0 ? limit : total;
    m->cap = total / 8 < (int64_t)1 << 30 ? total / 8 : (int64_t)1 << 30;
    pthread_mutex_lock(&sweeper.lock);
    m->next = sweeper.first;
    sweeper.first = m;
    pthread_mutex_unlock(&sweeper.lock);
    return m;
}

static int64_t class_size(int c) {
    if (c < SMALL_CLASSES)
        return (int64_t)(c + 1) * ALIGN;
    int64_t base = (int64_t)1 << ((c - SMALL_CLASSES) / STEPS + 12);
    return base + ((c - SMALL_CLASSES) % STEPS + 1) * (base / STEPS);
}

static void count_cached(eng_memory *m, int64_t bytes) {
    m->stats.cached += bytes;
    atomic_fetch_add_explicit(&cached_everywhere, bytes, memory_order_relaxed);
}

/* Takes the list of class c from its n-th block on, with the lock held. */
static free_block *cut_list(eng_memory *m, int c, int n) {
    free_block **at = &m->lists[c], *rest;
    for (int i = 0; i < n; i++)
        at = &(*at)->next;
    rest = *at;
    *at = NULL;
    count_cached(m, -(m->count[c] - n) * class_size(c));
    m->count[c] = m->low[c] = n;
    return rest;
}

/* The first block of zeros of that class, or NULL; with the lock held. */
static eng_rows *take_zeros(eng_memory *m, int class_) {
    for (eng_rows **at = &m->zeros, *r; (r = *at); at = &r->next)
        if (r->class_ == class_) {
            *at = r->next;
            m->n_zeros--;
            count_cached(m, -class_size(class_));
            return r;
        }
    return NULL;
}

/* Frees the blocks of zeros, or only those that were there at the last sweep. With the lock held. */
static void free_zeros(eng_memory *m, bool all) {
    for (eng_rows **at = &m->zeros, *r; (r = *at);) {
        if (!all && !r->old) {
            r->old = true;
            at = &r->next;
            continue;
        }
        *at = r->next;
        m->n_zeros--;
        count_cached(m, -class_size(r->class_));
        system_free(r->block, class_size(r->class_));
        free(r);
    }
}

static void free_list(free_block *b, int64_t size) {
    for (free_block *next; b; b = next) {
        next = b->next;
        system_free(b, size);
    }
}

static void empty_lists(eng_memory *m) {
    for (int c = 0; c < N_CLASSES && m->stats.cached; c++)
        if (m->lists[c])
            free_list(cut_list(m, c, 0), class_size(c));
    free_zeros(m, true);
}

/* Frees the blocks that stayed in their lists since the last sweep. */
static void sweep(eng_memory *m) {
    int64_t small = 0; /* of the C library, which keeps them unless asked */
    for (int c = 0; c < N_CLASSES; c++) {
        pthread_mutex_lock(&m->lock);
        int unused = m->low[c];
        free_block *rest = unused ? cut_list(m, c, m->count[c] - unused) : NULL;
        m->low[c] = m->count[c];
        pthread_mutex_unlock(&m->lock);
        free_list(rest, class_size(c));
        small += class_size(c) < MAP_FROM ? unused * class_size(c) : 0;
    }
    pthread_mutex_lock(&m->lock);
    free_zeros(m, false);
    pthread_mutex_unlock(&m->lock);
#ifdef __GLIBC__
    if (small > KEEP / 4)
        malloc_trim(0);
#endif
}

static void *sweeper_main(void *argument) {
    (void)argument;
    do {
        do {
            int ms = atomic_load(&sweeper.period_ms);
            nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
            pthread_mutex_lock(&sweeper.lock);
            for (eng_memory *m = sweeper.first; m; m = m->next)
                sweep(m);
            pthread_mutex_unlock(&sweeper.lock);
        } while (atomic_load(&cached_everywhere) > KEEP);
        atomic_store(&sweeper.running, false); /* whoever frees from now on starts another */
    } while (atomic_load(&cached_everywhere) > KEEP && !atomic_exchange(&sweeper.running, true));
    return NULL;
}

static void sweeper_after_fork(void) {
    atomic_store(&sweeper.running, false);
    pthread_mutex_init(&sweeper.lock, NULL);
}

static void sweeper_setup(void) { pthread_atfork(NULL, NULL, sweeper_after_fork); }

static void sweeper_start(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (atomic_exchange(&sweeper.running, true))
        return;
    pthread_once(&once, sweeper_setup);
    pthread_t thread;
    sigset_t all, old; /* signals are the host program's threads' business */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    if (pthread_create(&thread, NULL, sweeper_main, NULL)) {
        atomic_store(&sweeper.running, false); /* the cap still holds */
    } else {
        pthread_setname_np(thread, "tt-memory");
        pthread_detach(thread);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void eng_memory_period(int ms) { atomic_store(&sweeper.period_ms, ms); }

void eng_memory_trim(eng_memory *m) {
    pthread_mutex_lock(&m->lock);
    empty_lists(m);
    pthread_mutex_unlock(&m->lock);
}

void eng_memory_destroy(eng_memory *m) {
    if (!m)
        return;
    pthread_mutex_lock(&sweeper.lock);
    for (eng_memory **at = &sweeper.first; *at; at = &(*at)->next)
        if (*at == m) {
            *at = m->next;
            break;
        }
    pthread_mutex_unlock(&sweeper.lock);
    eng_memory_trim(m);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static const char *size_text(int64_t bytes, char buffer[32]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double v = (double)bytes;
    int u = 0;
    for (; v >= 1024 && u < 6; u++)
        v /= 1024;
    snprintf(buffer, 32, u ? "%.2f %s" : "%.0f %s", v, units[u]);
    return buffer;
}

static tt_status over_limit(eng_memory *m, int64_t bytes) {
    char a[32], b[32], c[32];
    TT_FAIL(RESOURCE_EXHAUSTED, "tpu out of memory. tpu:%d cannot hold %s more (%lld bytes): %s in use of %s",
            m->device, size_text(bytes, a), (long long)bytes, size_text(m->stats.in_use, b),
            size_text(m->stats.limit, c));
}

tt_status eng_memory_check(eng_memory *m, int64_t bytes) {
    if (bytes > m->stats.limit)
        return over_limit(m, bytes);
    return TT_OK;
}

static tt_status check_fault(void) {
    static _Atomic int64_t at = -1; /* 0: none */
    int64_t n = atomic_load_explicit(&at, memory_order_relaxed);
    if (n < 0) {
        const char *text = tt_env_text(TT_ENV_FAULT);
        n = strncmp(text, "alloc:", 6) ? 0 : atoll(text + 6);
        n = n < 0 ? 0 : n;
        atomic_store(&at, n);
    }
    if (n && atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed) + 1 == n)
        TT_FAIL(RESOURCE_EXHAUSTED, "tpu out of memory. Allocation %lld failed on purpose (TORCH_TPU_FAULT)",
                (long long)n);
    return TT_OK;
}

/* From the system; called with the lock held. */
static tt_status alloc_new(eng_memory *m, int64_t bytes, int64_t size, void **out) {
    if (size >= ASK_HOST_FROM) {
        int64_t available = host_available();
        if (size > available && m->stats.cached) {
            empty_lists(m);
            available = host_available();
        }
        if (size > available) {
            char a[32], b[32];
            TT_FAIL(RESOURCE_EXHAUSTED,
                    "tpu out of memory. tpu:%d cannot hold %s more (%lld bytes): the host has %s left", m->device,
                    size_text(bytes, a), (long long)bytes, size_text(available, b));
        }
    }
    *out = system_alloc(size);
    if (!*out) {
        empty_lists(m);
        *out = system_alloc(size);
    }
    if (!*out)
        TT_FAIL(RESOURCE_EXHAUSTED, "tpu out of memory. tpu:%d cannot hold %lld bytes more: the host refused them", m->device,
                (long long)bytes);
    return TT_OK;
}

/* A freed block of the class, or NULL; with the lock held. out_rows NULL: what it holds does not matter. */
static void *take_freed(eng_memory *m, int class_, int64_t bytes, eng_rows **out_rows) {
    eng_rows *zeros = out_rows || !m->lists[class_] ? take_zeros(m, class_) : NULL;
    if (zeros) {
        void *block = zeros->block;
        if (out_rows && zeros->bytes >= bytes)
            *out_rows = zeros;
        else
            free(zeros);
        return block;
    }
    free_block *b = m->lists[class_];
    if (!b)
        return NULL;
    m->lists[class_] = b->next;
    if (--m->count[class_] < m->low[class_])
        m->low[class_] = m->count[class_];
    count_cached(m, -class_size(class_));
    return b;
}

tt_status eng_memory_alloc_rows(eng_memory *m, int64_t bytes, void **out, eng_rows **out_rows) {
    int64_t size;
    int class_;
    *out = NULL;
    if (out_rows)
        *out_rows = NULL;
    TT_TRY(check_fault());
    if (!class_of(bytes, &size, &class_))
        return over_limit(m, bytes);
    pthread_mutex_lock(&m->lock);
    tt_status status = TT_OK;
    if (size > m->stats.limit - m->stats.in_use)
        status = over_limit(m, bytes);
    else if (!(*out = take_freed(m, class_, bytes, out_rows)))
        status = alloc_new(m, bytes, size, out);
    if (!status) {
        m->stats.in_use += size;
        m->stats.n_allocs++;
        m->stats.n_live++;
        if (m->stats.in_use > m->stats.peak)
            m->stats.peak = m->stats.in_use;
        if (size > m->stats.largest)
            m->stats.largest = size;
    }
    pthread_mutex_unlock(&m->lock);
    return status;
}

tt_status eng_memory_alloc(eng_memory *m, int64_t bytes, void **out) { return eng_memory_alloc_rows(m, bytes, out, NULL); }

/* Puts a freed block into a list; with the lock held. Consumes rows. */
static void keep_block(eng_memory *m, void *block, int class_, eng_rows *rows) {
    count_cached(m, class_size(class_));
    if (rows && m->n_zeros < MOST_ZEROS) {
        rows->block = block;
        rows->class_ = class_;
        rows->old = false;
        rows->next = m->zeros;
        m->zeros = rows;
        m->n_zeros++;
        return;
    }
    free(rows);
    free_block *b = block;
    b->next = m->lists[class_];
    m->lists[class_] = b;
    m->count[class_]++;
}

void eng_memory_free_rows(eng_memory *m, void *p, int64_t bytes, eng_rows *rows) {
    int64_t size;
    int class_;
    if (!p || !class_of(bytes, &size, &class_)) {
        free(rows);
        return;
    }
    pthread_mutex_lock(&m->lock);
    m->stats.in_use -= size;
    m->stats.n_live--;
    bool keep = CACHING && size <= m->cap / 2;
    if (keep) {
        if (atomic_load_explicit(&cached_everywhere, memory_order_relaxed) + size > m->cap)
            empty_lists(m);
        keep_block(m, p, class_, rows);
    }
    pthread_mutex_unlock(&m->lock);
    if (!keep) {
        free(rows);
        system_free(p, size);
    } else if (atomic_load_explicit(&cached_everywhere, memory_order_relaxed) > KEEP &&
               !atomic_load_explicit(&sweeper.running, memory_order_relaxed)) {
        sweeper_start();
    }
}

void eng_memory_free(eng_memory *m, void *p, int64_t bytes) { eng_memory_free_rows(m, p, bytes, NULL); }

void eng_memory_stats_get(eng_memory *m, eng_memory_stats *out) {
    pthread_mutex_lock(&m->lock);
    *out = m->stats;
    pthread_mutex_unlock(&m->lock);
}

/* ---- scratch of kernels, per thread ---- */
enum { SET = 5, N_SLOTS = 2 * SET };
typedef struct scratch {
    void *data[N_SLOTS];
    size_t bytes[N_SLOTS];
} scratch;

static _Thread_local scratch *mine;
static _Thread_local int first_slot;
static pthread_key_t scratch_key;
static pthread_once_t scratch_once = PTHREAD_ONCE_INIT;

static void scratch_destroy(void *p) {
    scratch *s = p;
    for (int i = 0; i < N_SLOTS; i++)
        free(s->data[i]);
    free(s);
}

static void scratch_setup(void) {
    pthread_key_create(&scratch_key, scratch_destroy);
}

void eng_scratch_set(int set) { first_slot = set * SET; }

void *eng_scratch(int slot, size_t bytes) {
    if (!mine) {
        pthread_once(&scratch_once, scratch_setup);
        mine = tt_calloc(1, sizeof *mine);
        pthread_setspecific(scratch_key, mine);
    }
    if (slot < 0 || slot >= SET)
        return NULL;
    slot += first_slot;
    if (mine->bytes[slot] < bytes || !mine->data[slot]) {
        size_t size = (bytes + bytes / 4 + 4095) & ~(size_t)4095;
        free(mine->data[slot]);
        mine->data[slot] = size < bytes ? NULL : aligned_alloc(ALIGN, size ? size : 4096);
        mine->bytes[slot] = mine->data[slot] ? size : 0;
    }
    return mine->data[slot];
}

void *eng_scratch_need(int slot, size_t bytes) {
    void *memory = eng_scratch(slot, bytes);
    if (!memory) {
        fprintf(stderr, "torch_tpu engine: no memory for %zu bytes of scratch\n", bytes);
        abort();
    }
    return memory;
}
