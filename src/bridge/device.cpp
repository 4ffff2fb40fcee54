// device.cpp - the device "tpu" as PyTorch's C++ sees it: allocators, guard with streams and events, hooks,
// generators, fork. Everything rests on run/run.h; must not know any op. Each device has one in-order queue,
// so streams are names for it and waiting for an event of the same device is already true.
#include "bridge/tensor.h"
#include <ATen/EmptyTensor.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/core/GeneratorForPrivateuseone.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <map>
#include <mutex>
#include <pthread.h>

namespace tpu {

// ---------------------------------------------------------------- the runtime
std::atomic<bool> g_started{false};
static std::atomic<bool> g_forked{false};
static thread_local DeviceIndex t_device = 0;

bool forked() {
    return g_forked.load(std::memory_order_relaxed);
}

void start() {
    TORCH_CHECK(
        !forked(),
        "Cannot re-initialize TPU in forked subprocess. To use TPU with multiprocessing, you must use the "
        "'spawn' start method");
    check(tt_runtime_init());
    g_started.store(true, std::memory_order_release);
}

// A child cannot use the parent's queues and threads; only what had started is lost.
static void after_fork() {
    if (!g_started.load())
        return;
    g_forked = true;
    g_started = false;
    tt_runtime_after_fork();
}

DeviceIndex device_count() {
    static const auto count = static_cast<DeviceIndex>(tt_runtime_device_count());
    return count;
}

DeviceIndex current_device() {
    return t_device;
}

static DeviceIndex concrete(DeviceIndex index) {
    if (index < 0)
        return t_device;
    TORCH_CHECK(index < device_count(), "invalid device index ", static_cast<int>(index),
                ": this process has ", static_cast<int>(device_count()), " tpu device",
                device_count() == 1 ? "" : "s", " (TORCH_TPU_VIRTUAL_CHIPS=N gives the embedded engine N)");
    return index;
}

Device resolve(std::optional<Device> device) {
    if (!device)
        return Device(kTPU, t_device);
    TORCH_CHECK(device->type() == kTPU, "expected a tpu device, got ", *device);
    return Device(kTPU, concrete(device->index()));
}

// ---------------------------------------------------------------- storages
// The child of a fork must not touch the core's locks, not even to free.
void storage_deleter(void *storage) {
    if (C10_LIKELY(!forked()))
        tt_storage_release(static_cast<tt_storage *>(storage));
}

c10::DataPtr make_data_ptr(tt_storage *taken) {
    return {reinterpret_cast<void *>(tt_storage_address(taken)), taken, &storage_deleter,
            Device(kTPU, static_cast<DeviceIndex>(tt_storage_device(taken)))};
}

tt_storage *find_storage(const c10::StorageImpl *storage, int64_t *out_byte_offset) {
    const auto address = reinterpret_cast<uint64_t>(storage->data_ptr().get());
    tt_storage *found = tt_storage_find(address, out_byte_offset);
    TORCH_CHECK(found, "this tensor's storage is on tpu but holds no tpu memory (address ", address, ")");
    return found;
}

static tt_storage *create_storage(DeviceIndex device, int64_t bytes) {
    ensure_started();
    if (C10_UNLIKELY(bytes > (int64_t(1) << 26))) {
        tt_memory memory;
        tt_memory_get(device, &memory);
        TORCH_CHECK_WITH(OutOfMemoryError, memory.limit_bytes <= 0 || bytes <= memory.limit_bytes,
                         "tpu out of memory. Tried to allocate ",
                         c10::CachingDeviceAllocator::format_size(bytes), ". tpu:", static_cast<int>(device),
                         " has a total capacity of ",
                         c10::CachingDeviceAllocator::format_size(memory.limit_bytes), " of which ",
                         c10::CachingDeviceAllocator::format_size(memory.live_bytes), " is in use");
    }
    return tt_storage_create(device, bytes);
}

struct DeviceAllocator final : c10::DeviceAllocator {
    c10::DataPtr allocate(size_t bytes) override {
        return make_data_ptr(create_storage(t_device, static_cast<int64_t>(bytes)));
    }
    c10::DeleterFnPtr raw_deleter() const override {
        return nullptr;
    } // data != context: raw_allocate is not possible
    void copy_data(void *, const void *, size_t) const override {
        TORCH_CHECK(false, "tpu memory cannot be copied through raw pointers");
    }
    bool is_simple_data_ptr(const c10::DataPtr &) const override { return false; }
    bool initialized() override { return g_started.load(); }
    void emptyCache(c10::MempoolId_t) override {
        if (g_started)
            check(tt_flush(-1, "empty_cache"));
    }
    void recordStream(const c10::DataPtr &, c10::Stream) override {}
    c10::CachingDeviceAllocator::DeviceStats getDeviceStats(DeviceIndex device) override {
        c10::CachingDeviceAllocator::DeviceStats stats;
        if (!g_started)
            return stats;
        tt_memory memory;
        tt_memory_get(concrete(device), &memory);
        auto &bytes = stats.allocated_bytes[0];
        bytes.current = memory.live_bytes;
        bytes.peak = memory.peak_bytes;
        bytes.allocated = memory.total_allocated;
        bytes.freed = memory.total_allocated - memory.live_bytes;
        stats.reserved_bytes[0] = stats.active_bytes[0] = stats.requested_bytes[0] = bytes;
        auto &count = stats.allocation[0];
        count.current = memory.live_buffers;
        count.allocated = memory.allocations;
        count.freed = memory.frees;
        stats.active[0] = count;
        return stats;
    }
    void resetAccumulatedStats(DeviceIndex) override {
        TORCH_CHECK(false, "tpu keeps no accumulated memory statistics that could be reset");
    }
    void resetPeakStats(DeviceIndex device) override {
        if (g_started)
            tt_memory_reset_peak(concrete(device));
    }
    std::pair<size_t, size_t> getMemoryInfo(DeviceIndex device) {
        ensure_started();
        tt_memory memory;
        tt_memory_get(concrete(device), &memory);
        const int64_t free = std::max<int64_t>(memory.limit_bytes - memory.live_bytes, 0);
        return {static_cast<size_t>(free), static_cast<size_t>(memory.limit_bytes)};
    }
};
static DeviceAllocator g_allocator;
REGISTER_ALLOCATOR(kTPU, &g_allocator)

c10::Allocator *allocator() {
    return &g_allocator;
}

// ---------------------------------------------------------------- tensors
int8_t g_dtypes[64];
int8_t g_scalar_types[TT_N_DTYPES];

void raise_dtype(c10::ScalarType type) {
    throw UnknownDtype({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, c10::str("tpu has no tensors of dtype ", type));
}

void fill_host_scalar(const c10::TensorImpl *impl, tt_tensor *out) {
    TORCH_CHECK(impl->device_type() == c10::DeviceType::CPU && impl->dim() == 0,
                "Expected all tensors to be on the same device, but found at least two devices, ",
                Device(kTPU, t_device), " and ", impl->device(), "!");
    out->storage = nullptr;
    out->offset = 0;
    const void *data = impl->data();
    const int size = tt_dtype_size(out->dtype);
    out->integer = 0;
    out->number[1] = 0;
    out->number[0] = tt_element_get(out->dtype, data);
    if (tt_is_complex(out->dtype)) {
        const auto *imaginary = static_cast<const char *>(data) + size / 2;
        out->number[1] = tt_element_get(tt_dtype_real(out->dtype), imaginary) * (out->conj ? -1 : 1);
    } else if (!tt_is_float(out->dtype)) {
        out->integer = tt_element_get_int(out->dtype, data);
    }
    if (out->neg) {
        out->number[0] = -out->number[0];
        out->number[1] = -out->number[1];
        out->integer = -out->integer;
    }
    out->conj = out->neg = false;
}

Tensor make_tensor(tt_storage *taken, c10::ScalarType type, c10::IntArrayRef sizes,
                   c10::OptionalArrayRef<int64_t> strides) {
    const auto bytes = static_cast<size_t>(tt_storage_bytes(taken));
    auto storage = c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), bytes, make_data_ptr(taken), &g_allocator, /*resizable=*/true);
    auto tensor = at::detail::make_tensor_base<c10::TensorImpl>(c10::Storage(std::move(storage)),
                                                                DispatchKeySet(DispatchKey::PrivateUse1),
                                                                c10::scalarTypeToTypeMeta(type));
    auto *impl = tensor.unsafeGetTensorImpl();
    if (strides)
        impl->set_sizes_and_strides(sizes, *strides);
    else if (sizes.size() != 1 || sizes[0] != 0)
        impl->set_sizes_contiguous(sizes);
    return Tensor(std::move(tensor));
}

