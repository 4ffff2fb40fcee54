/* value.c - storages and the immutable values they hold.
 *
 * A storage is what PyTorch's StorageImpl points at; a value is what ops read and make. Addresses shown to PyTorch are unique per
 * live storage and not canonical on x86-64 and arm64, so a host access faults instead of reading other memory. */
#include "run/internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pthread_mutex_t tt_run_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- interned types ---- */
static struct { const hlo_type **table; uint32_t capacity, n; tt_arena *arena; } types;

static uint64_t type_hash(const hlo_type *t) {
    tt_hash h = {(uint64_t)t->dtype, (uint64_t)t->rank};
    for (int i = 0; i < t->rank; i++) tt_hash_word(&h, (uint64_t)t->dims[i]);
    tt_hash_word(&h, (uint64_t)t->dtype << 8 | (uint64_t)t->rank);
    return h.a ^ h.b;
}

static void types_grow(void) {
    uint32_t old = types.capacity;
    const hlo_type **table = types.table;
    types.capacity = old ? 2 * old : 1024;
    types.table = tt_calloc(types.capacity, sizeof *types.table);
    for (uint32_t i = 0; i < old; i++) {
        if (!table[i]) continue;
        uint32_t k = (uint32_t)type_hash(table[i]) & (types.capacity - 1);
        while (types.table[k]) k = (k + 1) & (types.capacity - 1);
        types.table[k] = table[i];
    }
    free(table);
}

const hlo_type *tt_type_intern(const hlo_type *type) {
    if (!types.arena) types.arena = tt_arena_create();
    if (2 * types.n >= types.capacity) types_grow();
    uint32_t k = (uint32_t)type_hash(type) & (types.capacity - 1);
    for (; types.table[k]; k = (k + 1) & (types.capacity - 1))
        if (hlo_type_equal(types.table[k], type)) return types.table[k];
    types.n++;
    return types.table[k] = tt_arena_copy(types.arena, type, sizeof *type);
}

/* ---- values ---- */
static tt_value *free_values; /* linked through `type` */

tt_value *tt_value_create(int device, const hlo_type *interned) {
    tt_value *v = free_values;
    if (v) memcpy(&free_values, &v->type, sizeof(void *));
    else v = tt_malloc_lines(sizeof *v);
    *v = (tt_value){.refs = 1, .device = device, .type = interned};
    return v;
}

void tt_value_release(tt_value *v) {
    if (!v || --v->refs) return;
    if (v->buffer) tt_buffer_release(v->buffer);
    free(v->error);
    memcpy(&v->type, &free_values, sizeof(void *));
    free_values = v;
}

uint64_t tt_values_made_of_buffers;

tt_value *tt_value_of_buffer(int device, const hlo_type *interned, tt_buffer *buffer) {
    tt_values_made_of_buffers++;
    tt_value *v = tt_value_create(device, interned);
    v->buffer = buffer;
    return v;
}

tt_value *tt_value_renew(tt_value *v, tt_buffer *buffer) {
    tt_values_made_of_buffers++;
    v->buffer = buffer;
    v->refs++;
    return v;
}

tt_status tt_value_realize(tt_value *v, const char *reason) {
    if (v->pending) TT_TRY(tt_window_flush(tt_window_of(v->device), reason));
    TT_TRY(tt_value_error(v));
    TT_CHECK(v->buffer, INTERNAL, "a tpu value has no buffer after its window ran");
    return TT_OK;
}

void tt_value_fail(tt_value *v, const tt_error *error) {
    if (v->error || v->buffer) return;
    v->error = tt_strdup(tt_status_text(error));
    v->error_code = tt_status_code(error);
}

tt_status tt_value_error(const tt_value *v) {
    return v->error ? tt_status_make(v->error_code, __FILE__, __LINE__, "%s", v->error) : TT_OK;
}

/* ---- storages: slots in chunks; a slot's number is its address ---- */
enum { CHUNK = 1024, MAX_CHUNKS = 1 << 14, OFFSET_BITS = 37, LOW_BITS = 15 };
static tt_storage *chunks[MAX_CHUNKS];
static uint32_t n_chunks;
static tt_storage *free_storages; /* linked through `value` */

