//! What a statement costs, counted by the server that runs it: rows that it looks at, and
//! rows that it writes. Never time.

use changes::connect::options;
use mysql_async::Conn;
use mysql_async::prelude::Queryable;

use crate::{mariadb, mysql, postgres, site};

/// Statistics are of all rows, so the same on each run; and one process does all.
const POSTGRES: [&str; 4] = [
    "shared_buffers=128MB",
    "jit=off",
    "default_statistics_target=400",
    "max_parallel_workers_per_gather=0",
];

pub(crate) enum Server {
    MariaDb(mariadb::Server, Conn),
    MySql(mysql::Server, Conn),
    Postgres(postgres::Server),
}

/// What one execution costs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) looked_at: u64,
    pub(crate) written: u64,
}

impl Server {
    pub(crate) async fn mariadb(part: u32) -> Option<Self> {
        let settings = ["--innodb-buffer-pool-size=128M", "--innodb-log-file-size=64M"];
        let server = mariadb::Server::start(&settings)?;
        let connection = Conn::new(options(&server.address("root", ""))).await;
        Some(Self::MariaDb(server, connection.expect("a connection")).seeded(part).await)
    }

    pub(crate) async fn mysql(part: u32) -> Option<Self> {
        let settings =
            ["--innodb-buffer-pool-size=128M", "--innodb-redo-log-capacity=128M", "--skip-log-bin"];
        let server = mysql::Server::start(&settings).await?;
        let connection = Conn::new(options(&server.address("root", ""))).await;
        Some(Self::MySql(server, connection.expect("a connection")).seeded(part).await)
    }

    /// One that tries indexes, or one that can't.
    pub(crate) async fn postgres(part: u32, tries: bool) -> Option<Self> {
        let server = postgres::Server::start(&POSTGRES)?;
        if tries {
            let has_hypopg = "SELECT count(*) FROM pg_available_extensions WHERE name = 'hypopg';";
            if server.administer_site(has_hypopg) != "1" {
                eprintln!("SKIPPED: hypopg is not installed; scripts/setup test installs it");
                return None;
            }
            server.administer_site("CREATE EXTENSION hypopg;");
        }
        Some(Self::Postgres(server).seeded(part).await)
    }

    async fn seeded(mut self, part: u32) -> Self {
        let numbers = match &self {
            Self::MariaDb(..) => site::MARIADB_NUMBERS,
            Self::MySql(..) => site::MYSQL_NUMBERS,
            Self::Postgres(_) => site::POSTGRES_NUMBERS,
        };
        if !self.is_postgres() {
            self.run("USE site").await;
        }
        if let Self::MySql(..) = self {
            self.run("SET SESSION cte_max_recursion_depth = 1000000").await;
        }
        let mut all = site::seed(numbers, part);
        if self.is_postgres() {
            all = vec![all.join(";")];
        }
        for statement in all {
            self.run(&statement).await;
        }
        self.analyze().await;
        self
    }

    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    pub(crate) fn address(&self) -> changes::Address {
        match self {
            Self::MariaDb(server, _) => server.address("root", ""),
            Self::MySql(server, _) => server.address("root", ""),
            Self::Postgres(server) => server.address("app", "app"),
        }
    }

    /// Has the server count anew how many values there are.
    pub(crate) async fn analyze(&mut self) {
        if self.is_postgres() {
            self.run("ANALYZE").await;
        } else {
            let all: Vec<_> = site::tables().collect();
            self.run(&format!("ANALYZE TABLE {}", all.join(", "))).await;
        }
    }

    pub(crate) async fn run(&mut self, statement: &str) {
        match self {
            Self::MariaDb(_, connection) | Self::MySql(_, connection) => {
                let ran = connection.query_drop(statement).await;
                ran.map_err(|error| format!("{statement}: {error}")).expect("it runs");
            }
            Self::Postgres(server) => drop(server.ask(&format!("{statement};"))),
        }
    }

    /// What each costs; what it changes is taken back.
    pub(crate) async fn costs(&mut self, statements: &[&str]) -> Vec<Cost> {
        match self {
            Self::MariaDb(_, connection) | Self::MySql(_, connection) => {
                let mut all = Vec::new();
                for statement in statements {
                    all.push(mysql_cost(connection, statement).await);
                }
                all
            }
            Self::Postgres(server) => postgres_costs(server, statements),
        }
    }
}

async fn mysql_cost(connection: &mut Conn, statement: &str) -> Cost {
    let mut written = 0;
    for step in ["FLUSH STATUS", "BEGIN", statement] {
        let ran = connection.query_iter(step).await;
        let ran = ran.map_err(|error| format!("{step}: {error}")).expect("it runs");
        written = ran.affected_rows();
        ran.drop_result().await.expect("it answers");
    }
    let looked_at = status(connection, "'Handler_read%'").await;
    connection.query_drop("ROLLBACK").await.expect("it is taken back");
    Cost { looked_at, written }
}

/// The sum of counters.
async fn status(connection: &mut Conn, which: &str) -> u64 {
    let told: Vec<(String, u64)> =
        connection.query(format!("SHOW SESSION STATUS LIKE {which}")).await.expect("counters");
    told.iter().map(|(_, count)| count).sum()
}

fn postgres_costs(server: &postgres::Server, statements: &[&str]) -> Vec<Cost> {
    let ask = |one: &&str| {
        let explain = "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON)";
        format!("BEGIN; {explain} {one}; ROLLBACK;\n\\echo next\n")
    };
    let asked: String = statements.iter().map(ask).collect();
    let told = server.ask(&asked);
    let plans = told.split("next").map(str::trim).filter(|plan| !plan.is_empty());
    let costs: Vec<_> = plans
        .map(|plan| {
            let plan: serde_json::Value = serde_json::from_str(plan).expect("a plan");
            let plan = &plan[0]["Plan"];
            let rows = plan["Plans"][0]["Actual Rows"].as_u64().unwrap_or(0);
            let written = if plan["Node Type"] == "ModifyTable" { rows } else { 0 };
            Cost { looked_at: looked_at(plan).round() as u64, written }
        })
        .collect();
    assert_eq!(costs.len(), statements.len());
    costs
}

/// Rows that a plan's scans looked at.
fn looked_at(plan: &serde_json::Value) -> f64 {
    let number = |name: &str| plan[name].as_f64().unwrap_or(0.0);
    let is_scan = plan["Relation Name"].is_string() && plan["Node Type"] != "ModifyTable";
    let rows = number("Actual Rows")
        + number("Rows Removed by Filter")
        + number("Rows Removed by Index Recheck");
    let own = if is_scan { rows * number("Actual Loops") } else { 0.0 };
    let parts = plan["Plans"].as_array().into_iter().flatten();
    own + parts.map(looked_at).sum::<f64>()
}