static void check_sizes(c10::IntArrayRef sizes) {
    for (const int64_t size : sizes)
        TORCH_CHECK(size >= 0, "Trying to create tensor with negative dimension ", size, ": ", sizes);
    TORCH_CHECK(sizes.size() <= HLO_MAX_RANK, "tpu tensors have at most ", static_cast<int>(HLO_MAX_RANK),
                " dimensions, got ", sizes.size());
}

Tensor empty_on(Device device, c10::IntArrayRef sizes, c10::ScalarType type) {
    check_sizes(sizes);
    const auto dtype = stored_dtype(type);
    const auto bytes = at::detail::computeStorageNbytesContiguous(sizes, c10::elementSize(type));
    tt_storage *storage = create_storage(device.index(), static_cast<int64_t>(bytes));
    tt_storage_hint(storage, dtype, static_cast<int>(sizes.size()), sizes.data());
    return make_tensor(storage, type, sizes, c10::nullopt);
}

// The hint is the shape in memory order, so that a transposed or channels_last tensor decodes as a transpose
// of its storage.
Tensor empty_strided_on(Device device, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                        c10::ScalarType type) {
    check_sizes(sizes);
    const auto dtype = stored_dtype(type);
    const auto bytes = at::detail::computeStorageNbytes(sizes, strides, c10::elementSize(type));
    tt_storage *storage = create_storage(device.index(), static_cast<int64_t>(bytes));
    Tensor tensor = make_tensor(storage, type, sizes, strides);
    if (tensor.unsafeGetTensorImpl()->is_non_overlapping_and_dense()) {
        const int rank = static_cast<int>(sizes.size());
        int order[HLO_MAX_RANK];
        int64_t dims[HLO_MAX_RANK];
        for (int i = 0; i < rank; i++) {
            int at = i;
            for (; at > 0 && strides[order[at - 1]] < strides[i]; at--)
                order[at] = order[at - 1];
            order[at] = i;
        }
        for (int i = 0; i < rank; i++)
            dims[i] = sizes[order[i]];
        tt_storage_hint(storage, dtype, rank, dims);
    }
    return tensor;
}

