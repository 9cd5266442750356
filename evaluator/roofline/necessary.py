"""Tasks all of whose FLOPs are necessary, so that a time below their floor is impossible and not just suspicious.

A task belongs here if its inputs are dense, independent random matrices and every element of their product reaches the
output, so that no algebra removes work: no structure (diagonal, triangular, symmetric), no reduction over the product,
no convolution (Winograd's and Fourier's algorithms need fewer FLOPs than are counted), nothing that saturates.
Strassen's algorithm saves an eighth, which the share of the floor that is refused leaves room for.
"""

# As KernelBench names them; another task set's task of the same number is not meant.
_NECESSARY = (
    "level1/1_Square_matrix_multiplication_",
    "level1/2_Standard_matrix_multiplication_",
    "level1/3_Batched_matrix_multiplication",
    "level1/6_Matmul_with_large_K_dimension_",
    "level1/7_Matmul_with_small_K_dimension_",
    "level1/8_Matmul_with_irregular_shapes_",
    "level1/9_Tall_skinny_matrix_multiplication_",
    "level1/10_3D_tensor_matrix_multiplication",
    "level1/11_4D_tensor_matrix_multiplication",
    "level1/16_Matmul_with_transposed_A",
    "level1/17_Matmul_with_transposed_B",
    "level1/18_Matmul_with_transposed_both",
    "level2/12_Gemm_Multiply_LeakyReLU",
    "level2/76_Gemm_Add_ReLU",
)


def flops_are_necessary(task_id: str) -> bool:
    """Whether a time below the task's FLOPs at the device's peak is to be refused."""
    return task_id in _NECESSARY
