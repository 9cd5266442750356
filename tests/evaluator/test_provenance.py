"""Whose kernels ran, told from the names that a profiler gives them."""

import pytest

from evaluator.provenance import attribute, qualified_name

OWN = frozenset({"relu_kernel", "my_kernel", "vectorized_elementwise_kernel", "Kernel2", "DtoD", "k"})
OF_TORCH = [
    "Memcpy DtoD (Device -> Device)",
    "Memset (Device)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >"
    "(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)",
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)"
    "::{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>, "
    "4, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, "
    "at::native::memory::StoreWithCast<1> >(int)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)"
    "::{lambda(float)#1}, std::array<char*, 2ul> >(int)",
    "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<4u>, "
    "unsigned int, 2, 128, 1>(at::native::(anonymous namespace)::OpaqueType<4u>*)",
    "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4, long>(long)",
    "void (anonymous namespace)::elementwise_kernel_with_index<int, at::native::arange_cuda_out(c10::Scalar const&)"
    "::{lambda(long)#1}>(int, long*)",
]
FOREIGN = [
    "ampere_sgemm_128x64_nn",
    "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x32_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
    "nvjet_tst_128x128_64x6_1x2_h_bz_coopA_NNT",
    "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x64_16x6_nn_align4>(cutlass_80_tensorop_s1688gemm::Params)",
    "void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float, true, false, false>(float*)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >()",
    "void at::native::unrolled_elementwise_kernel<at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>, 4, "
    "TrivialOffsetCalculator<2, unsigned int>, at::native::memory::LoadWithCast<2>, "
    "at::native::memory::StoreWithCast<1> >(int)",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t<float>, float> >()",
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>(float*, float const*)",
    "triton_poi_fused_add_0",
    "relu_kernel_2(float*)",
    "",
]  # fmt: skip
OWN_TRACED = {
    "relu_kernel": "relu_kernel",
    "my_kernel(float const*, float*, int)": "my_kernel",
    "void my_kernel<float, 4>(float*, int)": "my_kernel",
    "void my_kernel<float, (int)4>(float*, int)": "my_kernel",
    "void my_kernel<Shape<2, (Op)1>, 4>(Shape<2, (Op)1>)": "my_kernel",
    "(anonymous namespace)::my_kernel(float const*, float*, int)": "anonymous::my_kernel",
    "void (anonymous namespace)::my_kernel<4>(float*, int)": "anonymous::my_kernel",
    "void mine::inner::k<float4>(float4*)": "mine::inner::k",
    "my_kernel": "my_kernel",
}


@pytest.mark.parametrize("name", OF_TORCH, ids=lambda name: name[:60])
def test_data_movement_of_torch_is_let_through(name: str) -> None:
    found = attribute(((name, 5.0), ("relu_kernel", 5.0)), OWN)
    assert (found.foreign, found.own_share) == ((), 0.5)
    assert found.kernels[0]["origin"] == "torch"


@pytest.mark.parametrize("name", FOREIGN, ids=lambda name: name[:60])
def test_work_of_others_is_foreign(name: str) -> None:
    found = attribute(((name, 9.0), ("relu_kernel", 1.0)), OWN)
    assert found.foreign == (name,)
    assert found.own_share == pytest.approx(0.1)


@pytest.mark.parametrize("name", FOREIGN[:8], ids=lambda name: name[:60])
def test_a_librarys_kernel_is_nobodys_own_by_its_name(name: str) -> None:
    claimed = OWN | {qualified_name(name).rpartition("::")[2]}
    assert attribute(((name, 9.0),), claimed).foreign == (name,)


@pytest.mark.parametrize("name", OWN_TRACED)
def test_the_submissions_own(name: str) -> None:
    assert qualified_name(name) == OWN_TRACED[name]
    found = attribute(((name, 3.0),), OWN)
    assert (found.own_share, found.foreign) == (1.0, ())


def test_shares_calls_and_order() -> None:
    traced = (
        ("at::cuda::(anonymous namespace)::spin_kernel(long)", 500.0),
        ("relu_kernel", 1.0),
        ("relu_kernel", 2.0),
        ("Memset (Device)", 1.0),
        ("ampere_sgemm_128x64_nn", 6.0),
    )
    found = attribute(traced, OWN)
    assert found.total_ms == pytest.approx(0.01)
    assert found.own_share == pytest.approx(0.3)
    assert found.kernels == (
        {"name": "ampere_sgemm_128x64_nn", "origin": "foreign", "calls": 1, "time_share": 0.6},
        {"name": "relu_kernel", "origin": "own", "calls": 2, "time_share": 0.3},
        {"name": "Memset (Device)", "origin": "torch", "calls": 1, "time_share": 0.1},
    )


def test_only_our_own_spin_is_left_out() -> None:
    assert attribute((("void spin_kernel<1>(long)", 1.0),), frozenset({"spin_kernel"})).own_share == 1.0
    assert attribute((("evil_spin_kernel(long)", 1.0),), OWN).foreign == ("evil_spin_kernel(long)",)


def test_nothing_ran() -> None:
    found = attribute((), OWN)
    assert (found.own_share, found.total_ms, found.kernels) == (0.0, 0.0, ())


def test_lists_and_names_are_bounded() -> None:
    found = attribute(tuple((f"{i}" + "x" * 500, 1.0) for i in range(100)), OWN)
    assert len(found.kernels) == 32
    assert all(len(str(kernel["name"])) == 200 for kernel in found.kernels)