// ---------------------------------------------------------------- pinned host memory
struct PinnedAllocator final : at::HostAllocator {
    std::mutex mutex;
    std::map<uintptr_t, size_t> live;
    size_t bytes = 0, peak = 0;

    c10::DataPtr allocate(size_t size) override;
    static void release(void *pointer);
    c10::DeleterFnPtr raw_deleter() const override { return &release; }
    void copy_data(void *to, const void *from, size_t size) const override {
        default_copy_data(to, from, size);
    }
    bool record_event(void *, void *, c10::Stream) override { return true; }
    void empty_cache() override {}
    at::HostStats get_stats() override {
        at::HostStats stats;
        std::lock_guard<std::mutex> guard(mutex);
        stats.allocated_bytes.current = static_cast<int64_t>(bytes);
        stats.allocated_bytes.peak = static_cast<int64_t>(peak);
        return stats;
    }
    void reset_accumulated_stats() override {}
    void reset_peak_stats() override {
        std::lock_guard<std::mutex> guard(mutex);
        peak = bytes;
    }
    bool holds(const void *pointer) {
        std::lock_guard<std::mutex> guard(mutex);
        auto it = live.upper_bound(reinterpret_cast<uintptr_t>(pointer));
        if (it == live.begin())
            return false;
        --it;
        return reinterpret_cast<uintptr_t>(pointer) < it->first + it->second;
    }
};
// Leaked: pinned tensors may outlive static destructors.
static PinnedAllocator &pinned() {
    static auto *instance = new PinnedAllocator;
    return *instance;
}
REGISTER_HOST_ALLOCATOR(kTPU, &pinned())

