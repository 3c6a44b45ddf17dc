// The one list of the device kernels and of what they take. Mirrored by `src/cuda/abi.rs`; the tests compare sizes.
//
// Every kernel has exactly one parameter, a structure by value, named after it below. Grid, block and shared memory follow
// from the structure alone: `src/cuda/launch.rs`. Matrices are row-major; `[a, b]` is the shape; pitches count elements.
// bf16 pointers are 16-byte aligned; inner sizes of products, pitches and head sizes are multiples of 8.
//
// A window launch serves `sequences` independent requests at once. Row `r` is row `r % window` of sequence `r / window`,
// whose cache is `slots[sequence_slots[r / window]]`. A sequence with slot -1, or whose slot is not RUNNING, is idle: it
// writes to no cache, and its rows hold nothing of use.
#pragma once

#include "device.h"

constexpr int MAX_WINDOW = 40;   // rows of a window
constexpr int MAX_HEAD = 128;    // head size
constexpr int WINDOW_TILE = 64;  // weight rows of a tile of `product_8` to `product_64`
constexpr int KEY_TILE = 64;     // keys of a step of attention

enum State : int { IDLE = 0, RUNNING = 1, ENDED = 2, FULL = 3 };

// One request's cache and progress.
struct Slot {
    long long offset;  // elements from the start of a layer's pool; [kv_heads, capacity, head_dim] from there
    int capacity;      // tokens that fit
    int cached;        // tokens in the cache
    int shift;         // position of a token = its index in the cache + shift, from the end of the prompt on
    int boundary;      // the last committed token, not yet in the cache
    int state;         // State
    int round;         // rounds settled
};

// The largest logit of a row and the next one.
struct Peak {
    int id;             // the first of equals
    float probability;  // its softmax probability
    int second;         // the runner-up's id
    float gap;          // logit of `id` minus logit of `second`
};

// What one tile of the vocabulary says about a row.
struct PeakPart {
    float top;
    int id;
    float next;
    int second;
    float sum;  // of exp(logit - top)
};

// One sequence's round.
struct Record {
    int slot;      // -1: idle
    int round;     // counted from 1
    int accepted;  // drafts accepted; 0 for AR
    int cached;    // tokens in the cache afterwards
    int state;     // State afterwards
    int window;    // entries used below
    int pad[2];
    Peak draft[MAX_WINDOW];   // a0, d_1 ..; unused by AR
    Peak verify[MAX_WINDOW];  // a_1 ..; AR: the token
};

// What a product does with `x weight^T + bias`.
enum Epilogue : int {
    FLOAT = 0,   // float out[splits, rows, n]; the planes of the splits are to be summed (bias is in the first)
    HALF = 1,    // bf16 out[rows, out_pitch]
    ADD = 2,     // float out[rows, out_pitch] +=
    SWIGLU = 3,  // bf16 out[rows, out_pitch] = silu(gate) * up; weight [2 n, k] and bias [2 n], the gate first
    PEAKS = 4,   // PeakPart out[rows, tiles of 64 columns]; no bias
};

// product_8, product_16, product_40, product_64: tiles of so many rows by 64 weight rows; a row's result does not depend
// on the other rows nor on which of the four computes it. product_bulk: tiles of 128 by 128, no splits, no PEAKS.
struct ProductArguments {
    const bf16* x;       // [rows, x_pitch], k of each row
    const bf16* weight;  // [n, k]
    const float* bias;   // [n] or null
    void* out;
    int rows, n, k, x_pitch, out_pitch, splits, epilogue, pad;
};

// pack_rows: float to bf16, each row padded with zeros to `pitch`.
struct PackArguments {
    const float* in;  // [rows, width]
    bf16* out;        // [rows, pitch]
    int rows, width, pitch, pad;
};

// embed: hidden = table[id], or features[-1 - id] for a negative id; out = rms_norm(hidden).
struct EmbedArguments {
    const int* ids;         // [rows]
    const bf16* table;      // [vocabulary, width]
    const float* features;  // [feature_rows, width] or null
    const float* norm;      // [width]
    float* hidden;          // [rows, width]
    bf16* out;              // [rows, width]
    int rows, width, vocabulary, feature_rows;
    float eps;
    int pad;
};

// rms_norm: out = x * weight / rms(x).
struct NormArguments {
    const float* x;       // [rows, width]
    const float* weight;  // [width]
    bf16* out;            // [rows, width]
    int rows, width;
    float eps;
    int pad;
};

