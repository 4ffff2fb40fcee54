"""torch.compile(backend="tpu"): an FX graph becomes one program.

There is no op table here. AOTAutograd hands over a graph of ATen ops; its calls go through the dispatcher to the same lowerings as
eager ops do, under a capture that records all of them and runs the whole as one program at its end.
"""

import contextlib
import functools
import weakref

import torch

_OPTIONS = {"mode", "options", "name", "custom_module_name"}


def _device_index(values):
    for v in values:
        if isinstance(v, torch.Tensor) and v.device.type == "tpu":
            return v.device.index
    return None


def _graph_device(graph_module, example_inputs):
    """The tpu device a graph works on, or None for a graph that has nothing to do with one."""
    index = _device_index(example_inputs)
    if index is None:
        for node in graph_module.graph.nodes:
            device = node.kwargs.get("device")
            if device is not None and torch.device(device).type == "tpu":
                return torch.device(device).index or torch.tpu.current_device()
    return index


def compile_graph(graph_module, example_inputs, name="graph", excess_precision=True, made=None):
    """Returns a callable over the graph's inputs, as AOTAutograd wants it; a graph without tpu tensors runs as it is. The list `made`
    gets what runs the graph."""
    from torch._functorch.aot_autograd import make_boxed_func

    device = _graph_device(graph_module, example_inputs)
    if device is None:
        return make_boxed_func(graph_module.forward)
    graph = _Graph(graph_module, device, name, excess_precision)
    if made is not None:
        made.append(graph)
    return graph.boxed()


def _drop_tapes(tapes):
    for tape in tapes:
        torch.ops.tpu_bridge.tape_drop(tape)


class _Graph:
    """Runs a graph under a capture; when its arguments are of a kind seen before, plays the tape of that capture instead, so that
    neither the graph nor its ops are called again."""

    _MOST_TAPES = 8

    def __init__(self, graph_module, device, name, excess_precision):
        self.graph_module, self.device, self.name, self.excess_precision = graph_module, device, name, excess_precision
        self.tapes, self.refused = [], 0
        self.taped = None  # what a new tape was made of, where somebody asks
        weakref.finalize(self, _drop_tapes, self.tapes).atexit = False  # at the end of the process they go with all else
        names = {n.target for n in graph_module.graph.nodes if n.op == "get_attr"}
        values = [functools.reduce(getattr, n.split("."), graph_module) for n in sorted(names)]
        self.attributes = [v for v in values if isinstance(v, torch.Tensor)]

    def boxed(self):
        """The callable that AOTAutograd wants: it empties the list of its arguments."""
        ops = torch.ops.tpu_bridge
        play, flush = ops.tape_play.default._op, ops.flush.default._op  # a small kernel takes no longer than a few calls of Python do
        tapes, attributes, capture = self.tapes, self.attributes, self.capture
        at_once = self.name == "inference"  # else what nobody but the list holds may be overwritten by the program: let go of it first

        def boxed(arguments):
            given = [*arguments, *attributes] if attributes else arguments
            for tape in tapes:
                results = play(tape, given, at_once)
                if results is not None:
                    arguments.clear()
                    if not at_once:
                        given = None
                        flush(self.device, "a captured graph ends")
                    return results
            return capture(arguments)

        boxed._boxed_call = True
        return boxed

    def short_cut(self, whole):
        """`whole`, AOTAutograd's callable around this graph, where a small kernel takes no longer than its wrapper does. Where the wrapper is
        seen to hand over its arguments and our results as they are and to write nothing, the tape alone is the call."""
        play, attributes, plain = torch.ops.tpu_bridge.tape_play.default._op, self.attributes, []
        state = lambda tensors: (torch.is_grad_enabled(), *(None if t.is_inference() else t._version for t in tensors))
        same = lambda a, b: len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))
        whole = getattr(whole, "_torchdynamo_orig_callable", whole)  # Dynamo keeps away from what it is given, and so from this
        looks = self._MOST_TAPES

        def call(*arguments):
            nonlocal looks
            for tape in plain:
                results = play(tape, (*arguments, *attributes) if attributes else arguments, True)
                if results is not None:
                    return results
            if not looks or not all(isinstance(a, torch.Tensor) for a in arguments):
                return whole(*arguments)
            looks -= 1
            before, self.taped = state(arguments), ()
            results = whole(*arguments)
            taped, self.taped = self.taped, None
            if taped and same(arguments, taped[0]) and same(results, taped[1]) and before == state(arguments):
                plain.append(self.tapes[-1])
            return results

        return call

    def capture(self, arguments):
        given = [*arguments, *self.attributes]
        ops = torch.ops.tpu_bridge
        taped = self.refused < self._MOST_TAPES and all(isinstance(a, torch.Tensor) for a in arguments)
        ops.capture_begin(self.device, self.name, self.excess_precision)
        finished = False
        try:
            watched = taped and ops.tape_watch(self.device, given)
            results = self.graph_module(*arguments)
            if watched:
                self._keep(ops, given, results)
            given = arguments.clear()  # as above
            finished = True
        finally:
            ops.capture_end(finished)
        return results

    def _keep(self, ops, given, results):
        """Makes a tape of what was captured, if it can be one."""
        tape = -1
        plain = all(r is None or type(r) in (torch.Tensor, torch.nn.Parameter) for r in results)
        if plain and len(self.tapes) < self._MOST_TAPES:
            tape = ops.tape_make(self.device, given, list(results))
        if tape >= 0:
            self.tapes.append(tape)
            if self.taped is not None:
                self.taped = (given[: len(given) - len(self.attributes)], results)
        else:
            self.refused += 1


