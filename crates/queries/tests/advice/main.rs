//! That advice is right: on a site of forty kinds of statements every index that is advised
//! is made, and what the server then looks at is counted.

#[path = "../../../changes/tests/shared/daemon.rs"]
mod daemon;
#[allow(dead_code, reason = "tests of another crate use more of it")]
#[path = "../../../changes/tests/mariadb/server.rs"]
mod mariadb;
mod measure;
#[allow(dead_code, reason = "tests of another crate use more of it")]
#[path = "../../../changes/tests/mysql/server.rs"]
mod mysql;
#[allow(dead_code, reason = "tests of another crate use more of it")]
#[path = "../../../changes/tests/postgres/server.rs"]
mod postgres;
mod site;

use measure::{Cost, Server};
use queries::advice::Advice;
use queries::advice::server::advise;
use queries::classes::Classes;
use queries::logs::Faults;
use queries::query::Query;
use queries::report::{Report, Row, Wanted};
use queries::tokens::Dialect;
use site::{READS, Sent, WRITES};

/// The share of advice that has to halve what is looked at.
const SHARE_MIN: f64 = 0.8;
/// So many pieces of advice there are at least, or there is no proof.
const ADVICE_MIN: usize = 12;
/// Tests that run each time have a part of the rows.
const PART: u32 = 5;
/// What an entry of an index that has to be written is worth, in rows that are looked at.
const ENTRY_ROWS: u64 = 30;

fn all() -> Vec<Sent> {
    READS.iter().chain(WRITES).copied().collect()
}

/// The report of a log in which each statement took as long as the rows that it looked at.
fn report(dialect: Dialect, costs: &[Cost]) -> (Classes, Vec<Row>) {
    let mut classes = Classes::default();
    for ((times, statement), cost) in all().iter().zip(costs) {
        for _ in 0..*times {
            let mut query = Query::new(statement.as_bytes(), dialect);
            query.nanoseconds = (cost.looked_at + 10) * 1_000;
            query.rows_examined = cost.looked_at;
            classes.take(&query);
        }
    }
    let report = Report::of(&classes, &Faults::default(), Wanted { top: 100, literals: false });
    (classes, report.top)
}

/// What all statements come to together, in rows, where indexes on these columns are kept.
fn sum(costs: &[Cost], made: &[Made]) -> u64 {
    let one = |((times, statement), cost): (&Sent, &Cost)| {
        let entries = made.iter().filter(|index| index.is_changed_by(statement)).count() as u64;
        u64::from(*times) * (cost.looked_at + cost.written * entries * ENTRY_ROWS)
    };
    all().iter().zip(costs).map(one).sum()
}

/// An index that was advised and made.
struct Made {
    table: String,
    columns: Vec<String>,
}

impl Made {
    fn of(advice: &Advice) -> Self {
        let text = advice.statement.replace(['`', '"'], "");
        let (_, behind) = text.split_once(" ON ").expect("a table");
        let (table, columns) = behind.split_once(" (").expect("columns");
        let columns = columns.trim_end_matches(')').split(", ");
        Self { table: table.to_owned(), columns: columns.map(str::to_owned).collect() }
    }

    fn is_of(&self, statement: &str) -> bool {
        statement.split([' ', ',']).any(|word| word == self.table)
    }

    /// Whether the statement writes entries of it.
    fn is_changed_by(&self, statement: &str) -> bool {
        let set = |column: &String| statement.contains(&format!("SET {column} "));
        self.is_of(statement)
            && !statement.starts_with("SELECT")
            && (!statement.starts_with("UPDATE") || self.columns.iter().any(set))
    }
}

/// Which of the statements belong to classes that `advice` is for.
fn wanted_by(advice: &Advice, rows: &[Row], classes: &Classes) -> Vec<usize> {
    let all = all();
    let ranked = classes.ranked();
    let is_for = |statement: &str| {
        rows.iter().zip(&ranked).any(|(row, class)| {
            advice.classes.contains(&row.id) && class.example.statement == statement.as_bytes()
        })
    };
    (0..all.len()).filter(|&at| is_for(all[at].1)).collect()
}

