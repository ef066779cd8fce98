//! Routes: which requests executions were for, and what a site says of those.
//!
//! Bound: [`ROUTES_MAX`] routes of a class; executions of others are counted together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Routes that are told apart.
const ROUTES_MAX: usize = 32;

/// How many executions of a class were for which route.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes {
    counts: BTreeMap<String, u64>,
    /// Those of routes that were too many.
    pub others: u64,
    /// Those of which it isn't certain.
    pub unsure: u64,
}

/// One route of a class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RouteRow {
    /// It, as in `GET /thread/{id}`.
    pub route: String,
    /// Executions that were for it, for certain.
    pub count: u64,
    /// Their share of all executions of the class, from 0 to 1: what keeping this route's
    /// answers would save at most.
    pub share: f64,
    /// Why its answers weren't in memory.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub evidence: String,
    /// What to do about that.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub fix: String,
}

impl RouteRow {
    /// Whether it reads, so that its answers could be kept.
    #[must_use]
    pub fn reads(&self) -> bool {
        self.route.starts_with("GET ")
    }
}

impl Routes {
    pub(crate) fn take(&mut self, route: Option<&str>) {
        let Some(route) = route else { return self.unsure += 1 };
        let has_room = self.counts.len() < ROUTES_MAX;
        match self.counts.get_mut(route) {
            Some(count) => *count += 1,
            None if has_room => drop(self.counts.insert(route.to_owned(), 1)),
            None => self.others += 1,
        }
    }

    /// The routes, those with most executions first.
    #[must_use]
    pub(crate) fn rows(&self) -> Vec<RouteRow> {
        let all = (self.counts.values().sum::<u64>() + self.others + self.unsure).max(1);
        let row = |(route, count): (&String, &u64)| RouteRow {
            route: route.clone(),
            count: *count,
            share: *count as f64 / all as f64,
            ..RouteRow::default()
        };
        let mut rows: Vec<_> = self.counts.iter().map(row).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.count));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_have_a_bound_and_shares_of_all() {
        let mut routes = Routes::default();
        for _ in 0..6 {
            routes.take(Some("GET /forum/{id}"));
        }
        (0..2).for_each(|_| routes.take(None));
        (0..ROUTES_MAX + 1).for_each(|at| routes.take(Some(&format!("GET /{at}"))));
        assert_eq!((routes.others, routes.unsure, routes.counts.len()), (2, 2, ROUTES_MAX));
        let rows = routes.rows();
        assert_eq!((rows[0].route.as_str(), rows[0].count), ("GET /forum/{id}", 6));
        assert!((rows[0].share - 6.0 / 41.0).abs() < 1e-9, "{}", rows[0].share);
    }
}