static uint64_t slot_address(uint32_t slot) { /* bit 52 set; slot bits below it at 37, above it at 53 */
    uint64_t low = slot & ((1u << LOW_BITS) - 1), high = slot >> LOW_BITS;
    return UINT64_C(1) << 52 | low << OFFSET_BITS | high << 53;
}

static void chunk_add(void) {
    if (n_chunks == MAX_CHUNKS) { fprintf(stderr, "torch_tpu: more than %d live storages\n", CHUNK * MAX_CHUNKS); abort(); }
    tt_storage *chunk = tt_malloc_lines(CHUNK * sizeof *chunk);
    memset(chunk, 0, CHUNK * sizeof *chunk);
    for (uint32_t i = CHUNK; i-- > 0;) {
        chunk[i].address = slot_address(n_chunks * CHUNK + i + 1);
        memcpy(&chunk[i].value, &free_storages, sizeof(void *));
        free_storages = &chunk[i];
    }
    chunks[n_chunks++] = chunk;
}

tt_storage *tt_storage_create_locked(int device, int64_t bytes) {
    if (!free_storages) chunk_add();
    tt_storage *s = free_storages;
    memcpy(&free_storages, &s->value, sizeof(void *));
    *s = (tt_storage){.refs = 1, .device = device, .bytes = bytes, .address = s->address};
    return s;
}

tt_storage *tt_storage_create(int device, int64_t bytes) {
    tt_lock();
    tt_storage *s = tt_storage_create_locked(device, bytes);
    tt_unlock();
    return s;
}

void tt_storage_hint(tt_storage *s, tt_dtype dtype, int rank, const int64_t *dims) {
    if (rank > HLO_MAX_RANK) return;
    hlo_type type = hlo_type_make(dtype, rank, dims);
    if (hlo_type_bytes(&type) != s->bytes) return;
    tt_lock();
    s->hint = tt_type_intern(&type);
    tt_unlock();
}

void tt_storage_retain(tt_storage *s) {
    tt_lock();
    s->refs++;
    tt_unlock();
}

void tt_storage_release(tt_storage *s) {
    tt_lock();
    if (--s->refs == 0) {
        tt_value_release(s->value);
        memcpy(&s->value, &free_storages, sizeof(void *));
        free_storages = s;
    }
    tt_unlock();
}

void tt_storage_put(tt_storage *s, tt_value *value) {
    tt_value *old = s->value;
    s->value = value;
    s->version++;
    tt_value_release(old);
}

const hlo_type *tt_storage_type_unwritten(const tt_storage *s, tt_dtype dtype) {
    if (s->hint && hlo_type_bytes(s->hint) == s->bytes) return s->hint;
    hlo_type flat = hlo_type_make(dtype, 1, (int64_t[]){s->bytes / tt_dtype_size(dtype)});
    return tt_type_intern(&flat);
}

uint64_t tt_storage_address(const tt_storage *s) { return s->address; }
int64_t tt_storage_bytes(const tt_storage *s) { return s->bytes; }
int tt_storage_device(const tt_storage *s) { return s->device; }
uint64_t tt_storage_version(const tt_storage *s) { return s->version; }

tt_storage *tt_storage_find(uint64_t address, int64_t *out_byte_offset) {
    if (!(address >> 52 & 1) || address >> 62) return NULL;
    uint32_t slot = (uint32_t)(address >> OFFSET_BITS & ((1u << LOW_BITS) - 1)) | (uint32_t)(address >> 53) << LOW_BITS;
    tt_lock();
    tt_storage *s = slot && slot <= n_chunks * CHUNK ? &chunks[(slot - 1) / CHUNK][(slot - 1) % CHUNK] : NULL;
    if (s && !s->refs) s = NULL;
    tt_unlock();
    *out_byte_offset = (int64_t)(address & ((UINT64_C(1) << OFFSET_BITS) - 1));
    return s;
}
