// Every kernel, as one module.
#include "abi.h"
#include "attention.cuh"
#include "norm.cuh"
#include "product.cuh"
#include "rotate.cuh"
#include "round.cuh"

#define EACH_KERNEL(X)                                                                                        \
    X(product_8, ProductArguments)                                                                            \
    X(product_16, ProductArguments)                                                                           \
    X(product_40, ProductArguments)                                                                           \
    X(product_64, ProductArguments)                                                                           \
    X(product_bulk, ProductArguments)                                                                         \
    X(pack_rows, PackArguments)                                                                               \
    X(embed, EmbedArguments)                                                                                  \
    X(rms_norm, NormArguments)                                                                                \
    X(add_norm, AddNormArguments)                                                                             \
    X(layer_norm_gelu, LayerNormArguments)                                                                    \
    X(vision_rotate, VisionRotateArguments)                                                                   \
    X(rotate_store, RotateStoreArguments)                                                                     \
    X(attention_32, AttentionArguments)                                                                       \
    X(attention_64, AttentionArguments)                                                                       \
    X(attention_128, AttentionArguments)                                                                      \
    X(combine, AttentionArguments)                                                                            \
    X(peak, PeakArguments)                                                                                    \
    X(begin, RoundArguments)                                                                                  \
    X(begin_verify, RoundArguments)                                                                           \
    X(settle, RoundArguments)
