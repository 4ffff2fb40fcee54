/* plugin_options.c - reads the few fields of a CompileOptionsProto that mean something to the engine.
 *
 * Protobuf's wire format by hand; unknown fields are skipped, malformed bytes are an error. */
#include "engine/plugin.h"
#include <stdlib.h>
#include <string.h>

typedef struct wire {
    const uint8_t *at, *end;
} wire;

typedef struct field {
    int number, type; /* 0 varint, 1 64 bits, 2 bytes, 5 32 bits */
    uint64_t value;
    wire bytes;
} field;

static bool read_varint(wire *w, uint64_t *out) {
    uint64_t v = 0;
    for (int shift = 0; shift < 64 && w->at < w->end; shift += 7) {
        uint8_t b = *w->at++;
        v |= (uint64_t)(b & 127) << shift;
        if (!(b & 128)) {
            *out = v;
            return true;
        }
    }
    return false;
}

/* 1: a field; 0: the end; -1: malformed */
static int read_field(wire *w, field *f) {
    uint64_t tag, n;
    if (w->at == w->end)
        return 0;
    if (!read_varint(w, &tag))
        return -1;
    f->number = (int)(tag >> 3);
    f->type = (int)(tag & 7);
    switch (f->type) {
    case 0:
        return read_varint(w, &f->value) ? 1 : -1;
    case 1:
    case 5:
        n = f->type == 1 ? 8 : 4;
        break;
    case 2:
        if (!read_varint(w, &n))
            return -1;
        break;
    default:
        return -1;
    }
    if (n > (uint64_t)(w->end - w->at))
        return -1;
    f->bytes = (wire){w->at, w->at + n};
    w->at += n;
    return 1;
}

static tt_status malformed(void) {
    TT_FAIL(INVALID_ARGUMENT, "the compile options are not a CompileOptionsProto");
}

/* DeviceAssignmentProto: replica_count 1, computation_count 2, repeated computation_devices 3 { packed
 * replica_device_ids 1 } */
static tt_status read_assignment(wire w, eng_options *o) {
    field f;
    int more, capacity = 0;
    while ((more = read_field(&w, &f)) > 0) {
        if (f.number != 3 || f.type != 2)
            continue;
        wire computation = f.bytes;
        field ids;
        int inner;
        while ((inner = read_field(&computation, &ids)) > 0) {
            if (ids.number != 1)
                continue;
            uint64_t id = ids.value;
            bool packed = ids.type == 2;
            while (!packed || ids.bytes.at < ids.bytes.end) {
                if (packed && !read_varint(&ids.bytes, &id))
                    return malformed();
                if (o->n_assigned == capacity) {
                    capacity = capacity ? capacity * 2 : 8;
                    o->assigned = tt_realloc(o->assigned, sizeof(int) * (size_t)capacity);
                }
                o->assigned[o->n_assigned++] = (int)id;
                if (!packed)
                    break;
            }
        }
        if (inner < 0)
            return malformed();
    }
    return more < 0 ? malformed() : TT_OK;
}

/* ExecutableBuildOptionsProto: device_ordinal 1, num_replicas 4, num_partitions 5, device_assignment 9 */
static tt_status read_build_options(wire w, eng_options *o) {
    field f;
    int more;
    while ((more = read_field(&w, &f)) > 0) {
        if (f.number == 1 && f.type == 0)
            o->device_ordinal = (int64_t)f.value;
        else if (f.number == 4 && f.type == 0)
            o->n_replicas = (int64_t)f.value;
        else if (f.number == 5 && f.type == 0)
            o->n_partitions = (int64_t)f.value;
        else if (f.number == 9 && f.type == 2)
            TT_TRY(read_assignment(f.bytes, o));
    }
    return more < 0 ? malformed() : TT_OK;
}

static bool is(wire text, const char *name) {
    size_t n = strlen(name);
    return (size_t)(text.end - text.at) == n && !memcmp(text.at, name, n);
}

/* One entry of env_option_overrides: key 1, value 2 { string 1, bool 2, int 3, double 4 }. */
static tt_status read_override(wire w, eng_options *o) {
    field f;
    int more;
    wire key = {0}, text = {0};
    bool on = false;
    while ((more = read_field(&w, &f)) > 0) {
        if (f.number == 1 && f.type == 2)
            key = f.bytes;
        if (f.number == 2 && f.type == 2) {
            field v;
            wire value = f.bytes;
            while ((more = read_field(&value, &v)) > 0)
                if (v.number == 1 && v.type == 2)
                    text = v.bytes;
                else if (v.number == 2 && v.type == 0)
                    on = v.value;
            if (more < 0)
                return malformed();
        }
    }
    if (more < 0)
        return malformed();
    if (is(key, "kernels")) {
        o->reference = is(text, "reference");
        return TT_OK;
    }
    if (is(key, "xla_allow_excess_precision")) {
        o->excess_precision = on;
        return TT_OK;
    }
    size_t n = (size_t)(key.end - key.at);
    if (n > 4 && !memcmp(key.at, "xla_", 4))
        return TT_OK; /* XLA's own tuning */
    TT_FAIL(INVALID_ARGUMENT, "no such compile option: '%.*s' (the engine knows 'kernels' and 'xla_allow_excess_precision')", (int)n,
            n ? (const char *)key.at : "");
}

tt_status eng_options_parse(const void *data, size_t bytes, eng_options *o) {
    *o = (eng_options){.n_replicas = 1, .n_partitions = 1, .device_ordinal = -1};
    wire w = {data, (const uint8_t *)data + bytes};
    field f;
    int more = 0;
    tt_status status = TT_OK;
    while (bytes && !status && (more = read_field(&w, &f)) > 0) {
        if (f.number == 3 && f.type == 2)
            status = read_build_options(f.bytes, o);
        else if (f.number == 7 && f.type == 2)
            status = read_override(f.bytes, o);
    }
    if (!status && more < 0)
        status = malformed();
    if (!status &&
        (o->n_replicas < 1 || o->n_partitions < 1 || o->n_replicas > 1024 || o->n_partitions > 1024))
        status = TT_ERROR(INVALID_ARGUMENT, "%lld replicas and %lld partitions: expected 1 to 1024 of each",
                          (long long)o->n_replicas, (long long)o->n_partitions);
    if (!status && o->n_assigned && o->n_assigned != o->n_replicas * o->n_partitions)
        status = TT_ERROR(INVALID_ARGUMENT,
                          "the device assignment has %d ids, expected %lld replicas x %lld partitions",
                          o->n_assigned, (long long)o->n_replicas, (long long)o->n_partitions);
    if (status)
        eng_options_deinit(o);
    return status;
}

void eng_options_deinit(eng_options *o) {
    free(o->assigned);
    o->assigned = NULL;
}
