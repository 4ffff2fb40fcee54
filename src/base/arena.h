/* arena.h - block arenas. Memory lives until the arena is reset or destroyed; nothing is freed singly.
 *
 * Lifetimes in this program: call (thread local, reset when an op's call returns), graph (a pending
 * graph), program (owned by an executable), execute (engine, one per run). Thread-compatible.
 * Out of host memory aborts with a message: tensor data is never taken from an arena. */
#ifndef TT_ARENA_H
#define TT_ARENA_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tt_arena tt_arena;
typedef struct tt_arena_mark { void *block; size_t used; } tt_arena_mark;

tt_arena *tt_arena_create(void);
tt_arena *tt_arena_create_small(void);                  /* for many that live long; resetting one keeps little */
void tt_arena_destroy(tt_arena *);
void tt_arena_reset(tt_arena *);                        /* keeps the first block */
tt_arena_mark tt_arena_mark_get(tt_arena *);
void tt_arena_rewind(tt_arena *, tt_arena_mark);
void *tt_arena_alloc(tt_arena *, size_t bytes);         /* 16-byte aligned, zeroed */
void *tt_arena_copy(tt_arena *, const void *data, size_t bytes);
char *tt_arena_printf(tt_arena *, const char *format, ...) __attribute__((format(printf, 2, 3)));
size_t tt_arena_bytes(const tt_arena *);                /* bytes held */
#define TT_NEW(arena, type) ((type *)tt_arena_alloc((arena), sizeof(type)))
#define TT_NEW_N(arena, type, n) ((type *)tt_arena_alloc((arena), sizeof(type) * (size_t)(n)))

/* Growing text on the heap. init with {0}; deinit frees; take gives the malloc'd, NUL-terminated text away. */
typedef struct tt_str { char *data; size_t length, capacity; } tt_str;
void tt_str_append(tt_str *, const char *text, size_t length);
void tt_str_puts(tt_str *, const char *text);
void tt_str_printf(tt_str *, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *tt_str_take(tt_str *);
void tt_str_deinit(tt_str *);

/* malloc and friends that abort with a message when the host has no memory for metadata. */
void *tt_malloc(size_t bytes);
void *tt_malloc_lines(size_t bytes); /* whole cache lines: small objects by the hundred then cost one miss each, not two */
void *tt_calloc(size_t n, size_t bytes);
void *tt_realloc(void *, size_t bytes);
char *tt_strdup(const char *);

#ifdef __cplusplus
}
#endif
#endif
