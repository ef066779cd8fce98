//! Running programs take new values: the kernel by /proc/sys, MariaDB and MySQL by SET GLOBAL,
//! PostgreSQL by ALTER SYSTEM, php-fpm by a reload. What takes a restart is told and left to the owner.

use std::process::Command;

use mysql_async::prelude::Queryable;
use rustix::process::{Pid, Signal, kill_process};

use super::{ApplyError, Plan, postgres};
use crate::finding::{Change, Place};
use crate::machine::Machine;
use crate::read::{Options, Root, database_address};

/// Has php-fpm read its files without running on them: one that wouldn't start is refused.
pub(super) fn test(plan: &Plan, root: &Root) -> Result<(), ApplyError> {
    let mut tested: Vec<&str> = Vec::new();
    for change in &plan.changes {
        let (Place::Php(version) | Place::Pool(version, _)) = &change.place else { continue };
        if root.is_recorded() || tested.contains(&version.as_str()) {
            continue;
        }
        tested.push(version);
        let program = format!("php-fpm{version}");
        // One that can't be run is tested by its reload.
        let mut command = Command::new(&program);
        command.arg("-t").arg("--fpm-config").arg(root.at(&php_home(version)).join("php-fpm.conf"));
        let Ok(output) = command.output() else { continue };
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(ApplyError::Refused(format!("{program} -t says: {said}")));
        }
    }
    Ok(())
}

/// Has everybody concerned take the new values; what is left to be done by hand.
pub(super) async fn take_over(
    changes: &[Change],
    options: &Options,
    machine: &Machine,
) -> Result<Vec<String>, ApplyError> {
    let root = Root::new(&options.root);
    let mut notes = Vec::new();
    if root.is_recorded() {
        return Ok(notes);
    }
    let mut reloaded: Vec<&str> = Vec::new();
    for change in changes.iter().filter(|change| change.place == Place::Kernel) {
        let path = root.at(&format!("proc/sys/{}", change.name.replace('.', "/")));
        std::fs::write(&path, &change.new).map_err(|error| ApplyError::File(path, error))?;
    }
    set_globals(changes, options, machine, &mut notes).await?;
    notes.extend(postgres::alter(changes, options).await?);
    for change in changes {
        match &change.place {
            Place::Php(version) | Place::Pool(version, _)
                if !reloaded.contains(&version.as_str()) =>
            {
                reloaded.push(version);
                notes.extend(reload_php(version, &root, machine)?);
            }
            Place::Unit(unit) => {
                let reload = Command::new("systemctl").arg("daemon-reload").output();
                let is_read = reload.is_ok_and(|output| output.status.success());
                let first = if is_read { "" } else { "systemctl daemon-reload, then " };
                notes.push(format!(
                    "it counts from {unit}'s next start: {first}systemctl restart {unit}"
                ));
            }
            _ => (),
        }
    }
    notes.dedup();
    Ok(notes)
}

async fn set_globals(
    changes: &[Change],
    options: &Options,
    machine: &Machine,
    notes: &mut Vec<String>,
) -> Result<(), ApplyError> {
    let wanted: Vec<&Change> =
        changes.iter().filter(|change| change.place == Place::Database).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let refused = |error: mysql_async::Error| {
        ApplyError::Refused(format!("the database says: {}", changes::connect::lost(&error)))
    };
    let Some(address) = database_address(options, machine) else {
        return Err(ApplyError::Refused("the database can't be found again".into()));
    };
    let connecting = mysql_async::Conn::new(changes::connect::options(&address));
    let mut connection = connecting.await.map_err(refused)?;
    for change in wanted {
        let statement = format!("SET GLOBAL {} = {}", change.name, literal(&change.new));
        match connection.query_drop(statement).await {
            Ok(()) => (),
            // A variable that is read at the start only (ER_INCORRECT_GLOBAL_LOCAL_VAR).
            Err(mysql_async::Error::Server(error)) if error.code == 1238 => {
                notes.push(format!(
                    "{} counts from the database's next start: systemctl restart mariadb (or mysql)",
                    change.name
                ));
            }
            Err(error) => return Err(refused(error)),
        }
    }
    Ok(())
}

/// A number as it is, a word in quotes that nothing can leave.
fn literal(value: &str) -> String {
    match value.parse::<f64>() {
        Ok(number) if number.is_finite() => value.to_owned(),
        _ => format!("'{}'", value.replace(['\'', '\\'], "")),
    }
}

/// Where a PHP's settings for php-fpm lie.
fn php_home(version: &str) -> String {
    if version.is_empty() { "etc".to_owned() } else { format!("etc/php/{version}/fpm") }
}

/// php-fpm reads its files again when its master is told so; requests under way are answered.
/// It is known by the file that it was started with, which its title bears: others' go on.
fn reload_php(version: &str, root: &Root, machine: &Machine) -> Result<Option<String>, ApplyError> {
    let file = root.at(&php_home(version)).join("php-fpm.conf");
    let title = format!("php-fpm: master process ({})", file.display());
    let master = machine.processes.iter().find(|one| one.title == title);
    let pid = master.and_then(|one| Pid::from_raw(i32::try_from(one.pid).ok()?));
    let Some(pid) = pid else {
        return Ok(Some(format!("php-fpm {version} doesn't run: it counts from its next start")));
    };
    kill_process(pid, Signal::USR2).map_err(|error| {
        ApplyError::Refused(format!("php-fpm {version} can't be reloaded: {error}; run as root"))
    })?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_can_not_leave_their_quotes() {
        for (value, expected) in [
            ("1", "1"),
            ("1.5", "1.5"),
            ("ON", "'ON'"),
            ("", "''"),
            ("a'; b\\", "'a; b'"),
            ("nan", "'nan'"),
        ] {
            assert_eq!(literal(value), expected);
        }
    }
}
