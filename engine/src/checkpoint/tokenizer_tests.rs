#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

fn tiny() -> Tokenizer {
    static TINY: LazyLock<Tokenizer> = LazyLock::new(|| {
        Tokenizer::parse("tokenizer.json", &read("tests/fixtures/glm_ocr_tiny/tokenizer.json")).unwrap()
    });
    TINY.clone()
}

fn nano() -> Tokenizer {
    Tokenizer::parse("tokenizer.json", &read("assets/nano/tokenizer.json")).unwrap()
}

#[test]
fn ids_and_texts_are_those_of_the_reference() {
    let tokenizer = tiny();
    let cases: Value = serde_json::from_str(&read("tests/fixtures/glm_ocr_cases/text_cases.json")).unwrap();
    let cases = cases["strings"].as_array().unwrap();
    assert!(cases.len() >= 14);
    for case in cases {
        let text = case["text"].as_str().unwrap();
        let ids: Vec<u32> = serde_json::from_value(case["ids"].clone()).unwrap();
        assert_eq!(tokenizer.encode(text).unwrap(), ids, "{text}");
        assert_eq!(tokenizer.decode(&ids, false), case["decoded"].as_str().unwrap());
        assert_eq!(tokenizer.decode(&ids, true), case["decoded_without_special"].as_str().unwrap());
    }
}

#[test]
fn greedy_answers_decode_as_in_the_reference() {
    let tokenizer = tiny();
    for name in ["line", "paragraph", "tall", "minimal"] {
        let case: Value =
            serde_json::from_str(&read(&format!("tests/fixtures/glm_ocr_cases/{name}/case.json"))).unwrap();
        let ids: Vec<u32> = serde_json::from_value(case["greedy_ids"].clone()).unwrap();
        assert_eq!(tokenizer.decode(&ids, false), case["greedy_text"].as_str().unwrap());
    }
}

#[test]
fn ids_are_known_by_name_and_number() {
    let tokenizer = tiny();
    assert_eq!(tokenizer.id_count(), 597);
    assert_eq!(tokenizer.token_id("<|mask|>"), Some(596));
    assert_eq!(tokenizer.token_id("<|no such token|>"), None);
    assert!(tokenizer.has_id(596));
    assert!(!tokenizer.has_id(597), "a padding row of the embedding");
    assert!(!tokenizer.has_id(u32::MAX));
    assert_eq!(tokenizer.decode(&[u32::MAX, 598], false), "");
}

#[test]
fn stream_waits_for_whole_characters_and_no_longer() {
    let tokenizer = tiny();
    let mut stream = tokenizer.stream();
    let ids = tokenizer.encode("ß 😀!").unwrap();
    let pieces: Vec<String> = ids.iter().map(|&id| stream.push(id)).collect();
    // Two bytes, a blank, four bytes, one byte; the tiny vocabulary has no merge for them.
    assert_eq!(pieces, ["", "ß", " ", "", "", "", "😀", "!"]);
    assert_eq!(stream.finish(), "");

    // A character that never ends, then one that is interrupted.
    let mut stream = tokenizer.stream();
    assert_eq!(stream.push(ids[3]), "");
    assert_eq!(stream.push(ids[0]), "\u{fffd}", "the interrupted one is given up, the next one waits");
    assert_eq!(stream.push(560), "", "an end token is no text");
    assert_eq!(stream.finish(), "\u{fffd}");
}

proptest! {
    #[test]
    fn pieces_together_are_the_whole(ids in prop::collection::vec(0u32..620, 0..60)) {
        let tokenizer = tiny();
        let mut stream = tokenizer.stream();
        let mut text: String = ids.iter().map(|&id| stream.push(id)).collect();
        text.push_str(&stream.finish());
        prop_assert_eq!(&text, &tokenizer.decode(&ids, true));
        prop_assert_eq!(&text, &tokenizer.encoder.decode(&ids, true).unwrap());
    }

    /// Single bytes only, so that nearly every sequence is broken UTF-8.
    #[test]
    fn pieces_of_broken_bytes_are_the_whole(ids in prop::collection::vec(90u32..256, 0..40)) {
        let tokenizer = tiny();
        let mut stream = tokenizer.stream();
        let mut text: String = ids.iter().map(|&id| stream.push(id)).collect();
        text.push_str(&stream.finish());
        prop_assert_eq!(&text, &tokenizer.encoder.decode(&ids, true).unwrap());
    }

    #[test]
    fn text_survives_encoding(text in "\\PC{0,40}") {
        prop_assert_eq!(tiny().decode(&tiny().encode(&text).unwrap(), false), text);
    }
}

#[test]
fn bundled_tokenizer_agrees_with_the_library() {
    let tokenizer = nano();
    for id in 0..tokenizer.id_count() as u32 {
        assert_eq!(tokenizer.decode(&[id], false), tokenizer.encoder.decode(&[id], false).unwrap());
        assert_eq!(tokenizer.decode(&[id], true), tokenizer.encoder.decode(&[id], true).unwrap());
    }
}

#[test]
fn damaged_files_are_refused_in_a_sentence() {
    let whole = read("tests/fixtures/glm_ocr_tiny/tokenizer.json");
    let error = |json: &str| Tokenizer::parse("tokenizer.json", json).err().unwrap().to_string();
    assert!(error(&whole[..whole.len() / 2]).starts_with("tokenizer.json is damaged: it is not valid JSON"));
    let huge = whole.replace("\"id\":560", "\"id\":4294967295");
    assert_eq!(error(&huge), "tokenizer.json is damaged: its token ids make no sense; download the checkpoint again");
    assert_eq!(error("{}"), "tokenizer.json is damaged: its token ids make no sense; download the checkpoint again");
    let mut value: Value = serde_json::from_str(&whole).unwrap();
    value["decoder"] = Value::Null;
    assert_eq!(error(&value.to_string()), "tokenizer.json: decoder is not ByteLevel, the only one that is supported");
    value["model"]["type"] = "Nonsense".into();
    assert!(error(&value.to_string()).starts_with("tokenizer.json is damaged: it is no tokenizer"));
}
