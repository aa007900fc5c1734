//! Sending parts of tables to the workers they belong to.

use crate::FrameError;
use crate::partition::{Partitions, Received};
use arrow_array::RecordBatch;
use burst::BurstContext;
use serde::{Deserialize, Serialize};

/// The rows for one worker. Inside a pack they are moved, and share the memory of their columns with those for others;
/// between packs the table travels as an Arrow IPC stream.
#[derive(Serialize, Deserialize)]
struct Slice {
    #[serde(with = "stream")]
    table: RecordBatch,
    starts: Vec<u32>,
}

/// Sends each worker the parts that belong to it, the same number to each, beginning with worker 0.
pub fn exchange(parts: &Partitions, burst: &BurstContext) -> Result<Received, FrameError> {
    let each = (parts.starts.len() - 1) / burst.burst_size() as usize;
    let slices = (0..burst.burst_size() as usize).map(|worker| {
        let Partitions { table, starts } = parts.slice(worker * each..(worker + 1) * each);
        Slice { table, starts }
    });
    let received = burst.all_to_all(slices.collect())?;
    let received = received
        .into_iter()
        .map(|Slice { table, starts }| Partitions { table, starts });
    Received::all(received.collect(), burst.worker_id())
}

/// A table as an Arrow IPC stream of one batch.
mod stream {
    use arrow_array::RecordBatch;
    use arrow_ipc::reader::StreamReader;
    use arrow_ipc::writer::StreamWriter;
    use arrow_schema::ArrowError;
    use serde::de::{self, Deserializer, Visitor};
    use serde::ser::{self, Serializer};
    use std::fmt;

    pub fn serialize<S: Serializer>(table: &RecordBatch, serializer: S) -> Result<S::Ok, S::Error> {
        let write = || {
            let room = Vec::with_capacity(table.get_array_memory_size().min(1 << 26));
            let mut writer = StreamWriter::try_new(room, table.schema_ref())?;
            writer.write(table)?;
            writer.into_inner()
        };
        let bytes = write().map_err(ser::Error::custom)?;
        serializer.serialize_bytes(&bytes)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<RecordBatch, D::Error> {
        deserializer.deserialize_bytes(Stream)
    }

    struct Stream;

    impl Visitor<'_> for Stream {
        type Value = RecordBatch;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an Arrow IPC stream of one batch")
        }

        fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<RecordBatch, E> {
            let read = || {
                let mut batches = StreamReader::try_new(bytes, None)?;
                let empty = || ArrowError::IpcError("the stream has no batch".to_owned());
                batches.next().unwrap_or_else(|| Err(empty()))
            };
            read().map_err(de::Error::custom)
        }
    }
}
