//! Which rows stand for a table of MySQL's, which has no samples of its own.

/// Rows by which columns are judged, and of which a copy is made.
const ROWS: u32 = 20_000;
/// Slices that are taken from all over a table.
const SLICES: u32 = 20;

/// The part of a table that stands for it: the first rows, or slices by a key.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// The key in quotes, and where slices begin; the last ends.
    slices: Option<(String, Vec<i128>)>,
}

impl Sample {
    /// Slices of a table of so many rows, whose `key` goes from `low` to `high`.
    pub(super) fn over(key: &str, low: i128, high: i128, rows: f64) -> Self {
        if rows <= f64::from(ROWS) || high - low < i128::from(ROWS) {
            return Self::default();
        }
        let slices = i128::from(SLICES);
        let begins = (0..=slices).map(|at| low + (high + 1 - low) * at / slices);
        Self { slices: Some((key.to_owned(), begins.collect())) }
    }

    /// The query for `columns` of these rows of `table`, which both are in quotes.
    pub(super) fn of(&self, columns: &str, table: &str) -> String {
        let Some((key, begins)) = &self.slices else {
            return format!("SELECT {columns} FROM {table} LIMIT {ROWS}");
        };
        let slice = |bounds: &[i128]| {
            format!(
                "(SELECT {columns} FROM {table} WHERE {key} >= {} AND {key} < {} ORDER BY {key} LIMIT {})",
                bounds[0],
                bounds[1],
                ROWS / SLICES
            )
        };
        begins.windows(2).map(slice).collect::<Vec<_>>().join(" UNION ALL ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_table_is_looked_at_all_over() {
        assert_eq!(Sample::default().of("*", "`t`"), "SELECT * FROM `t` LIMIT 20000");
        let small = Sample::over("`id`", 1, 5000, 5000.0);
        assert_eq!(small.of("*", "`t`"), "SELECT * FROM `t` LIMIT 20000");
        let told = Sample::over("`id`", 1, 2_000_000, 2e6).of("`a`", "`t`");
        let slices: Vec<_> = told.split(" UNION ALL ").collect();
        assert_eq!(slices.len(), 20);
        assert_eq!(
            slices[1],
            "(SELECT `a` FROM `t` WHERE `id` >= 100001 AND `id` < 200001 ORDER BY `id` LIMIT 1000)"
        );
        assert!(slices[19].contains("`id` < 2000001"), "{told}");
    }
}
