//! Which PostgreSQL server it is, by its own words.

use super::connection::Connection;
use crate::{Address, Lost};

/// Its own address is the one that it is reached by; none by a socket.
const ABOUT: &str = "SELECT host(inet_server_addr()), current_setting('port'), \
    pg_is_in_recovery(), (SELECT oid FROM pg_database WHERE datname = current_database())";
/// A number that was drawn when its folder was made; a server's administrator may keep it to
/// themselves.
const DRAWN: &str = "SELECT system_identifier FROM pg_control_system()";

pub(crate) async fn identity(address: &Address) -> Result<Vec<String>, Lost> {
    let connection = Connection::open(address).await?;
    let about = connection.ask_one(ABOUT).await?;
    let mut told: Vec<String> = (0..4).map(|at| about.text(at).to_owned()).collect();
    match connection.ask_one(DRAWN).await {
        Ok(line) => told.push(line.text(0).to_owned()),
        Err(Lost::Refused { .. }) => {}
        Err(lost) => return Err(lost),
    }
    Ok(told)
}
