import torch, sys, os
sys.path.insert(0,"/work/wt/loops/bench")
import torch.nn.functional as F
import cases
from torch_tpu import debug
N=2**16
def n(dt,k=1): return [torch.randn(N,dtype=dt).to("tpu") for _ in range(k)]
for dt in (torch.float32, torch.bfloat16):
    for name,f,a in [("chain6",cases.chain6,n(dt,3)),("chain20",cases.chain20,n(dt)),("gelu",F.gelu,n(dt)),("adamw",cases.adamw,(*n(dt,3),torch.rand(N).to(dt).to("tpu"),torch.tensor(1.0).to("tpu")))]:
        g=torch.compile(f,backend="tpu",dynamic=False)
        sys.stderr.write(f"@@@ {name}_{str(dt).split('.')[1]}\n"); sys.stderr.flush()
        with debug.trace(4):
            g(*a); torch.tpu.synchronize()
