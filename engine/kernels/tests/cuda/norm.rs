//! Norms and the embedding.

use half::bf16;
use kernels::cuda::abi::*;

use super::harness::*;

const EPS: f32 = 1e-5;

fn rms(x: &[f64], weight: &[f32]) -> Vec<f64> {
    let scale = 1.0 / (x.iter().map(|v| v * v).sum::<f64>() / x.len() as f64 + f64::from(EPS)).sqrt();
    x.iter().zip(weight).map(|(v, &w)| v * scale * f64::from(w)).collect()
}

#[test]
fn rms_norm_is_right() {
    let Some(card) = Card::open() else { return };
    for (rows, width) in card.cases(&[(1, 48), (3, 64), (2, 1536), (1, 2056)], &[(4096, 1024), (10_496, 1536)]) {
        let mut random = Random::new(width as u64);
        let (x, weight) = (random.floats(rows * width), random.floats(width));
        let (x_at, weight_at, out) = (card.put(&x), card.put(&weight), card.poison::<bf16>(rows * width));
        let arguments = NormArguments {
            x: x_at.at(),
            weight: weight_at.at(),
            out: out.at(),
            rows: rows as i32,
            width: width as i32,
            eps: EPS,
            pad: 0,
        };
        card.run(arguments.launch());
        let expected: Vec<f64> = x.chunks_exact(width).flat_map(|row| rms(&wide(row), &weight)).collect();
        close("rms_norm", &floats(&out.get()), &expected, 1e-6, HALF_UNIT);
    }
}

#[test]
fn add_norm_sums_the_planes_adds_the_normed_row_and_norms_the_stream() {
    let Some(card) = Card::open() else { return };
    for (rows, width, splits) in
        card.cases(&[(1, 64, 1), (2, 1536, 6), (33, 256, 8)], &[(320, 1536, 6), (10_496, 1536, 1)])
    {
        let mut random = Random::new((width + splits) as u64);
        let parts = random.floats(splits * rows * width);
        let (post, next, before) = (random.floats(width), random.floats(width), random.floats(rows * width));
        let (parts_at, post_at, next_at) = (card.put(&parts), card.put(&post), card.put(&next));
        let (hidden, out) = (card.put(&before), card.poison::<bf16>(rows * width));
        let arguments = AddNormArguments {
            parts: parts_at.at(),
            post: post_at.at(),
            next: next_at.at(),
            hidden: hidden.at(),
            out: out.at(),
            rows: rows as i32,
            width: width as i32,
            splits: splits as i32,
            eps: EPS,
        };
        card.run(arguments.launch());
        let (mut stream, mut normed) = (Vec::new(), Vec::new());
        for row in 0..rows {
            let sum: Vec<f64> =
                (0..width).map(|i| (0..splits).map(|s| f64::from(parts[(s * rows + row) * width + i])).sum()).collect();
            let added: Vec<f64> =
                rms(&sum, &post).iter().zip(&before[row * width..]).map(|(v, &h)| v + f64::from(h)).collect();
            normed.extend(rms(&added, &next));
            stream.extend(added);
        }
        close("hidden", &hidden.get(), &stream, 1e-5, 0.0);
        close("out", &floats(&out.get()), &normed, 1e-5, HALF_UNIT);
    }
}

#[test]
fn layer_norm_and_gelu_are_right() {
    let Some(card) = Card::open() else { return };
    // gelu(1) = 0.841345, gelu(-1) = -0.158655: x = [1, -1] * n is its own layer norm but for eps.
    let width = 64;
    let x: Vec<f32> =
        (0..2 * width).map(|i| if i < width { [1.0, -1.0][i % 2] } else { 3.0 + (i as f32 * 0.37).sin() }).collect();
    let mut random = Random::new(9);
    let weight = [vec![1.0; width], random.floats(width)].concat();
    let bias = [vec![0.0; width], random.floats(width)].concat();
    for row in 0..2 {
        let at = row * width..(row + 1) * width;
        let (x, weight, bias) = (&x[at.clone()], &weight[at.clone()], &bias[at]);
        let (x_at, weight_at, bias_at) = (card.put(x), card.put(weight), card.put(bias));
        let out = card.poison::<bf16>(width);
        let arguments = LayerNormArguments {
            x: x_at.at(),
            weight: weight_at.at(),
            bias: bias_at.at(),
            out: out.at(),
            rows: 1,
            width: width as i32,
            eps: EPS,
            pad: 0,
        };
        card.run(arguments.launch());
        if row == 0 {
            let expected: Vec<f64> = (0..width).map(|i| [0.841_345, -0.158_655][i % 2]).collect();
            close("gelu", &floats(&out.get()), &expected, 1e-4, HALF_UNIT);
            continue;
        }
        // The scalar kernels are tested against tables of erf.
        let mut expected = vec![0.0; width];
        let kernel = kernels::Kernel::best();
        kernel.layer_norm(x, weight, bias, EPS, &mut expected);
        kernel.gelu(&mut expected);
        close("layer norm", &floats(&out.get()), &wide(&expected), 1e-5, HALF_UNIT);
    }
}

#[test]
fn embed_takes_tokens_from_the_table_and_image_rows_from_the_features() {
    let Some(card) = Card::open() else { return };
    let (width, vocabulary, features) = (64, 10, 3);
    let mut random = Random::new(2);
    let table = random.halves(vocabulary * width);
    let (image, norm) = (random.floats(features * width), random.floats(width));
    // The last three are outside: the last token, token 0, token 0.
    let ids = [4, -1, -3, 0, 99, -4, i32::MIN];
    let rows = ids.len();
    let (ids, table_at, image_at, norm_at) = (card.put(&ids), card.put(&table), card.put(&image), card.put(&norm));
    let (hidden, out) = (card.poison::<f32>(rows * width), card.poison::<bf16>(rows * width));
    let arguments = EmbedArguments {
        ids: ids.at(),
        table: table_at.at(),
        features: image_at.at(),
        norm: norm_at.at(),
        hidden: hidden.at(),
        out: out.at(),
        rows: rows as i32,
        width: width as i32,
        vocabulary: vocabulary as i32,
        feature_rows: features as i32,
        eps: EPS,
        pad: 0,
    };
    card.run(arguments.launch());
    let table = floats(&table);
    let token = |id: usize| &table[id * width..(id + 1) * width];
    let feature = |row: usize| &image[row * width..(row + 1) * width];
    let expected = [token(4), feature(0), feature(2), token(0), token(9), token(0), token(0)];
    assert_eq!(hidden.get(), expected.concat());
    let normed: Vec<f64> = expected.iter().flat_map(|row| rms(&wide(row), &norm)).collect();
    close("out", &floats(&out.get()), &normed, 1e-6, HALF_UNIT);
}
