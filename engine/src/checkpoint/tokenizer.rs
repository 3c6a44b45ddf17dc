//! The tokenizer: text to ids, ids to text, and ids to text one at a time.

use std::sync::Arc;

use serde_json::Value;
use tokenizers::DecoderWrapper;

use super::CheckpointError;
use super::error::brief;

/// Most ids; the limit of the vocabulary, with room for ids that the embedding does not have.
const ID_LIMIT: usize = 1 << 21;

/// A byte-level BPE tokenizer. Cloning is cheap.
#[derive(Clone)]
pub struct Tokenizer {
    file: Arc<str>,
    encoder: Arc<tokenizers::Tokenizer>,
    table: Arc<[Entry]>,
}

/// What one id decodes to.
#[derive(Clone, Default)]
struct Entry {
    /// The token's bytes; `None` where no token has this id. They need not be whole characters.
    bytes: Option<Box<[u8]>>,
    /// Whether the token is a control mark and no text.
    special: bool,
}

impl Tokenizer {
    /// Reads the content of a `tokenizer.json`; `file` is its name in messages.
    pub fn parse(file: &str, json: &str) -> Result<Self, CheckpointError> {
        let damaged = |fault: String| CheckpointError::Damaged { file: file.to_owned(), fault };
        // Ids are checked before the library sees them.
        let value: Value =
            serde_json::from_str(json).map_err(|error| damaged(format!("it is not valid JSON ({})", brief(error))))?;
        let id_count = id_count(&value).ok_or_else(|| damaged("its token ids make no sense".to_owned()))?;
        drop(value);
        let mut encoder: tokenizers::Tokenizer =
            json.parse().map_err(|error| damaged(format!("it is no tokenizer ({})", brief(error))))?;
        if !matches!(encoder.get_decoder(), Some(DecoderWrapper::ByteLevel(_))) {
            return Err(CheckpointError::Setting {
                file: file.to_owned(),
                key: "decoder".to_owned(),
                fault: "is not ByteLevel, the only one that is supported".to_owned(),
            });
        }
        encoder.with_padding(None);
        encoder.with_truncation(None).map_err(|error| damaged(brief(error)))?;

        let mut table = vec![Entry::default(); id_count];
        for (token, id) in encoder.get_vocab(true) {
            if let Some(entry) = table.get_mut(id as usize) {
                entry.bytes = Some(token_bytes(&token));
            }
        }
        for (id, token) in encoder.get_added_tokens_decoder() {
            if let Some(entry) = table.get_mut(id as usize) {
                *entry = Entry { bytes: Some(token_bytes(&token.content)), special: token.special };
            }
        }
        Ok(Self { file: file.into(), encoder: Arc::new(encoder), table: table.into() })
    }

    /// The ids of a text. Added tokens in it (`<|image|>`) become their ids; nothing is put around it.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, CheckpointError> {
        let encoding = self.encoder.encode_fast(text, false).map_err(|error| CheckpointError::Damaged {
            file: self.file.to_string(),
            fault: format!("it cannot encode a text ({})", brief(error)),
        })?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The text of ids. Bytes that are no UTF-8 become U+FFFD, ids without a token nothing; `skip_special` leaves out
    /// control marks.
    pub fn decode(&self, ids: &[u32], skip_special: bool) -> String {
        let bytes: Vec<u8> = ids.iter().flat_map(|&id| self.bytes(id, skip_special)).copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The id of a token, by its exact text.
    pub fn token_id(&self, token: &str) -> Option<u32> {
        self.encoder.token_to_id(token)
    }

    /// Whether a token has this id.
    pub fn has_id(&self, id: u32) -> bool {
        self.table.get(id as usize).is_some_and(|entry| entry.bytes.is_some())
    }

    /// One more than the largest id.
    pub fn id_count(&self) -> usize {
        self.table.len()
    }

    /// A decoder for ids that arrive one at a time; control marks are left out.
    pub fn stream(&self) -> DecodeStream {
        DecodeStream { tokenizer: self.clone(), pending: Vec::new() }
    }

    fn bytes(&self, id: u32, skip_special: bool) -> &[u8] {
        match self.table.get(id as usize) {
            Some(Entry { bytes: Some(bytes), special }) if !(*special && skip_special) => bytes,
            _ => &[],
        }
    }
}

/// Decodes ids one at a time into whole characters. All its pieces and the end together are what `decode` makes of all
/// the ids with control marks left out.
#[derive(Clone)]
pub struct DecodeStream {
    tokenizer: Tokenizer,
    /// The bytes of a character that is still incomplete, at most three.
    pending: Vec<u8>,
}

impl DecodeStream {
    /// The characters that this id completes; empty while one is incomplete.
    pub fn push(&mut self, id: u32) -> String {
        self.pending.extend_from_slice(self.tokenizer.bytes(id, true));
        let mut text = String::new();
        let mut rest = Vec::new();
        let mut chunks = self.pending.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            if chunk.invalid().is_empty() {
                continue;
            }
            // At the very end, invalid bytes may be the start of a character whose other bytes are still to come.
            if chunks.peek().is_none() && is_incomplete(chunk.invalid()) {
                rest = chunk.invalid().to_vec();
            } else {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        self.pending = rest;
        text
    }

    /// The end: U+FFFD for a character that was left incomplete.
    pub fn finish(self) -> String {
        String::from_utf8_lossy(&self.pending).into_owned()
    }
}

/// Whether the bytes are a character cut short, so that more bytes could complete it.
fn is_incomplete(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

/// One more than the largest id of a `tokenizer.json`; `None` when an id is none or too large.
fn id_count(tokenizer: &Value) -> Option<usize> {
    let vocabulary = tokenizer.get("model")?.get("vocab")?.as_object()?.values();
    let added = tokenizer.get("added_tokens").and_then(Value::as_array);
    let added = added.into_iter().flatten().map(|token| token.get("id").unwrap_or(&Value::Null));
    vocabulary.chain(added).try_fold(0, |count, id| {
        let id = usize::try_from(id.as_u64()?).ok().filter(|&id| id < ID_LIMIT)?;
        Some(count.max(id + 1))
    })
}

/// The bytes that a token stands for. A token with a character outside the byte alphabet stands for its own UTF-8.
fn token_bytes(token: &str) -> Box<[u8]> {
    token.chars().map(byte_of).collect::<Option<Vec<u8>>>().unwrap_or_else(|| token.as_bytes().to_vec()).into()
}

/// The byte behind a character of GPT-2's byte alphabet: printable Latin-1 characters stand for themselves, the other
/// bytes, in order, for U+0100 and up.
fn byte_of(character: char) -> Option<u8> {
    const PRINTABLE: fn(u8) -> bool = |byte| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    match u32::from(character) {
        code @ 0..=0xff => u8::try_from(code).ok().filter(|&byte| PRINTABLE(byte)),
        code => (0..=0xff).filter(|&byte| !PRINTABLE(byte)).nth(code as usize - 0x100),
    }
}

#[cfg(test)]
#[path = "tokenizer_tests.rs"]
mod tests;
