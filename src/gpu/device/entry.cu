/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels: a thread for an item of a call, or for several in turn. What it does is C, in gpu/worlds.c. */
#include "gpu/call.h"

#define X(name)                                                                                         \
    extern "C" __attribute__((device)) void sti__gpu_##name(const sti__gpu_call *call, int thread);     \
    extern "C" __attribute__((global)) void sti_gpu_##name(sti__gpu_call call) {                        \
        long long thread = (long long)__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() +  \
                           __nvvm_read_ptx_sreg_tid_x();                                                \
        long long all = (long long)__nvvm_read_ptx_sreg_nctaid_x() * __nvvm_read_ptx_sreg_ntid_x();     \
        for (; thread < call.n; thread += all) sti__gpu_##name(&call, (int)thread);                     \
    }
STI__GPU_ENTRIES(X)
