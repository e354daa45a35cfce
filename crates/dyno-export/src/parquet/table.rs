//! A table as data: columns with a name, a type and a function of a row. Every column may be null.

use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

/// What a figure of one of the tables is read by.
type Of<R, T> = Box<dyn Fn(&R) -> Option<T>>;

/// How a column's values come from a row; `None` is null.
pub(super) enum Get<R> {
    /// UTF-8.
    Text(for<'r> fn(&'r R) -> Option<Cow<'r, str>>),
    /// What does not fit is the largest that does.
    Count(fn(&R) -> Option<u64>),
    Float(fn(&R) -> Option<f64>),
    /// A count that a table of data tells.
    CountOf(Of<R, u64>),
    /// A number that a table of data tells.
    FloatOf(Of<R, f64>),
    Bool(fn(&R) -> Option<bool>),
    /// A text that a table of data tells.
    TextOf(Of<R, String>),
    /// What a table of data tells to be so or not.
    BoolOf(Of<R, bool>),
    /// Milliseconds since the Unix epoch.
    Instant(fn(&R) -> Option<u64>),
}

/// A column of rows of type `R`.
pub(super) struct Column<R> {
    pub(super) name: &'static str,
    pub(super) get: Get<R>,
}

/// Constructors of columns of a type each, for rows of one type.
macro_rules! constructors {
    ($life:lifetime, $row:ty) => {
        constructors!($life, $row,
            count = Count -> u64, float = Float -> f64, flag = Bool -> bool, instant = Instant -> u64);

        fn column<$life>(name: &'static str, get: Get<$row>) -> Column<$row> {
            Column { name, get }
        }

        fn text<$life>(
            name: &'static str,
            get: for<'r> fn(&'r $row) -> Option<Cow<'r, str>>,
        ) -> Column<$row> {
            column(name, Get::Text(get))
        }
    };
    ($life:lifetime, $row:ty, $($name:ident = $get:ident -> $value:ty),+) => {$(
        #[allow(dead_code, reason = "not every table has columns of every type")]
        fn $name<$life>(name: &'static str, get: fn(&$row) -> Option<$value>) -> Column<$row> {
            column(name, Get::$get(get))
        }
    )+};
}
pub(super) use constructors;

impl<R> Column<R> {
    fn field(&self) -> Result<TypePtr> {
        let (physical, logical) = match self.get {
            Get::Text(_) | Get::TextOf(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Get::Count(_) | Get::CountOf(_) => (Physical::INT64, None),
            Get::Float(_) | Get::FloatOf(_) => (Physical::DOUBLE, None),
            Get::Bool(_) | Get::BoolOf(_) => (Physical::BOOLEAN, None),
            Get::Instant(_) => (
                Physical::INT64,
                Some(LogicalType::timestamp(true, TimeUnit::MILLIS)),
            ),
        };
        let field = Type::primitive_type_builder(self.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()?;
        Ok(Arc::new(field))
    }

    fn write(&self, rows: &[R], to: &mut SerializedColumnWriter<'_>) -> Result<()> {
        match &self.get {
            Get::Text(of) => {
                let bytes = |text: Cow<'_, str>| ByteArray::from(text.into_owned().into_bytes());
                put::<ByteArrayType, R>(rows, |row| of(row).map(bytes), to)
            }
            Get::Count(of) | Get::Instant(of) => {
                put::<Int64Type, R>(rows, |r| of(r).map(saturated), to)
            }
            Get::CountOf(of) => put::<Int64Type, R>(rows, |r| of(r).map(saturated), to),
            Get::Float(of) => put::<DoubleType, R>(rows, of, to),
            Get::FloatOf(of) => put::<DoubleType, R>(rows, of, to),
            Get::Bool(of) => put::<BoolType, R>(rows, of, to),
            Get::TextOf(of) => {
                let bytes = |text: String| ByteArray::from(text.into_bytes());
                put::<ByteArrayType, R>(rows, |row| of(row).map(bytes), to)
            }
            Get::BoolOf(of) => put::<BoolType, R>(rows, of, to),
        }
    }
}

fn saturated(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// The values that there are, and which rows have one.
fn put<T: DataType, R>(
    rows: &[R],
    of: impl Fn(&R) -> Option<T::T>,
    to: &mut SerializedColumnWriter<'_>,
) -> Result<()> {
    let mut values = Vec::with_capacity(rows.len());
    let mut present = Vec::with_capacity(rows.len());
    for row in rows {
        let value = of(row);
        present.push(i16::from(value.is_some()));
        values.extend(value);
    }
    to.typed::<T>().write_batch(&values, Some(&present), None)?;
    Ok(())
}

/// A file of such columns under construction.
pub(super) struct TableWriter<R, W: Write + Send> {
    columns: Vec<Column<R>>,
    file: SerializedFileWriter<W>,
}

impl<R, W: Write + Send> TableWriter<R, W> {
    pub(super) fn new(
        name: &str,
        columns: Vec<Column<R>>,
        properties: WriterProperties,
        out: W,
    ) -> Result<Self> {
        let fields = columns.iter().map(Column::field).collect::<Result<_>>()?;
        let schema = Type::group_type_builder(name).with_fields(fields).build()?;
        let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
        Ok(TableWriter { columns, file })
    }

    /// Adds these rows as a group of their own; no group for none.
    pub(super) fn write(&mut self, rows: &[R]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for column in &self.columns {
            let Some(mut to) = group.next_column()? else {
                let text = format!("the schema has no column {}", column.name);
                return Err(ParquetError::General(text));
            };
            column.write(rows, &mut to)?;
            to.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Writes the footer.
    pub(super) fn close(self) -> Result<()> {
        self.file.close()?;
        Ok(())
    }
}
