# SPDX-License-Identifier: Apache-2.0
"""What tools/device_program.py mends in the PTX that LLVM writes."""
import importlib.util
import pathlib

import pytest

spec = importlib.util.spec_from_file_location("device_program", pathlib.Path(__file__).parents[2] / "tools/device_program.py")
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)

FUNCTION = """.func f(
)
{
	mov.u64 	%SPL, __local_depot0;
	cvta.local.u64 	%SP, %SPL;
	add.u64 	%rd1, %SPL, 16;
	add.u64 	%rd2, %SP, 16;
	mov.u64 	%rd3, %rd1;
	add.s64 	%rd3, %rd3, 32;
@
	ret;
}"""


def mended(*lines):
    return tool.with_local_accesses(FUNCTION.replace("@", "\n".join("\t" + line for line in lines)), "f.ptx").split("\n")[9:-2]


def test_accesses_by_local_addresses_say_so():
    assert [x.strip() for x in mended("ld.f64 	%fd1, [%rd3+-32];", "@%p1 st.v2.f64 	[%rd1], {%fd1, %fd2};", "ld.local.f64 	%fd1, [%rd3];",
                                     "ld.f64 	%fd2, [%rd2];", "ld.param.u64 	%rd9, [f_param_0];", "ld.f64 	%fd3, [%rd9];")] == [
        "ld.local.f64 	%fd1, [%rd3+-32];", "@%p1 st.local.v2.f64 	[%rd1], {%fd1, %fd2};", "ld.local.f64 	%fd1, [%rd3];",
        "ld.f64 	%fd2, [%rd2];", "ld.param.u64 	%rd9, [f_param_0];", "ld.f64 	%fd3, [%rd9];"]


@pytest.mark.parametrize("line", ["st.param.b64 	[param0+0], %rd3;", "st.u64 	[%rd9], %rd1;", "ld.local.f64 	%fd1, [%rd2];"])
def test_local_addresses_that_leave_their_function_end_the_build(line):
    with pytest.raises(SystemExit):
        mended(line)
