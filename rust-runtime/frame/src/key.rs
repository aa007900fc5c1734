//! Key columns as numbers.

use crate::FrameError;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use std::borrow::Cow;

/// Returns the column of this name.
pub fn column<'a>(table: &'a RecordBatch, name: &str) -> Result<&'a dyn Array, FrameError> {
    let found = table.column_by_name(name);
    let schema = table.schema_ref();
    found
        .map(AsRef::as_ref)
        .ok_or_else(|| FrameError::NoColumn {
            column: name.to_owned(),
            columns: schema.fields().iter().map(|f| f.name().clone()).collect(),
        })
}

/// Rejects a column with nulls.
pub fn without_nulls<'a>(
    array: &'a dyn Array,
    column: &str,
    role: &'static str,
) -> Result<&'a dyn Array, FrameError> {
    match array.null_count() {
        0 => Ok(array),
        nulls => Err(FrameError::Nulls {
            column: column.to_owned(),
            role,
            nulls,
        }),
    }
}

/// Returns the keys in the order of the rows. Keys that are already stored in 64 bits are not
/// copied.
pub fn keys<'a>(table: &'a RecordBatch, name: &str) -> Result<Cow<'a, [i64]>, FrameError> {
    let array = without_nulls(column(table, name)?, name, "key")?;
    Ok(match array.data_type() {
        DataType::Int64 => same::<Int64Type>(array),
        DataType::Date64 => same::<Date64Type>(array),
        DataType::Timestamp(TimeUnit::Second, _) => same::<TimestampSecondType>(array),
        DataType::Timestamp(TimeUnit::Millisecond, _) => same::<TimestampMillisecondType>(array),
        DataType::Timestamp(TimeUnit::Microsecond, _) => same::<TimestampMicrosecondType>(array),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => same::<TimestampNanosecondType>(array),
        DataType::Date32 => wider::<Date32Type>(array),
        DataType::Int32 => wider::<Int32Type>(array),
        DataType::Int16 => wider::<Int16Type>(array),
        DataType::Int8 => wider::<Int8Type>(array),
        DataType::UInt32 => wider::<UInt32Type>(array),
        DataType::UInt16 => wider::<UInt16Type>(array),
        DataType::UInt8 => wider::<UInt8Type>(array),
        found => {
            return Err(FrameError::Type {
                column: name.to_owned(),
                found: found.clone(),
                role: "key",
                allowed: "keys are integers, dates or times that fit into an Int64",
            });
        }
    })
}

fn same<T: ArrowPrimitiveType<Native = i64>>(array: &dyn Array) -> Cow<'_, [i64]> {
    Cow::Borrowed(array.as_primitive::<T>().values())
}

fn wider<T: ArrowPrimitiveType>(array: &dyn Array) -> Cow<'_, [i64]>
where
    T::Native: Into<i64>,
{
    let values = array.as_primitive::<T>().values();
    Cow::Owned(values.iter().map(|&value| value.into()).collect())
}
