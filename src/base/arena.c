/* arena.c - block arenas, growing text and the mallocs that do not return NULL.
 *
 * Blocks double from 32 KiB (2 KiB) to 4 MiB; a larger request gets a block of its own. Under AddressSanitizer the
 * unused part of each block is poisoned and allocations are kept 16 bytes apart, so overruns and uses after
 * a reset are found. */
#include "base/arena.h"
#include "base/checked.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define POISON(p, n)   ASAN_POISON_MEMORY_REGION((p), (n))
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION((p), (n))
#define RED_ZONE       16
#else
#define POISON(p, n)   ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#define RED_ZONE       0
#endif

enum { FIRST_BLOCK = 32 << 10, SMALL_BLOCK = 2 << 10, LARGEST_STEP = 4 << 20, ALIGN = 16 };

typedef struct block {
    struct block *previous;
    size_t size, used;
    _Alignas(ALIGN) char data[];
} block;

struct tt_arena {
    block *last;
    size_t held;
};

static _Noreturn void out_of_memory(size_t bytes) {
    fprintf(stderr, "torch_tpu: out of host memory (%zu bytes of metadata)\n", bytes);
    abort();
}

void *tt_malloc(size_t bytes) {
    void *p = malloc(bytes ? bytes : 1);
    if (!p)
        out_of_memory(bytes);
    return p;
}

void *tt_malloc_lines(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
    if (!p)
        out_of_memory(bytes);
    return p;
}

void *tt_calloc(size_t n, size_t bytes) {
    void *p = calloc(n ? n : 1, bytes ? bytes : 1);
    if (!p)
        out_of_memory(n * bytes);
    return p;
}

void *tt_realloc(void *old, size_t bytes) {
    void *p = realloc(old, bytes ? bytes : 1);
    if (!p)
        out_of_memory(bytes);
    return p;
}

char *tt_strdup(const char *text) {
    size_t bytes = strlen(text) + 1;
    return memcpy(tt_malloc(bytes), text, bytes);
}

static block *block_new(block *previous, size_t size) {
    size_t bytes;
    if (!tt_add_size(size, sizeof(block), &bytes))
        out_of_memory(size);
    block *b = tt_malloc(bytes);
    b->previous = previous;
    b->size = size;
    b->used = 0;
    POISON(b->data, size);
    return b;
}

static tt_arena *create(size_t first_block) {
    tt_arena *a = tt_malloc(sizeof *a);
    a->last = block_new(NULL, first_block);
    a->held = first_block;
    return a;
}

tt_arena *tt_arena_create(void) {
    return create(FIRST_BLOCK);
}

tt_arena *tt_arena_create_small(void) {
    return create(SMALL_BLOCK);
}

static void pop_block(tt_arena *a) {
    block *b = a->last;
    a->last = b->previous;
    a->held -= b->size;
    UNPOISON(b->data, b->size);
    free(b);
}

void tt_arena_destroy(tt_arena *a) {
    if (!a)
        return;
    while (a->last)
        pop_block(a);
    free(a);
}

void tt_arena_reset(tt_arena *a) {
    while (a->last->previous)
        pop_block(a);
    a->last->used = 0;
    POISON(a->last->data, a->last->size);
}

tt_arena_mark tt_arena_mark_get(tt_arena *a) {
    return (tt_arena_mark){a->last, a->last->used};
}

void tt_arena_rewind(tt_arena *a, tt_arena_mark mark) {
    while (a->last != mark.block && a->last->previous)
        pop_block(a);
    if (a->last == mark.block)
        a->last->used = mark.used;
    POISON(a->last->data + a->last->used, a->last->size - a->last->used);
}

static void grow(tt_arena *a, size_t bytes) {
    size_t size = a->last->size >= LARGEST_STEP ? LARGEST_STEP : a->last->size * 2;
    if (size < bytes)
        size = bytes;
    a->last = block_new(a->last, size);
    a->held += size;
}

void *tt_arena_alloc(tt_arena *a, size_t bytes) {
    size_t rounded;
    if (!tt_add_size(bytes, ALIGN - 1 + RED_ZONE, &rounded))
        out_of_memory(bytes);
    rounded &= ~(size_t)(ALIGN - 1);
    if (a->last->size - a->last->used < rounded)
        grow(a, rounded);
    block *b = a->last;
    char *p = b->data + b->used;
    b->used += rounded;
    UNPOISON(p, bytes);
    return memset(p, 0, bytes);
}

void *tt_arena_copy(tt_arena *a, const void *data, size_t bytes) {
    void *p = tt_arena_alloc(a, bytes);
    if (bytes)
        memcpy(p, data, bytes);
    return p;
}

char *tt_arena_printf(tt_arena *a, const char *format, ...) {
    char small[256];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (n < 0)
        n = 0, small[0] = 0;
    if ((size_t)n < sizeof small)
        return tt_arena_copy(a, small, (size_t)n + 1);
    char *text = tt_arena_alloc(a, (size_t)n + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}

size_t tt_arena_bytes(const tt_arena *a) {
    return a->held;
}

static void str_reserve(tt_str *s, size_t more) {
    size_t need;
    if (!tt_add_size(s->length, more, &need) || !tt_add_size(need, 1, &need))
        out_of_memory(more);
    if (need <= s->capacity)
        return;
    size_t capacity = s->capacity < 64 ? 128 : s->capacity * 2;
    s->capacity = capacity < need ? need : capacity;
    s->data = tt_realloc(s->data, s->capacity);
}

void tt_str_append(tt_str *s, const char *text, size_t length) {
    str_reserve(s, length);
    if (length)
        memcpy(s->data + s->length, text, length);
    s->length += length;
    s->data[s->length] = 0;
}

void tt_str_puts(tt_str *s, const char *text) {
    tt_str_append(s, text, strlen(text));
}

void tt_str_printf(tt_str *s, const char *format, ...) {
    va_list args;
    str_reserve(s, 120);
    va_start(args, format);
    int n = vsnprintf(s->data + s->length, s->capacity - s->length, format, args);
    va_end(args);
    if (n < 0)
        n = 0, s->data[s->length] = 0;
    if ((size_t)n >= s->capacity - s->length) {
        str_reserve(s, (size_t)n);
        va_start(args, format);
        vsnprintf(s->data + s->length, s->capacity - s->length, format, args);
        va_end(args);
    }
    s->length += (size_t)n;
}

char *tt_str_take(tt_str *s) {
    char *text = s->data ? s->data : tt_calloc(1, 1);
    *s = (tt_str){0};
    return text;
}

void tt_str_deinit(tt_str *s) {
    free(s->data);
    *s = (tt_str){0};
}