def tpu(graph_module, example_inputs, **options):
    """The backend "tpu" of torch.compile. `mode` is accepted and changes nothing yet.

    torch.compile(options={"allow_excess_precision": False}) gives the values of eager mode bit for bit. By default, as Inductor does,
    what one op of a fused loop hands to the next in bfloat16 or float16 stays float32; what is stored in memory is rounded.
    Raises TypeError for an option it does not know.
    """
    from torch._dynamo.backends.common import aot_autograd

    _register_device_interface()
    unknown = set(options) - _OPTIONS
    if unknown:
        raise TypeError(f"backend 'tpu' has no option {', '.join(sorted(unknown))}; it takes {', '.join(sorted(_OPTIONS))}")
    chosen = options.get("options") or {}
    unknown = set(chosen) - {"allow_excess_precision"}
    if unknown:
        raise TypeError(f"backend 'tpu' knows options={{'allow_excess_precision': bool}}, not {', '.join(sorted(unknown))}")
    excess_precision = bool(chosen.get("allow_excess_precision", True))
    made = []
    compile_as = {
        kind: functools.partial(compile_graph, name=kind, excess_precision=excess_precision, made=made)
        for kind in ("forward", "backward", "inference")
    }
    compiler = aot_autograd(
        fw_compiler=compile_as["forward"],
        bw_compiler=compile_as["backward"],
        inference_compiler=compile_as["inference"],
        keep_inference_input_mutations=True,  # or an epilogue in Python copies each of them
    )
    _spare_calls(graph_module)
    with contextlib.nullcontext() if _has_symbols(example_inputs) else _whole_interpolations():
        whole = compiler(graph_module, example_inputs)
    return made[0].short_cut(whole) if [g.name for g in made] == ["inference"] else whole


def _has_symbols(values):
    return any(isinstance(s, torch.SymInt) for v in values for s in (v.shape if isinstance(v, torch.Tensor) else (v,)))