/// Follows what is advised from the first to the last, and counts after each.
async fn prove(mut server: Server) {
    let is_postgres = server.is_postgres();
    let statements: Vec<_> = all().iter().map(|one| one.1).collect();
    let mut costs = server.costs(&statements).await;
    let dialect = if is_postgres { Dialect::Postgres } else { Dialect::MySql };
    let (classes, rows) = report(dialect, &costs);
    let asked = advise(&server.address(), !is_postgres, &classes, &rows).await;
    let (advice, notes) = asked.expect("advice");
    let advice: Vec<_> = advice.into_iter().filter(|one| !one.classes.is_empty()).collect();
    let (mut made, mut halved, mut slower) = (Vec::new(), 0, Vec::new());
    let begun = sum(&costs, &made);
    println!("{:>9} {:>9} {:>9}  index", "before", "after", "all");
    for one in &advice {
        server.run(&one.statement.replace("CONCURRENTLY ", "")).await;
        let index = Made::of(one);
        let (its, before) = (wanted_by(one, &rows, &classes), sum(&costs, &made));
        let looked_at = |costs: &[Cost]| {
            its.iter().map(|&at| costs[at].looked_at * u64::from(all()[at].0)).sum::<u64>()
        };
        let looked_before = looked_at(&costs);
        let of_table: Vec<_> =
            (0..statements.len()).filter(|&at| index.is_of(statements[at])).collect();
        let asked: Vec<_> = of_table.iter().map(|&at| statements[at]).collect();
        for (at, cost) in of_table.into_iter().zip(server.costs(&asked).await) {
            costs[at] = cost;
        }
        let name = format!("{}({})", index.table, index.columns.join(", "));
        made.push(index);
        let (looked, now) = (looked_at(&costs), sum(&costs, &made));
        println!("{looked_before:>9} {looked:>9} {now:>9}  {name}: {}", one.confidence);
        halved += usize::from(looked * 2 <= looked_before);
        if now > before {
            slower.push(name);
        }
    }
    let now = sum(&costs, &made);
    println!(
        "{halved} of {} halve what is looked at; all: {begun} to {now}; {notes:?}",
        advice.len()
    );
    assert!(slower.is_empty(), "slower by {slower:?}");
    assert!(halved as f64 >= SHARE_MIN * advice.len() as f64);
    assert!(halved >= ADVICE_MIN, "there is more to be found");
}

#[tokio::test]
async fn what_is_advised_on_mariadb_helps() {
    if let Some(server) = Server::mariadb(PART).await {
        prove(server).await;
    }
}

#[tokio::test]
async fn what_is_advised_on_postgresql_helps() {
    if let Some(server) = Server::postgres(PART, true).await {
        prove(server).await;
    }
}

#[tokio::test]
async fn what_is_advised_and_can_not_be_tried_helps_too() {
    if let Some(server) = Server::postgres(PART, false).await {
        prove(server).await;
    }
}

#[tokio::test]
#[ignore = "it takes a minute: bench/queries --advice runs it"]
async fn what_is_advised_for_a_whole_site_on_mariadb_helps() {
    if let Some(server) = Server::mariadb(1).await {
        prove(server).await;
    }
}

#[tokio::test]
#[ignore = "it takes a minute: bench/queries --advice runs it"]
async fn what_is_advised_for_a_whole_site_on_mysql_helps() {
    if let Some(server) = Server::mysql(1).await {
        prove(server).await;
    }
}

#[tokio::test]
#[ignore = "it takes a minute: bench/queries --advice runs it"]
async fn what_is_advised_for_a_whole_site_on_postgresql_helps() {
    if let Some(server) = Server::postgres(1, true).await {
        prove(server).await;
    }
}
