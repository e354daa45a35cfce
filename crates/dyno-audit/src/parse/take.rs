//! Figures that stand in lists of the same file, as those of the studies in `published/` do.

use super::cell;
use super::file::{PartFile, TableFile, TakeFile, TakenColumnFile};
use super::resolve;
use super::{StatementError, Text, inherited};
use crate::statement::{Layout, Place, Statements};
use toml::{Spanned, Table, Value};

/// A table of one figure for each element of each list of each row.
pub(super) fn table(
    statements: &mut Statements,
    table: &TableFile,
    take: &TakeFile,
    whole: &Table,
    at: &Text,
) -> Result<(), StatementError> {
    let columns: Vec<String> = list(whole, &take.columns, at)?.iter().map(text).collect();
    let rows = list(whole, &take.rows, at)?;
    let unknown = |p: &&TakenColumnFile| !columns.contains(p.label.get_ref());
    if let Some(particular) = take.particular.iter().find(unknown) {
        let label = &particular.label;
        return Err(at.error(
            label.span(),
            0,
            format!(
                "`{}` has no column {:?}",
                table.id.get_ref(),
                label.get_ref()
            ),
        ));
    }
    let mut header: Vec<String> = take.label.clone();
    for list in &take.lists {
        header.extend(columns.iter().map(|c| format!("{} {c}", list.key)));
    }
    let mut layout = Layout {
        id: table.id.get_ref().clone(),
        place: table.place.clone(),
        header,
        rows: Vec::new(),
    };
    let printed = |value: &Value| match (value, take.decimals) {
        (Value::Float(v), Some(decimals)) => format!("{v:.decimals$}"),
        (other, _) => text(other),
    };
    for row in rows {
        let value = |key: &str| row.get(key).map(text).unwrap_or_default();
        let labels: Vec<String> = take.label.iter().map(|key| value(key)).collect();
        let slugs: Vec<String> = labels.iter().map(|l| cell::slug(l)).collect();
        let label = labels.join(" ");
        let particular = table.particular.iter().find(|r| {
            let wanted = r.label.get_ref();
            *wanted == label || labels.contains(wanted)
        });
        let row_keys = particular.map(|r| r.keys()).unwrap_or_default();
        let id = particular.and_then(|r| r.id.clone());
        let name = format!("{}/{}", layout.id, id.unwrap_or_else(|| slugs.join(".")));
        let mut laid_out: Vec<(String, Vec<String>)> =
            labels.iter().map(|l| (l.clone(), Vec::new())).collect();
        for list in &take.lists {
            let wrong = |message: String| at.error(take.rows.span(), 0, message);
            let cells: Vec<String> = match row.get(&list.key) {
                Some(Value::Array(cells)) => cells.iter().map(printed).collect(),
                Some(one) => vec![printed(one)],
                None => Vec::new(),
            };
            if cells.len() != columns.len() {
                return Err(wrong(format!(
                    "`{}` of {name} has {} figures for {} columns",
                    list.key,
                    cells.len(),
                    columns.len()
                )));
            }
            for (column, cell) in columns.iter().zip(cells) {
                let mut names = Vec::new();
                if !cell::is_empty(&cell) {
                    let mut conditions: std::collections::BTreeMap<String, String> =
                        take.label.iter().cloned().zip(labels.clone()).collect();
                    conditions.insert(take.across.clone(), column.clone());
                    let place = Place {
                        section: table.place.clone(),
                        row: label.clone(),
                        column: format!("{} {column}", list.key),
                        text: cell.clone(),
                    };
                    let own = take.particular.iter().find(|p| p.label.get_ref() == column);
                    let own = own.map(|p| p.keys()).unwrap_or_default();
                    conditions.extend(own.conditions.clone());
                    let keys = inherited(own, &[&row_keys, &list.keys(), &table.keys()]);
                    let short = list
                        .id
                        .clone()
                        .or_else(|| list.says())
                        .unwrap_or_else(|| list.key.clone());
                    let part = PartFile::named(format!("{short}.{}", cell::slug(column)));
                    let found = resolve::figures(&cell, &[part], &keys, &place, &name, &conditions);
                    let (found, _) = found.map_err(wrong)?;
                    names.extend(found.iter().map(|f| f.id.clone()));
                    statements.figures.extend(found);
                }
                laid_out.push((cell, names));
            }
        }
        layout.rows.push(laid_out);
    }
    statements.layouts.push(layout);
    Ok(())
}

/// The list at a path such as `communication.row`.
fn list<'a>(
    whole: &'a Table,
    path: &Spanned<String>,
    at: &Text,
) -> Result<&'a Vec<Value>, StatementError> {
    let mut keys = path.get_ref().split('.');
    let mut found = keys.next().and_then(|key| whole.get(key));
    for key in keys {
        found = found.and_then(|value| value.get(key));
    }
    match found {
        Some(Value::Array(list)) => Ok(list),
        _ => Err(at.error(
            path.span(),
            0,
            format!("this file has no list `{}`", path.get_ref()),
        )),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
