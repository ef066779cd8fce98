//! Settings files: what stands in them on purpose, with its file and line.

use super::{Root, wick};
use crate::machine::{Directive, Machine};
use crate::settings_file::{Dialect, Line, database_name, lines};

/// Folders of sysctl's files; what Debian brings itself is nobody's recipe.
const SYSCTL_FOLDERS: &[&str] = &["etc/sysctl.d", "usr/local/lib/sysctl.d", "run/sysctl.d"];
/// Folders of my.cnf's.
const DATABASE_FOLDERS: &[&str] =
    &["etc/mysql/conf.d", "etc/mysql/mariadb.conf.d", "etc/mysql/mysql.conf.d", "etc/my.cnf.d"];
/// Sections of those that the server reads.
const SERVER_SECTIONS: &[&str] = &["mysqld", "mariadbd", "server", "mariadb"];

/// Reads every file that advice may be about.
pub(super) fn read(root: &Root, machine: &mut Machine) {
    let mut files = vec!["etc/sysctl.conf".to_owned()];
    for folder in SYSCTL_FOLDERS {
        files.extend(root.files(folder, ".conf"));
    }
    for file in files {
        each(root, &file, Dialect::Ini, |line| {
            let name = line.name.replace('/', ".");
            machine.directives.push(directive(&file, line, name));
        });
    }
    let mut files = vec!["etc/mysql/my.cnf".to_owned(), "etc/my.cnf".to_owned()];
    for folder in DATABASE_FOLDERS {
        files.extend(root.files(folder, ".cnf"));
    }
    for file in files {
        each(root, &file, Dialect::Ini, |line| {
            if SERVER_SECTIONS.iter().any(|section| line.section.starts_with(section)) {
                let name = format!("mysqld.{}", database_name(line.name));
                machine.directives.push(directive(&file, line, name));
            }
        });
    }
    read_nginx(root, machine);
    read_apache(root, machine);
    wick::read(root, machine);
}

fn read_nginx(root: &Root, machine: &mut Machine) {
    let mut files = vec!["etc/nginx/nginx.conf".to_owned()];
    files.extend(root.files("etc/nginx/conf.d", ".conf"));
    files.extend(root.files("etc/nginx/sites-enabled", ""));
    for file in files {
        each(root, &file, Dialect::Nginx, |line| {
            machine.directives.push(directive(&file, line, format!("nginx.{}", line.name)));
        });
    }
}

fn read_apache(root: &Root, machine: &mut Machine) {
    let mut files = vec!["etc/apache2/apache2.conf".to_owned()];
    files.push("etc/httpd/conf/httpd.conf".to_owned());
    for folder in [
        "etc/apache2/mods-enabled",
        "etc/apache2/conf-enabled",
        "etc/apache2/sites-enabled",
        "etc/httpd/conf.modules.d",
        "etc/httpd/conf.d",
    ] {
        files.extend(root.files(folder, ""));
    }
    for file in files {
        each(root, &file, Dialect::Apache, |line| {
            let name = line.name.to_ascii_lowercase();
            // PHP inside takes prefork: what stands there for other ways to work doesn't count.
            let section = line.section.to_ascii_lowercase();
            let is_others = section.contains("worker") || section.contains("event");
            // As it was called before 2.4.
            let name = if name == "maxclients" { "maxrequestworkers".into() } else { name };
            if !(is_others && name == "maxrequestworkers") {
                machine.directives.push(directive(&file, line, format!("apache.{name}")));
            }
        });
    }
}

fn each<'a>(root: &Root, file: &'a str, dialect: Dialect, mut take: impl FnMut(&Line<'_>) + 'a) {
    let Some(text) = root.text(file) else { return };
    lines(dialect, &text).iter().for_each(&mut take);
}

fn directive(file: &str, line: &Line<'_>, name: String) -> Directive {
    Directive { file: format!("/{file}"), line: line.number, name, value: line.value.to_owned() }
}
