/* options.c - CompileOptionsProto, encoded by hand: replica and partition counts, the device assignment and
 * env_option_overrides. Part of pjrt/compile; knows no plugin. Field numbers are those of
 * xla/pjrt/proto/compile_options.proto. */
#include "pjrt/options.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2 };

static void put_varint(tt_str *s, uint64_t v) {
    char bytes[10];
    size_t n = 0;
    do {
        bytes[n] = (char)(v & 127);
        v >>= 7;
        if (v)
            bytes[n] = (char)(bytes[n] | (char)128);
        n++;
    } while (v);
    tt_str_append(s, bytes, n);
}

static void put_int(tt_str *s, int field, int64_t v) {
    put_varint(s, (uint64_t)field << 3 | WIRE_VARINT);
    put_varint(s, (uint64_t)v);
}

static void put_double(tt_str *s, int field, double v) {
    put_varint(s, (uint64_t)field << 3 | WIRE_64);
    tt_str_append(s, (const char *)&v, sizeof v);
}

static void put_bytes(tt_str *s, int field, const void *data, size_t length) {
    put_varint(s, (uint64_t)field << 3 | WIRE_BYTES);
    put_varint(s, length);
    tt_str_append(s, data, length);
}

/* OptionOverrideProto: string_field 1, bool_field 2, int_field 3, double_field 4. */
static void put_override_value(tt_str *s, const char *value, size_t length) {
    char text[64];
    if (length > 0 && length < sizeof text) {
        memcpy(text, value, length);
        text[length] = 0;
        char *end;
        if (!strcmp(text, "true") || !strcmp(text, "false")) {
            put_int(s, 2, text[0] == 't');
            return;
        }
        errno = 0;
        long long i = strtoll(text, &end, 10);
        if (!*end && !errno) {
            put_int(s, 3, i);
            return;
        }
        double d = strtod(text, &end);
        if (!*end && !errno) {
            put_double(s, 4, d);
            return;
        }
    }
    put_bytes(s, 1, value, length);
}

static tt_status put_overrides(tt_str *s, const char *lines) {
    tt_str value = {0}, entry = {0};
    tt_status error = TT_OK;
    while (*lines) {
        size_t length = strcspn(lines, "\n");
        const char *equals = memchr(lines, '=', length);
        if (length && (!equals || equals == lines)) {
            error = TT_ERROR(INVALID_ARGUMENT, "compile option '%.*s' is not key=value",
                             (int)(length > 200 ? 200 : length), lines);
            break;
        }
        if (length) {
            value.length = entry.length = 0;
            put_override_value(&value, equals + 1, length - (size_t)(equals + 1 - lines));
            put_bytes(&entry, 1, lines, (size_t)(equals - lines));
            put_bytes(&entry, 2, value.data, value.length);
            put_bytes(s, 7, entry.data, entry.length);
        }
        lines += length + (lines[length] == '\n');
    }
    tt_str_deinit(&value);
    tt_str_deinit(&entry);
    return error;
}

tt_status tt_options_encode(int64_t device_id, int n_replicas, int n_partitions, const char *overrides, tt_str *out_bytes) {
    tt_str build = {0}, assignment = {0}, computation = {0}, ids = {0};
    *out_bytes = (tt_str){0};
    /* device_ordinal -1 is "unset"; 0 replicas or partitions abort XLA:CPU, so both are always sent. */
    put_int(&build, 1, -1);
    put_int(&build, 4, n_replicas);
    put_int(&build, 5, n_partitions);
    if (device_id >= 0) {
        /* DeviceAssignmentProto: replica_count 1, computation_count 2, computation_devices 3 {packed
         * replica_device_ids 1} */
        put_varint(&ids, (uint64_t)device_id);
        put_bytes(&computation, 1, ids.data, ids.length);
        put_int(&assignment, 1, 1);
        put_int(&assignment, 2, 1);
        put_bytes(&assignment, 3, computation.data, computation.length);
        put_bytes(&build, 9, assignment.data, assignment.length);
    }
    put_bytes(out_bytes, 3, build.data, build.length);
    tt_status error = overrides ? put_overrides(out_bytes, overrides) : TT_OK;
    tt_str_deinit(&build);
    tt_str_deinit(&assignment);
    tt_str_deinit(&computation);
    tt_str_deinit(&ids);
    if (error)
        tt_str_deinit(out_bytes);
    return error;
}
