//! Tables: whether their cells make a grid.
//!
//! Law: HTML §4.9.12 (the table model).
//! Invariants: 1. spans are bounded as the specification bounds them: 1,000 columns, 65,534
//! rows. 2. A row's work is proportional to its cells and to the columns that cells from
//! above reach into.

use super::Look;
use crate::findings::Findings;
use crate::read::name::Name;
use crate::read::tree::{Element, NodeId};

const COLSPAN_MAX: u32 = 1_000;
const ROWSPAN_MAX: u32 = 65_534;
/// Columns of a table are looked at so far.
const COLUMNS_MAX: usize = 4_000;

/// A table while its rows are gone through.
#[derive(Default)]
struct Grid {
    /// For each column, how many more rows a cell from above reaches into.
    below: Vec<u32>,
    /// Columns in which a cell begins.
    begins: Vec<bool>,
    /// Columns that `col` elements made, with their places.
    marked: Vec<usize>,
    /// The first cell that reached each column: its place, and its name.
    reached: Vec<(usize, &'static str)>,
    first_row: Option<usize>,
}

/// Judges a table.
pub(super) fn judge(look: &Look<'_, '_>, findings: &mut Findings) {
    let mut grid = Grid::default();
    for (id, element) in look.tree.child_elements(look.id) {
        match element.name {
            Name::Colgroup => grid.columns(look, id, element),
            Name::Thead | Name::Tbody | Name::Tfoot => {
                grid.group(look, id, &element.label, findings)
            }
            _ => {}
        }
    }
    grid.judge_columns(findings);
}

fn span(element: &Element<'_>, name: &str, max: u32) -> u32 {
    element
        .value(name)
        .and_then(|value| value.trim().parse::<u32>().ok())
        .map_or(1, |span| span.min(max))
}

impl Grid {
    fn columns(&mut self, look: &Look<'_, '_>, id: NodeId, group: &Element<'_>) {
        let mut any = false;
        for (id, column) in look.tree.child_elements(id) {
            if column.name == Name::Col {
                any = true;
                self.mark(look.tree.node(id).at as usize, span(column, "span", COLSPAN_MAX));
            }
        }
        if !any && group.has("span") {
            self.mark(look.tree.node(id).at as usize, span(group, "span", COLSPAN_MAX));
        }
    }

    fn mark(&mut self, at: usize, count: u32) {
        for _ in 0..count.max(1) {
            if self.marked.len() < COLUMNS_MAX {
                self.marked.push(at);
            }
        }
    }

    /// The first column that `col` made, and the first that a wide cell did, in which none begins.
    fn judge_columns(&self, findings: &mut Findings) {
        let begins = |column: usize| self.begins.get(column).copied().unwrap_or(false);
        let marked = self.marked.iter().map(|at| (*at, "col")).enumerate();
        let reached = self.reached.iter().copied().enumerate();
        let mut lone: Vec<_> = [
            marked.into_iter().find(|(column, _)| !begins(*column)),
            reached.skip(self.marked.len()).find(|(column, _)| !begins(*column)),
        ]
        .into_iter()
        .flatten()
        .collect();
        lone.dedup_by_key(|(column, _)| *column);
        for (column, (at, name)) in lone {
            let message = format!(
                "Table column {} established by element “{name}” has no cells beginning in it.",
                column + 1
            );
            findings.error(at, "empty-column", message);
        }
    }

    /// Goes through the rows of a group. Cells don't reach out of it.
    fn group(&mut self, look: &Look<'_, '_>, id: NodeId, label: &str, findings: &mut Findings) {
        self.below.clear();
        let rows = look.tree.child_elements(id).filter(|(_, element)| element.name == Name::Tr);
        for (index, (row, _)) in rows.enumerate() {
            let begun = self.row(look, row, findings);
            if begun == 0 {
                let at = look.tree.node(row).at as usize;
                let message = format!(
                    "Row {} of a row group established by a “{label}” element has no cells beginning on it.",
                    index + 1
                );
                findings.error(at, "empty-row", message);
            }
            for rows in &mut self.below {
                *rows = rows.saturating_sub(1);
            }
        }
        // What `rowspan=0` and the largest of all reach over ends with the group, as it should.
        if self.below.iter().any(|&rows| rows > 0 && rows < ROWSPAN_MAX / 2) {
            let at = look.tree.node(id).at as usize;
            let message = format!(
                "Table cell spans past the end of its row group established by a “{label}” element; clipped to the end of the row group."
            );
            findings.error(at, "cell-past-group", message);
        }
    }

    /// Places the cells of a row; how many began in it.
    fn row(&mut self, look: &Look<'_, '_>, row: NodeId, findings: &mut Findings) -> usize {
        let (mut column, mut begun, mut is_overlap_told) = (0, 0, false);
        let at = look.tree.node(row).at as usize;
        // What cells from above leave free is seen before cells of this row fill it.
        let mut above: Vec<bool> = self.below.iter().map(|&rows| rows > 0).collect();
        for (id, cell) in look.tree.child_elements(row) {
            if !matches!(cell.name, Name::Td | Name::Th) || column >= COLUMNS_MAX {
                continue;
            }
            while above.get(column).copied().unwrap_or(false) {
                column += 1;
            }
            let width = span(cell, "colspan", COLSPAN_MAX).max(1) as usize;
            let height = match span(cell, "rowspan", ROWSPAN_MAX) {
                0 => ROWSPAN_MAX,
                height => height,
            };
            let end = column + width;
            if self.below.len() < end {
                self.below.resize(end, 0);
                above.resize(end, false);
            }
            if self.begins.len() < end {
                self.begins.resize(end, false);
                let name = if cell.name == Name::Th { "th" } else { "td" };
                self.reached.resize(end, (look.tree.node(id).at as usize, name));
            }
            if above[column..end].iter().any(|&taken| taken)
                && !std::mem::replace(&mut is_overlap_told, true)
            {
                let place = look.tree.node(id).at as usize;
                findings.error(
                    place,
                    "overlapping-cells",
                    "Table cell is overlapped by a cell of a row above.",
                );
            }
            self.begins[column] = true;
            for rows in &mut self.below[column..end] {
                *rows = height.max(*rows);
            }
            column = end;
            begun += 1;
        }
        self.judge_width(at, column, findings);
        begun
    }

    fn judge_width(&mut self, at: usize, columns: usize, findings: &mut Findings) {
        let reach = self
            .below
            .iter()
            .rposition(|&rows| rows > 0)
            .map_or(columns, |last| columns.max(last + 1));
        let first = *self.first_row.get_or_insert(reach);
        let marked = self.marked.len();
        if marked > 0 {
            if reach > marked {
                let message = format!(
                    "A table row was {reach} columns wide and exceeded the column count established using column markup ({marked})."
                );
                findings.error(at, "row-too-wide", message);
            } else if reach < marked {
                let message = format!(
                    "A table row was {reach} columns wide, which is less than the column count established using column markup ({marked})."
                );
                findings.warning(at, "row-too-narrow", message);
            }
        } else if reach > first {
            let message = format!(
                "A table row was {reach} columns wide and exceeded the column count established by the first row ({first})."
            );
            findings.warning(at, "row-too-wide-for-first", message);
        } else if reach < first {
            let message = format!(
                "A table row was {reach} columns wide, which is less than the column count established by the first row ({first})."
            );
            findings.warning(at, "row-too-narrow", message);
        }
    }
}
