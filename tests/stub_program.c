/* SPDX-License-Identifier: Apache-2.0 */
/* What tools/device_program.py embeds, for a driver that does not look at it. */
extern const char sti_cuda_ptx[], sti_cuda_cubin[];
extern const unsigned long long sti_cuda_ptx_size, sti_cuda_cubin_size;
extern const int sti_cuda_cubin_arch;
const char sti_cuda_ptx[] = "ptx", sti_cuda_cubin[] = "cubin";
const unsigned long long sti_cuda_ptx_size = 3, sti_cuda_cubin_size = 5;
const int sti_cuda_cubin_arch = 90;
