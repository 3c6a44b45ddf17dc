//! Reading of JSON settings in which every fault is told with its file and key.

use serde_json::{Map, Value};

use super::CheckpointError;
use super::error::brief;

/// One object of a settings file.
pub(super) struct Settings<'a> {
    file: &'a str,
    /// Names of the enclosing objects, each followed by a dot.
    prefix: String,
    map: Option<&'a Map<String, Value>>,
}

impl<'a> Settings<'a> {
    /// The top level of a file.
    pub(super) fn new(file: &'a str, value: &'a Value) -> Self {
        Self { file, prefix: String::new(), map: value.as_object() }
    }

    /// An object inside, without any key when it is absent.
    pub(super) fn object(&self, key: &str) -> Result<Settings<'a>, CheckpointError> {
        let map = match self.get(key) {
            None => None,
            Some(Value::Object(map)) => Some(map),
            Some(_) => return Err(self.fault(key, "is not an object")),
        };
        Ok(Settings { file: self.file, prefix: format!("{}{key}.", self.prefix), map })
    }

    /// A value; `null` counts as absent.
    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        self.map?.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.map.is_none_or(Map::is_empty)
    }

    pub(super) fn fault(&self, key: &str, fault: impl Into<String>) -> CheckpointError {
        CheckpointError::Setting {
            file: self.file.to_owned(),
            key: format!("{}{key}", self.prefix),
            fault: fault.into(),
        }
    }

    /// A size from 1 to `limit`; the default when absent, an error when there is no default.
    pub(super) fn size(&self, key: &str, default: Option<usize>, limit: usize) -> Result<usize, CheckpointError> {
        let Some(value) = self.get(key) else {
            return default.ok_or_else(|| self.fault(key, "is missing"));
        };
        value.as_u64().and_then(|size| usize::try_from(size).ok()).filter(|size| (1..=limit).contains(size)).ok_or_else(
            || self.fault(key, format!("is {}, but must be a whole number from 1 to {limit}", brief(value))),
        )
    }

    /// A token id, if given.
    pub(super) fn token(&self, key: &str) -> Result<Option<u32>, CheckpointError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.as_u64().and_then(|id| u32::try_from(id).ok()) {
            Some(id) => Ok(Some(id)),
            None => Err(self.fault(key, format!("is {}, but must be a token id", brief(value)))),
        }
    }

    /// A list of token ids, or one id; empty when absent.
    pub(super) fn tokens(&self, key: &str) -> Result<Vec<u32>, CheckpointError> {
        match self.get(key) {
            Some(Value::Array(list)) => list
                .iter()
                .map(|value| value.as_u64().and_then(|id| u32::try_from(id).ok()))
                .collect::<Option<Vec<u32>>>()
                .filter(|list| list.len() <= 1024)
                .ok_or_else(|| self.fault(key, "must be a list of token ids")),
            _ => Ok(self.token(key)?.into_iter().collect()),
        }
    }

    /// A positive finite number; the default when absent.
    pub(super) fn positive(&self, key: &str, default: f64) -> Result<f64, CheckpointError> {
        let Some(value) = self.get(key) else { return Ok(default) };
        value
            .as_f64()
            .filter(|number| number.is_finite() && *number > 0.0)
            .ok_or_else(|| self.fault(key, format!("is {}, but must be a positive number", brief(value))))
    }

    /// Three numbers, one a channel; the default when absent.
    pub(super) fn triple(&self, key: &str, default: [f64; 3]) -> Result<[f64; 3], CheckpointError> {
        let Some(value) = self.get(key) else { return Ok(default) };
        value
            .as_array()
            .and_then(|list| list.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>())
            .and_then(|list| <[f64; 3]>::try_from(list).ok())
            .filter(|list| list.iter().all(|number| number.is_finite()))
            .ok_or_else(|| self.fault(key, "must be a list of three numbers"))
    }

    /// A string, if given.
    pub(super) fn string(&self, key: &str) -> Result<Option<&'a str>, CheckpointError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.fault(key, "must be a text")),
        }
    }

    /// A list of strings, if given.
    pub(super) fn strings(&self, key: &str) -> Result<Option<Vec<&'a str>>, CheckpointError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        value
            .as_array()
            .and_then(|list| list.iter().map(Value::as_str).collect::<Option<Vec<&str>>>())
            .map(Some)
            .ok_or_else(|| self.fault(key, "must be a list of texts"))
    }

    /// A flag; the default when absent.
    pub(super) fn flag(&self, key: &str, default: bool) -> Result<bool, CheckpointError> {
        match self.get(key) {
            None => Ok(default),
            Some(value) => value.as_bool().ok_or_else(|| self.fault(key, "must be true or false")),
        }
    }

    /// Refuses another value than the one that is implemented; absent means that one.
    pub(super) fn only(&self, key: &str, supported: &Value) -> Result<(), CheckpointError> {
        let same = |value: &Value| match (value.as_f64(), supported.as_f64()) {
            (Some(a), Some(b)) => a == b, // 1 and 1.0 are the same number
            _ => value == supported,
        };
        match self.get(key) {
            Some(value) if !same(value) => {
                Err(self.fault(key, format!("is {}, but only {supported} is supported", brief(value))))
            }
            _ => Ok(()),
        }
    }
}
