// throw.h - from tt_status to the exception that PyTorch would raise: the one place where errors turn into
// C++. Codes and their Python exceptions: tables/status.def. Knows nothing of ops.
#pragma once
#include "base/status.h"
#include <c10/util/Exception.h>
#include <string>

namespace tpu {

// Consumes the error.
[[noreturn]] inline void raise(tt_status status) {
    const tt_code code = tt_status_code(status);
    std::string text = tt_status_text(status);
    tt_status_free(status);
    switch (code) {
    case TT_OUT_OF_RANGE:
        C10_THROW_ERROR(IndexError, text);
    case TT_VALUE_ERROR:
        C10_THROW_ERROR(ValueError, text);
    case TT_TYPE_ERROR:
        C10_THROW_ERROR(TypeError, text);
    case TT_UNIMPLEMENTED:
        C10_THROW_ERROR(NotImplementedError, text);
    case TT_RESOURCE_EXHAUSTED:
        C10_THROW_ERROR(OutOfMemoryError, text);
    default:
        C10_THROW_ERROR(Error, text);
    }
}

inline void check(tt_status status) {
    if (C10_UNLIKELY(status != nullptr))
        raise(status);
}

// For destructors and noexcept functions.
inline void ignore(tt_status status) {
    tt_status_free(status);
}

} // namespace tpu