@contextlib.contextmanager
def _whole_interpolations():
    """While a graph is traced: PyTorch's decompositions in Python, which make sums of indexed images (and scatters as gradients) of
    interpolations, are put aside for the ops that have lowerings. Not where sizes are symbols, which the shape rules of those do not take."""
    keys = torch._C.DispatchKey.Autograd, torch._C.DispatchKey.CompositeImplicitAutograd
    packets = [getattr(torch.ops.aten, n) for n in dir(torch.ops.aten) if "upsample" in n and not n.endswith("_aa")]
    ops = [getattr(p, o) for p in packets for o in p.overloads()]
    aside = [(op, key, op.py_kernels.pop(key)) for op in ops for key in keys if key in op.py_kernels]
    for op, *_ in aside:
        op._dispatch_cache.clear()
    try:
        yield
    finally:
        for op, key, kernel in aside:
            op.py_kernels[key] = kernel
            op._dispatch_cache.clear()


_spares_overhead = False


def _record_overhead_again(*_):
    """At the end of a compile: what other backends' code has is as it was."""
    global _spares_overhead
    if _spares_overhead:
        torch._dynamo.config.record_runtime_overhead = True
    _spares_overhead = False


def _spare_calls(graph_module):
    """Dynamo's code around a graph makes calls that nothing of ours needs and that cost more than a small kernel: it tells a profiler
    how long arguments take to load, and it looks up the current stream. Without them where they are not asked for."""
    global _spares_overhead
    from torch._dynamo import callback, config

    if getattr(config, "record_runtime_overhead", False) and not torch.autograd.profiler._is_profiler_enabled:
        config.record_runtime_overhead = False  # until the code of this frame is made
        if _record_overhead_again not in callback.callback_handler.end_callbacks:
            callback.callback_handler.register_end_callback(_record_overhead_again)
        _spares_overhead = True
    try:
        from torch._dynamo.graph_bytecode_inputs import index_to_bytecode_constructor as objects
    except ImportError:  # before 2.13
        return
    if len(objects) == 1 and not any("stream" in str(n.target) for n in graph_module.graph.nodes if n.op == "call_function"):
        objects.clear()  # it was the current stream


@functools.cache
def _register_device_interface():
    """Tells Dynamo what device "tpu" has. Its built-in interface, registered lazily, knows neither streams nor events, so ask for
    it first and then replace it."""
    from torch._dynamo import device_interface

    device_interface.get_interface_for_device("tpu")

    class TpuInterface(device_interface.DeviceInterface):
        Event, Stream, device = torch.Event, torch.Stream, torch.tpu.device
        current_device = staticmethod(torch.tpu.current_device)
        set_device = staticmethod(torch.tpu.set_device)
        device_count = staticmethod(torch.tpu.device_count)
        is_available = staticmethod(torch.tpu.is_available)
        synchronize = staticmethod(torch.tpu.synchronize)
        stream = staticmethod(torch.tpu.stream)
        current_stream = staticmethod(torch.tpu.current_stream)
        set_stream = staticmethod(torch.tpu.set_stream)
        get_device_properties = staticmethod(torch.tpu.get_device_properties)

        class Worker:
            set_device = staticmethod(torch.tpu.set_device)
            current_device = staticmethod(torch.tpu.current_device)
            get_device_properties = staticmethod(torch.tpu.get_device_properties)

        @staticmethod
        def exchange_device(index):
            return torch._C._accelerator_exchangeDevice(index)

        @staticmethod
        def maybe_exchange_device(index):
            return torch._C._accelerator_maybeExchangeDevice(index)

        @staticmethod
        def is_dtype_supported(dtype, including_emulation=False):
            return not dtype.is_complex or dtype == torch.complex64

        @staticmethod
        def is_bf16_supported(including_emulation=False):
            return True

        @staticmethod
        def is_triton_capable(device=None):
            return False

        @staticmethod
        def get_compute_capability(device=None):
            return 0

    device_interface.register_interface_for_device("tpu", TpuInterface)
    for i in range(torch.tpu.device_count()):
        device_interface.register_interface_for_device(f"tpu:{i}", TpuInterface)
