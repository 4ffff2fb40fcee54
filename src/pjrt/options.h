/* options.h - inside pjrt/: the CompileOptionsProto, written in the protobuf wire format by hand.
 * Knows neither clients nor programs. */
#ifndef TT_OPTIONS_H
#define TT_OPTIONS_H
#include "base/arena.h"
#include "base/status.h"
#include <stdint.h>

/* n_replicas x n_partitions programs; one of them may be put on the device with this global id (device_id < 0: the plugin's default).
 * overrides: NULL, or "key=value" lines, sent as env_option_overrides: true and false are bools, digits are
 * integers, digits with a point are doubles, anything else is a string. out_bytes is the caller's to deinit.
 */
TT_MUST_CHECK tt_status tt_options_encode(int64_t device_id, int n_replicas, int n_partitions, const char *overrides, tt_str *out_bytes);
#endif
