/* map.h - hash map from a 128-bit key to a pointer. Thread-compatible. Keys are hashes already: they are
 * used as they come. A NULL value means "absent", so it cannot be stored. */
#ifndef TT_MAP_H
#define TT_MAP_H
#include "base/hash.h"
#ifdef __cplusplus
extern "C" {
#endif
typedef struct tt_map tt_map;
tt_map *tt_map_create(void);
void tt_map_destroy(tt_map *);                        /* values are not touched */
void *tt_map_find(const tt_map *, tt_hash key);       /* NULL if absent */
void *tt_map_put(tt_map *, tt_hash key, void *value); /* the value replaced, or NULL */
void *tt_map_remove(tt_map *, tt_hash key);           /* the value removed, or NULL */
size_t tt_map_count(const tt_map *);
/* Walks all entries: start with *cursor = 0, returns 0 at the end. Not while the map is changed. */
int tt_map_next(const tt_map *, size_t *cursor, tt_hash *out_key, void **out_value);
#ifdef __cplusplus
}
#endif
#endif
