// boxed.h - what boxed.cpp and typed.cpp share: the frame of a call, and what a row's schema says.
#pragma once
#include "bridge/tensor.h"

namespace tpu {

// ---------------------------------------------------------------- the frame of a call
// All that the flattened arguments point to. No heap for common calls: creating one must cost nothing.
struct Frame {
    static constexpr int kTensors = 16, kWords = 128;
    tt_tensor tensors[kTensors];
    int64_t words[kWords];
    int n_tensors = 0, n_words = 0;
    std::vector<std::unique_ptr<char[]>> heap;
    int device = -1; // of the first tpu tensor

    void *raw(size_t bytes) {
        heap.emplace_back(new char[bytes ? bytes : 1]);
        return heap.back().get();
    }
    tt_tensor *take_tensors(size_t n) {
        if (n + static_cast<size_t>(n_tensors) <= kTensors) {
            auto *first = tensors + n_tensors;
            n_tensors += static_cast<int>(n);
            return first;
        }
        return static_cast<tt_tensor *>(raw(n * sizeof(tt_tensor)));
    }
    template <class T> T *take(size_t n) {
        const size_t need = (n * sizeof(T) + 7) / 8;
        if (need + static_cast<size_t>(n_words) <= kWords) {
            auto *first = words + n_words;
            n_words += static_cast<int>(need);
            return reinterpret_cast<T *>(first);
        }
        return static_cast<T *>(raw(n * sizeof(T)));
    }
    void put(const c10::TensorImpl *impl, tt_tensor *out) {
        fill_tensor(impl, out);
        if (out->storage) {
            const int own = tt_storage_device(out->storage);
            if (C10_UNLIKELY(own != device)) {
                TORCH_CHECK(
                    device < 0,
                    "Expected all tensors to be on the same device, but found at least two devices, tpu:",
                    device, " and tpu:", own, "!");
                device = own;
            }
        }
    }
};

// ---------------------------------------------------------------- the kernel
enum Form { FUNCTIONAL, IN_PLACE, OUT };

struct Boxed final : c10::OperatorKernel {
    const tt_row *row;
    const Form form;
    const char *name;
    int n_args, n_core; // n_core: without the out= arguments
    int n_returns;
    int index_list = -1;        // a Tensor?[] argument
    int n_lowered;              // arguments of the functional form, which the lowering reads
    int dtype_argument = -1;    // out= form of a factory: where the functional form has its dtype
    std::vector<int> written;   // arguments that the op writes, in schema order
    std::vector<int> returned;  // per return: the argument it is, or -1
    bool fills = false, fills_masked = false; // fill_, zero_; masked_fill_
    bool fresh_out = false;     // out= form of an op whose CPU kernel refuses an out that is an input

    Boxed(const tt_row *, Form, const char *name, const c10::FunctionSchema &);
    void operator()(const c10::OperatorHandle &, DispatchKeySet, Stack *);
    int make_targets(const tt_arg *flat, Frame &, tt_tensor **&out) const;

  private:
    void call_row(const c10::OperatorHandle &, Stack *);
    bool serve_by_others(const c10::OperatorHandle &, Stack *) const;
    bool aim_at_outs(const IValue *args, Frame &, tt_call &, tt_tensor **&targets) const;
    void find_dtype_argument();
    void push_results(Stack *, const tt_result *, int n) const;
    void masked_fill_expanded(const c10::OperatorHandle &, Stack *) const;
    void assign_outs(const IValue *args, const tt_result *, int n) const;
    void fail(const c10::OperatorHandle &, Stack *, tt_status) const;
};

void flatten(const IValue &, tt_arg &, Frame &);
Tensor wrap(const tt_result &);
void follow_default_dtype(); // torch.set_default_dtype decides what integer division and factories give
// Writing through a tensor whose elements share memory, or that partly overlaps an input, has no defined result.
void check_target(const Tensor &target);
void check_target(const Tensor &target, const Tensor &input);

// ---- typed.cpp ----
// A kernel that takes the op's arguments as they are, and the boxed one when it fails; none for most ops.
std::optional<torch::CppFunction> make_typed(const char *name, const c10::OperatorHandle &, std::unique_ptr<Boxed> &taken);

} // namespace tpu
