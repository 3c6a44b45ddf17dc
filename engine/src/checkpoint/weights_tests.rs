#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::checkpoint::Checkpoint;

/// A safetensors file made by hand from its header and data.
fn file(header: &Value, data: &[u8]) -> Vec<u8> {
    let header = header.to_string();
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

fn open(content: &[u8]) -> Result<Weights, String> {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join(SINGLE), content).unwrap();
    open_folder(folder.path())
}

fn open_folder(folder: &Path) -> Result<Weights, String> {
    let prefix = format!("{}/", folder.display());
    Weights::open(&Folder::open(folder).unwrap()).map_err(|error| error.to_string().replace(&prefix, ""))
}

fn pair() -> Value {
    json!({
        "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
        "b": {"dtype": "F16", "shape": [1, 2], "data_offsets": [8, 12]},
    })
}

/// 1.0 and -2.0 in f32, then 1.5 and -0.25 in f16.
const DATA: [u8; 12] = [0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0x00, 0x3e, 0x00, 0xb4];

#[test]
fn formats_are_read_whatever_the_alignment() {
    // Headers of every length modulo 4, so that the data start at every offset.
    for blanks in 0..4 {
        let mut header = pair();
        header["__metadata__"] = json!({"padding": " ".repeat(blanks)});
        let weights = open(&file(&header, &DATA)).unwrap();
        assert_eq!(weights.tensor("a", &[2]).unwrap().to_f32_vec(), [1.0, -2.0]);
        let half = weights.tensor("b", &[1, 2]).unwrap();
        assert_eq!((half.dtype, half.to_f32_vec()), (Dtype::F16, vec![1.5, -0.25]));
        assert!(weights.contains("a") && !weights.contains("__metadata__"));
    }
}

#[test]
fn cut_files_say_how_much_is_missing() {
    let whole = file(&pair(), &DATA);
    let message = |missing: usize| {
        Err(format!("model.safetensors is cut short: {missing} bytes are missing at its end, download it again"))
    };
    assert_eq!(open(&whole[..whole.len() - 5]).map(drop), message(5));
    assert_eq!(open(&whole[..whole.len() - 12]).map(drop), message(12));
    // Cut inside the header: at least the rest of it is missing.
    assert_eq!(open(&whole[..whole.len() - 13]).map(drop), message(1));
    assert_eq!(open(&whole[..3]).map(drop), message(5));
    assert_eq!(open(&[]).map(drop), message(8));
    let longer = [whole.as_slice(), &[0; 7]].concat();
    assert_eq!(
        open(&longer).map(drop),
        Err("model.safetensors is damaged: it has 7 bytes more than its header says; download the checkpoint again"
            .to_owned())
    );
}

#[test]
fn headers_that_lie_are_refused() {
    let exabytes = [&(8u64 << 60).to_le_bytes(), [b'x'; 100].as_slice()].concat();
    assert_eq!(
        open(&exabytes).map(drop),
        Err("model.safetensors is damaged: it announces a header of 9223372036854775808 bytes, so it is no safetensors file; download the checkpoint again".to_owned())
    );
    let html = b"<!DOCTYPE html><html><body>404 Not Found</body></html>";
    assert!(open(html).unwrap_err().ends_with("so it is no safetensors file; download the checkpoint again"));

    let changes: [fn(&mut Value); 8] = [
        |header| header["a"]["shape"] = json!([3]),
        |header| header["a"]["shape"] = json!([1u64 << 62, 1u64 << 62]),
        |header| header["a"]["data_offsets"] = json!([0, u64::MAX]),
        |header| header["a"]["data_offsets"] = json!([8, 0]),
        |header| header["b"]["data_offsets"] = json!([0, 4]),
        |header| header["b"]["data_offsets"] = json!([9, 13]),
        |header| header["b"]["dtype"] = json!("F99"),
        |header| *header = json!([1, 2]),
    ];
    for change in changes {
        let mut header = pair();
        change(&mut header);
        let sentence = open(&file(&header, &DATA)).unwrap_err();

        assert!(sentence.starts_with("model.safetensors is damaged: its header makes no sense ("), "{sentence}");
        assert!(sentence.len() < 200, "{sentence}");
    }
}

/// Eight tensors of nearly 2^61 bytes each: every size fits 64 bits, the file's length does not.
#[test]
fn sizes_that_add_up_beyond_64_bits_are_missing_bytes() {
    let one = (1u64 << 61) - 1;
    let entry = |index: u64| json!({"dtype": "U8", "shape": [one], "data_offsets": [index * one, (index + 1) * one]});
    let header: serde_json::Map<String, Value> = (0..8).map(|index| (format!("t{index}"), entry(index))).collect();
    let sentence = open(&file(&Value::Object(header), &DATA)).unwrap_err();
    assert!(sentence.starts_with("model.safetensors is cut short: 1844674407370955"), "{sentence}");
}

