//! The record of how a region was read, packed: a page's rounds take hundreds of kilobytes as they are, a tenth of that
//! deflated, and are wanted only for the region one looks at.

use std::io::{Read, Write};
use std::sync::Arc;

use engine::page::Reading;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::log::RequestLog;

/// Most bytes of one region's record unpacked: a session file is read with no more trust than any other file.
const LARGEST: u64 = 256 << 20;

/// A region's requests with all their rounds, deflated JSON. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct Detail(Arc<[u8]>);

/// What a [`Detail`] holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Contents {
    /// What was seen while it was read, for the colours and the replay.
    pub(crate) logs: Vec<RequestLog>,
    /// The engine's own record, for JSON and traces.
    pub(crate) readings: Vec<Reading>,
}

impl Detail {
    /// Packs a record.
    pub(crate) fn pack(contents: &Contents) -> Self {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        // Writing into memory does not fail; a record that JSON cannot hold would be a fault of ours and is left empty.
        let written = serde_json::to_vec(contents).map(|json| encoder.write_all(&json));
        match (written, encoder.finish()) {
            (Ok(Ok(())), Ok(bytes)) => Self(bytes.into()),
            _ => Self::default(),
        }
    }

    /// The record; empty when it is damaged.
    pub(crate) fn unpack(&self) -> Contents {
        self.unpack_within(LARGEST)
    }

    /// Only what was seen while it was read, for which the larger rest is passed over; empty when it is damaged.
    pub(crate) fn logs(&self) -> Vec<RequestLog> {
        #[derive(Default, Deserialize)]
        struct Logs {
            logs: Vec<RequestLog>,
        }
        self.unpack_within::<Logs>(LARGEST).logs
    }

    fn unpack_within<T: DeserializeOwned + Default>(&self, limit: u64) -> T {
        let mut json = Vec::new();
        let read = DeflateDecoder::new(&*self.0).take(limit).read_to_end(&mut json);
        read.ok().and_then(|_| serde_json::from_slice(&json).ok()).unwrap_or_default()
    }

    /// The packed bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for Detail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Detail({} bytes)", self.0.len())
    }
}

impl Serialize for Detail {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use base64::Engine as _;
        serializer.serialize_str(&base64::engine::general_purpose::STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Detail {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use base64::Engine as _;
        let text = String::deserialize(deserializer)?;
        let bytes = base64::engine::general_purpose::STANDARD.decode(text).map_err(serde::de::Error::custom)?;
        Ok(Self(bytes.into()))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use super::super::log::{Step, What};
    use super::*;
    use crate::reader::testing::{reading, round};

    fn contents() -> Contents {
        let drafted =
            |n: u32| Step { at_ms: 0.1 * f64::from(n), what: What::Drafted { round: n, text: "ab".to_owned() } };
        let log = RequestLog { steps: (0..200).map(drafted).collect(), ..RequestLog::default() };
        Contents { logs: vec![log], readings: vec![reading(vec![round(0, 1, 0, 0), round(1, 7, 5, 2)])] }
    }

    #[test]
    fn a_record_survives_packing_and_storing() {
        let packed = Detail::pack(&contents());
        assert!(packed.bytes().len() * 5 < serde_json::to_vec(&contents()).unwrap().len());
        let stored: Detail = serde_json::from_str(&serde_json::to_string(&packed).unwrap()).unwrap();
        assert_eq!(stored, packed);
        let unpacked = stored.unpack();
        assert_eq!(unpacked.readings, contents().readings);
        assert_eq!(unpacked.logs[0].steps.len(), 200);
        assert_eq!(stored.logs(), unpacked.logs);
    }

    #[test]
    fn damaged_and_oversized_records_are_empty() {
        let packed = Detail::pack(&contents());
        for length in 0..packed.bytes().len() {
            assert_eq!(Detail(packed.bytes()[..length].into()).unpack(), Contents::default());
        }
        assert_eq!(Detail(vec![0xff; 99].into()).unpack(), Contents::default());
        assert!(Detail(vec![0xff; 99].into()).logs().is_empty());
        assert_eq!(packed.unpack_within::<Contents>(1000), Contents::default());
    }
}