c10::DataPtr PinnedAllocator::allocate(size_t size) {
    void *pointer = nullptr;
    const size_t rounded = (size + 4095) / 4096 * 4096;
    TORCH_CHECK_WITH(OutOfMemoryError, posix_memalign(&pointer, 4096, rounded ? rounded : 4096) == 0,
                     "out of pinned host memory. Tried to allocate ",
                     c10::CachingDeviceAllocator::format_size(size));
    std::lock_guard<std::mutex> guard(mutex);
    live[reinterpret_cast<uintptr_t>(pointer)] = size ? size : 1;
    bytes += size;
    peak = std::max(peak, bytes);
    return {pointer, pointer, &release, Device(c10::DeviceType::CPU)};
}

void PinnedAllocator::release(void *pointer) {
    {
        auto &self = pinned();
        std::lock_guard<std::mutex> guard(self.mutex);
        auto it = self.live.find(reinterpret_cast<uintptr_t>(pointer));
        if (it != self.live.end()) {
            self.bytes -= std::min(self.bytes, it->second);
            self.live.erase(it);
        }
    }
    free(pointer);
}

// ---------------------------------------------------------------- guard, streams, events
constexpr int kStreams = 32;
static thread_local c10::StreamId t_streams[128];

struct Event {
    tt_marker *marker = nullptr;
    DeviceIndex device = 0;
};