// add_norm: hidden += rms_norm(sum of parts, post); out = rms_norm(hidden, next).
struct AddNormArguments {
    const float* parts;  // [splits, rows, width]
    const float* post;   // [width]
    const float* next;   // [width]
    float* hidden;       // [rows, width]
    bf16* out;           // [rows, width]
    int rows, width, splits;
    float eps;
};

// layer_norm_gelu: out = gelu(layer_norm(x)).
struct LayerNormArguments {
    const float* x;       // [rows, width]
    const float* weight;  // [width]
    const float* bias;    // [width]
    bf16* out;            // [rows, width]
    int rows, width;
    float eps;
    int pad;
};

// vision_rotate: per-head RMS norm and axial rotation (halves) of queries and keys, in place. Rows are patches in
// merge-window order.
struct VisionRotateArguments {
    bf16* qkv;            // [rows, 3, heads, head_dim]
    const float* q_norm;  // [head_dim]
    const float* k_norm;  // [head_dim]
    const float2* table;  // (cos, sin) [at least the longer side of the grid, head_dim / 4]
    int rows, heads, head_dim, columns, merge;  // columns of the patch grid
    float eps;
};

// rotate_store: sums the planes of the QKV product, rotates adjacent pairs of queries and keys, appends keys and values
// to the cache at index cached + row.
struct RotateStoreArguments {
    const float* parts;         // [splits, rows, (heads + 2 kv_heads) * head_dim]
    const float2* table;        // (cos, sin) [positions, head_dim / 2]
    const int* positions;       // [rows, 3] (t, row, column), or null: cached + row + shift on all axes
    const Slot* slots;
    const int* sequence_slots;  // [sequences]
    bf16* queries;              // [rows, heads, head_dim]
    bf16* keys;                 // the layer's pool
    bf16* values;               // the layer's pool
    int rows, window, heads, kv_heads, head_dim, splits;
    int section_t, section_h;   // frequency pairs that turn with t, then with the row; the rest turn with the column
    int positions_limit, pad;   // rows of `table`
};

// What a row sees besides the cached tokens.
enum Mask : int {
    CAUSAL = 0,  // the rows before it and itself
    DRAFT = 1,   // row 0: itself; the others: the whole window
    BLOCK = 2,   // the whole window
};

// attention_32, attention_64, attention_128 (by head size, rounded up).
struct AttentionArguments {
    const bf16* queries;  // [rows, query_pitch], heads of head_dim each
    const bf16* keys;     // with slots: the layer's pool; without: key i of head h is at i * key_pitch + h * head_dim
    const bf16* values;   // likewise
    const Slot* slots;    // null: one sequence, nothing cached
    const int* sequence_slots;
    bf16* out;            // [rows, heads, head_dim]; written when chunks is 1
    float* parts;         // [rows, heads, chunks, head_dim] when chunks > 1
    float2* weights;      // [rows, heads, chunks]: (maximum, sum)
    int rows, window, heads, kv_heads, head_dim, query_pitch, key_pitch, mask;
    int chunks;           // parts that the keys are cut into: 1, or enough parts of `chunk` keys for every sequence
    int chunk;            // keys of a part, a multiple of KEY_TILE; of no meaning when chunks is 1
    float scale;
    int pad;
};

// combine: joins the parts of `attention_*` when chunks > 1; takes the same structure.

// peak: joins the tiles of an LM head.
struct PeakArguments {
    const PeakPart* parts;  // [rows, tiles]
    Peak* out;              // [rows]
    int rows, tiles;
};

// begin: ids = [boundary, filler ..] for every sequence; a slot in which the round would not fit becomes FULL.
// begin_verify: ids = the ids of `draft`; cached += 1 (the draft's row 0 stays).
// settle: accepts the longest prefix with draft[j].id == verify[j-1].id, j from 1, sets cached and boundary, writes the
// record; with window 1 (AR) cached += 1 and the boundary is verify[0]. A committed end token makes the slot ENDED.
struct RoundArguments {
    Slot* slots;
    const int* sequence_slots;  // [sequences]
    int* ids;                   // [sequences, window]
    const Peak* draft;          // [sequences, window]
    const Peak* verify;         // [sequences, window]
    Record* records;            // [sequences]
    const int* ends;            // [end_count]
    int sequences, window, filler, end_count;
};