proptest! {
    #[test]
    fn damaged_bytes_never_panic(changes in prop::collection::vec((0usize..200, any::<u8>()), 1..6)) {
        let mut content = file(&pair(), &DATA);
        for (at, byte) in changes {
            let length = content.len();
            content[at % length] = byte;
        }
        let mut tensors = HashMap::new();
        if read_file(&"f".into(), &Bytes::copy_from(&content), &mut tensors).is_ok() {
            for stored in tensors.values() {
                prop_assert!(stored.data.len() <= DATA.len());
            }
        }
    }
}

#[test]
fn tensors_are_checked_when_taken() {
    let header = json!({"a": {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]}});
    let weights = open(&file(&header, &DATA[..8])).unwrap();
    let fault = |name: &str, shape: &[usize]| {
        let sentence = weights.tensor(name, shape).unwrap_err().to_string();
        let (_, file) = sentence.split_once("model.safetensors").unwrap();
        file.to_owned()
    };
    assert_eq!(fault("a", &[1]), ": tensor a is stored as I64; only bf16, f16 and f32 can be read");
    assert_eq!(fault("a", &[2, 3]), ": tensor a is 1, but config.json asks for 2 x 3");
    assert_eq!(fault("b", &[1]), " holds no tensor b: the weights do not belong to this config.json");
}

#[test]
fn tensors_in_memory_are_weights_too() {
    let tensor = Tensor::from_f32(&[1, 2], &[3.0, 4.0]).unwrap();
    let weights = Weights::from_tensors([("x".to_owned(), tensor)]);
    assert_eq!(weights.tensor("x", &[1, 2]).unwrap().to_f32_vec(), [3.0, 4.0]);
    assert!(weights.tensor("x", &[2]).is_err());
}

/// The reference checkpoint cut into two shards in a folder of its own.
fn sharded() -> TempDir {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/glm_ocr_tiny");
    let folder = TempDir::new().unwrap();
    for entry in fs::read_dir(&source).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension != "safetensors") {
            fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    let content = fs::read(source.join(SINGLE)).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&content).unwrap();
    let mut shards = [BTreeMap::new(), BTreeMap::new()];
    let mut map = serde_json::Map::new();
    for (index, (name, view)) in tensors.tensors().into_iter().enumerate() {
        map.insert(name.clone(), format!("model-{}.safetensors", index % 2).into());
        shards[index % 2].insert(name, view);
    }
    for (index, shard) in shards.iter().enumerate() {
        let path = folder.path().join(format!("model-{index}.safetensors"));
        safetensors::serialize_to_file(shard, None, &path).unwrap();
    }
    fs::write(folder.path().join(INDEX), json!({"metadata": {}, "weight_map": map}).to_string()).unwrap();
    folder
}

#[test]
fn shards_give_the_same_weights() {
    let folder = sharded();
    let shards = Checkpoint::open(folder.path()).unwrap();
    let single = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/glm_ocr_tiny");
    let single = Checkpoint::open(&single).unwrap();
    for (name, shape) in single.config.tensors() {
        let (a, b) = (shards.weights.tensor(&name, &shape).unwrap(), single.weights.tensor(&name, &shape).unwrap());
        assert_eq!(a.data.as_slice(), b.data.as_slice());
    }
    fs::remove_file(folder.path().join("model-1.safetensors")).unwrap();
    assert_eq!(
        open_folder(folder.path()).unwrap_err(),
        "model-1.safetensors is missing: the checkpoint is incomplete, download it again"
    );
}

#[test]
fn index_may_not_lead_out_of_the_folder() {
    let folder = TempDir::new().unwrap();
    for name in ["../model.safetensors", "/etc/x.safetensors", "a\\b.safetensors", "C:x.safetensors", "config.json"] {
        fs::write(folder.path().join(INDEX), json!({"weight_map": {"a": name}}).to_string()).unwrap();
        let sentence = open_folder(folder.path()).unwrap_err();
        assert!(sentence.ends_with("which is no safetensors file of this folder"), "{sentence}");
        assert!(sentence.starts_with("model.safetensors.index.json: weight_map puts a into "), "{sentence}");
    }
    fs::write(folder.path().join(INDEX), "{}").unwrap();
    assert_eq!(
        open_folder(folder.path()).unwrap_err(),
        "model.safetensors.index.json: weight_map is missing or not an object"
    );
}

#[test]
fn values_that_are_no_numbers_are_found() {
    let folder = sharded();
    let path = folder.path().join("model-0.safetensors");
    let mut content = fs::read(&path).unwrap();
    let end = content.len();
    content[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(&path, content).unwrap();
    let sentence = Checkpoint::open(folder.path()).unwrap().verify().unwrap_err().to_string();
    assert!(sentence.contains("model-0.safetensors: tensor model."), "{sentence}");
    assert!(sentence.ends_with("holds a value that is not a finite number, download it again"), "{sentence}");
}