struct Guard final : c10::impl::DeviceGuardImplInterface {
    c10::DeviceType type() const override { return kTPU; }
    Device exchangeDevice(Device device) const override {
        const Device old(kTPU, t_device);
        setDevice(device);
        return old;
    }
    Device getDevice() const override { return {kTPU, t_device}; }
    void setDevice(Device device) const override {
        if (device.index() >= 0)
            t_device = concrete(device.index());
    }
    void uncheckedSetDevice(Device device) const noexcept override {
        if (device.index() >= 0)
            t_device = device.index();
    }
    c10::Stream getStream(Device device) const override {
        const auto index = concrete(device.index());
        return c10::Stream(c10::Stream::UNSAFE, Device(kTPU, index), t_streams[index & 127]);
    }
    c10::Stream getDefaultStream(Device device) const override {
        return c10::Stream(c10::Stream::DEFAULT, Device(kTPU, concrete(device.index())));
    }
    c10::Stream getStreamFromGlobalPool(Device device, bool) const override {
        return getNewStream(device, 0);
    }
    c10::Stream getNewStream(Device device, int) const override {
        static std::atomic<int> next{0};
        return c10::Stream(c10::Stream::UNSAFE, Device(kTPU, concrete(device.index())),
                           1 + next++ % kStreams);
    }
    c10::Stream exchangeStream(c10::Stream stream) const override {
        const auto old = getStream(stream.device());
        t_streams[stream.device_index() & 127] = stream.id();
        return old;
    }
    void *getStreamNativeHandle(const c10::Stream) const { return nullptr; }
    DeviceIndex deviceCount() const noexcept override { return device_count(); }
#if __has_include(<c10/core/DeviceCapability.h>)
    c10::DeviceCapability getDeviceCapability(Device) const { return {}; }
#endif
    void destroyEvent(void *event, const DeviceIndex) const noexcept override {
        auto *own = static_cast<Event *>(event);
        if (own && own->marker && !forked())
            tt_marker_destroy(own->marker);
        delete own;
    }
    void record(void **event, const c10::Stream &stream, const DeviceIndex,
                const c10::EventFlag) const override {
        ensure_started();
        if (!*event)
            *event = new Event;
        auto *own = static_cast<Event *>(*event);
        tt_marker *marker = nullptr;
        check(tt_marker_record(stream.device_index(), &marker));
        if (own->marker)
            tt_marker_destroy(own->marker);
        own->marker = marker;
        own->device = stream.device_index();
    }
    // Same device: its queue is in order. Another device: the host waits.
    void block(void *event, const c10::Stream &stream) const override {
        auto *own = static_cast<Event *>(event);
        if (own && own->marker && own->device != stream.device_index())
            check(tt_marker_wait(own->marker, nullptr));
    }
    bool queryEvent(void *event) const override {
        auto *own = static_cast<Event *>(event);
        return !own || !own->marker || tt_marker_done(own->marker);
    }
    bool queryStream(const c10::Stream &stream) const override {
        if (!g_started)
            return true;
        tt_marker *marker = nullptr;
        check(tt_marker_record(stream.device_index(), &marker));
        const bool done = tt_marker_done(marker);
        tt_marker_destroy(marker);
        return done;
    }
    void synchronizeStream(const c10::Stream &stream) const override {
        synchronizeDevice(stream.device_index());
    }
    void synchronizeEvent(void *event) const {
        auto *own = static_cast<Event *>(event);
        if (own && own->marker)
            check(tt_marker_wait(own->marker, nullptr));
    }
    void synchronizeDevice(const DeviceIndex device) const {
        if (forked())
            start(); // raises
        if (g_started)
            check(tt_sync(concrete(device)));
    }
    double elapsedTime(void *from, void *to, const DeviceIndex) const {
        auto *first = static_cast<Event *>(from), *second = static_cast<Event *>(to);
        TORCH_CHECK(first && second && first->marker && second->marker,
                    "Both events must be recorded before calculating elapsed time.");
        uint64_t start_ns = 0, end_ns = 0;
        check(tt_marker_wait(first->marker, &start_ns));
        check(tt_marker_wait(second->marker, &end_ns));
        return (static_cast<double>(end_ns) - static_cast<double>(start_ns)) * 1e-6;
    }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

// ---------------------------------------------------------------- generators
// Counter based: seed and offset say all, so the state is 16 bytes and a number is a function of (seed,
// position).
struct Generator final : c10::GeneratorImpl {
    struct State {
        uint64_t seed = c10::default_rng_seed_val, offset = 0;
    };
    std::shared_ptr<State> state = std::make_shared<State>();

    explicit Generator(DeviceIndex device)
        : GeneratorImpl(Device(kTPU, device), DispatchKeySet(DispatchKey::PrivateUse1)) {}
    void set_current_seed(uint64_t seed) override { *state = {seed, 0}; }
    void set_offset(uint64_t offset) override { state->offset = offset; }
    uint64_t get_offset() const override { return state->offset; }
    uint64_t current_seed() const override { return state->seed; }
    uint64_t seed() override {
        const auto random = c10::detail::getNonDeterministicRandom();
        set_current_seed(random);
        return random;
    }
    void set_state(const c10::TensorImpl &from) override {
        TORCH_CHECK_TYPE(from.layout() == at::kStrided && from.device().is_cpu() &&
                             from.dtype() == caffe2::TypeMeta::Make<uint8_t>(),
                         "expected a torch.ByteTensor, but got ", from.dtype(), " on ", from.device());
        TORCH_CHECK(from.numel() == 16 && from.is_contiguous(),
                    "the state of a tpu generator is 16 contiguous bytes, got ", from.numel());
        memcpy(state.get(), from.data(), sizeof(State));
    }
    c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
        static_assert(sizeof(State) == 16);
        auto to = at::detail::empty_cpu({16}, at::kByte);
        memcpy(to.mutable_data_ptr(), state.get(), sizeof(State));
        return to.getIntrusivePtr();
    }
    void graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl> &from) override {
        auto *other = dynamic_cast<Generator *>(from.get());
        TORCH_CHECK(other, "expected a tpu generator");
        state = other->state;
    }
    c10::intrusive_ptr<c10::GeneratorImpl> graphsafe_get_state() const override {
        auto copy = c10::make_intrusive<Generator>(device().index());
        copy->state = state;
        return copy;
    }
    Generator *clone_impl() const override {
        auto *copy = new Generator(device().index());
        *copy->state = *state;
        return copy;
    }
};

