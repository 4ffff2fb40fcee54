/* map.c - open addressing with linear probing; removal shifts back, so there are no tombstones. At most 2/3
 * full. */
#include "base/map.h"
#include "base/arena.h"
#include <stdlib.h>

typedef struct slot {
    tt_hash key;
    void *value; /* NULL: free */
} slot;

struct tt_map {
    slot *slots;
    size_t mask, count;
};

static inline size_t home_of(const tt_map *m, tt_hash key) {
    return (size_t)((key.a ^ key.b) * 0x9E3779B97F4A7C15ull >> 20) & m->mask;
}

tt_map *tt_map_create(void) {
    tt_map *m = tt_calloc(1, sizeof *m);
    m->mask = 15;
    m->slots = tt_calloc(16, sizeof(slot));
    return m;
}

void tt_map_destroy(tt_map *m) {
    if (!m)
        return;
    free(m->slots);
    free(m);
}

static slot *locate(const tt_map *m, tt_hash key) {
    size_t i = home_of(m, key);
    while (m->slots[i].value && !tt_hash_equal(m->slots[i].key, key))
        i = (i + 1) & m->mask;
    return &m->slots[i];
}

void *tt_map_find(const tt_map *m, tt_hash key) {
    return locate(m, key)->value;
}

static void grow(tt_map *m) {
    slot *old = m->slots;
    size_t n = m->mask + 1;
    m->mask = n * 2 - 1;
    m->slots = tt_calloc(n * 2, sizeof(slot));
    for (size_t i = 0; i < n; i++)
        if (old[i].value)
            *locate(m, old[i].key) = old[i];
    free(old);
}

void *tt_map_put(tt_map *m, tt_hash key, void *value) {
    if (!value)
        return tt_map_remove(m, key);
    if ((m->count + 1) * 3 > (m->mask + 1) * 2)
        grow(m);
    slot *s = locate(m, key);
    void *old = s->value;
    m->count += !old;
    *s = (slot){key, value};
    return old;
}

void *tt_map_remove(tt_map *m, tt_hash key) {
    slot *s = locate(m, key);
    void *old = s->value;
    if (!old)
        return NULL;
    m->count--;
    size_t hole = (size_t)(s - m->slots), i = hole;
    for (;;) {
        i = (i + 1) & m->mask;
        if (!m->slots[i].value)
            break;
        /* an entry may fill the hole unless its home lies cyclically in (hole, i] */
        size_t home = home_of(m, m->slots[i].key);
        if (((i - home) & m->mask) >= ((i - hole) & m->mask)) {
            m->slots[hole] = m->slots[i];
            hole = i;
        }
    }
    m->slots[hole].value = NULL;
    return old;
}

size_t tt_map_count(const tt_map *m) {
    return m->count;
}

int tt_map_next(const tt_map *m, size_t *cursor, tt_hash *out_key, void **out_value) {
    for (; *cursor <= m->mask; ++*cursor) {
        const slot *s = &m->slots[*cursor];
        if (!s->value)
            continue;
        *out_key = s->key;
        *out_value = s->value;
        ++*cursor;
        return 1;
    }
    return 0;
}