const at::Generator &default_generator(DeviceIndex index) {
    static const auto *all = [] {
        auto *made = new std::vector<at::Generator>;
        for (DeviceIndex i = 0; i < device_count(); i++)
            made->push_back(at::make_generator<Generator>(i));
        return made;
    }();
    return all->at(static_cast<size_t>(concrete(index)));
}

// run/ calls this when a program takes random numbers: reads the counter and moves it on.
void rng_take(void *handle, int device, uint64_t increment, uint64_t *out_seed, uint64_t *out_offset) {
    auto *generator = static_cast<Generator *>(handle);
    if (!generator)
        generator = static_cast<Generator *>(
            default_generator(static_cast<DeviceIndex>(device)).unsafeGetGeneratorImpl());
    std::lock_guard<std::mutex> guard(generator->mutex_);
    *out_seed = generator->state->seed;
    *out_offset = generator->state->offset;
    generator->state->offset += increment;
}

// ---------------------------------------------------------------- hooks
struct Hooks final : at::PrivateUse1HooksInterface {
    bool isBuilt() const override { return true; }
    bool isAvailable() const override { return device_count() > 0; }
    bool hasPrimaryContext(DeviceIndex) const override { return g_started; }
    void init() const override { ensure_started(); }
    DeviceIndex deviceCount() const override { return device_count(); }
    void setCurrentDevice(DeviceIndex device) const override {
        if (device >= 0)
            t_device = concrete(device);
    }
    DeviceIndex getCurrentDevice() const override { return t_device; }
    DeviceIndex exchangeDevice(DeviceIndex device) const override {
        const auto old = t_device;
        setCurrentDevice(device);
        return old;
    }
    DeviceIndex maybeExchangeDevice(DeviceIndex device) const override {
        const auto old = t_device;
        if (device >= 0 && device < device_count())
            t_device = device;
        return old;
    }
    bool isPinnedPtr(const void *pointer) const override { return pinned().holds(pointer); }
    at::Allocator *getPinnedMemoryAllocator() const override { return &pinned(); }
    Device getDeviceFromPtr(void *pointer) const override {
        int64_t offset;
        const auto *storage = tt_storage_find(reinterpret_cast<uint64_t>(pointer), &offset);
        TORCH_CHECK(storage, "this address is no tpu memory");
        return {kTPU, static_cast<DeviceIndex>(tt_storage_device(storage))};
    }
    const at::Generator &getDefaultGenerator(DeviceIndex device) const override {
        return default_generator(device);
    }
    at::Generator getNewGenerator(DeviceIndex device) const override {
        return at::make_generator<Generator>(concrete(device));
    }
    void resizePrivateUse1Bytes(const c10::Storage &storage, size_t bytes) const override {
        int64_t offset;
        auto *impl = storage.unsafeGetStorageImpl();
        check(tt_storage_resize(storage_of(impl, &offset), static_cast<int64_t>(bytes)));
        impl->set_nbytes(bytes);
    }
};

void register_device() {
    for (int i = 0; i < 64; i++)
        g_dtypes[i] = static_cast<int8_t>(tt_dtype_from_torch(i));
    for (int i = 0; i < TT_N_DTYPES; i++)
        g_scalar_types[i] = static_cast<int8_t>(tt_dtype_to_torch(static_cast<tt_dtype>(i)));
    at::RegisterPrivateUse1HooksInterface(new Hooks);
    c10::register_privateuse1_backend("tpu");
    pthread_atfork(nullptr, nullptr, &after_fork);
    tt_rng_set_source(&rng_take);
}

} // namespace tpu
