//! Settings files, read as far as advice needs them: sysctl's, php.ini and pools of php-fpm,
//! my.cnf, systemd's units, nginx' and Apache's.
//!
//! In: a file's text. Out: its lines as section, name and value. What can't be understood is
//! left out: these readers advise, and whoever owns the file reads it strictly itself.
//! Invariant: no line has an empty name, and each is numbered from 1.

/// The most of lines that one file may have.
const LINES_MAX: usize = 100_000;

/// A line that sets something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The section that it stands in; empty before the first.
    pub section: &'a str,
    /// Counted from 1.
    pub number: usize,
    /// What is set.
    pub name: &'a str,
    /// To what, without quotes; empty for a name alone.
    pub value: &'a str,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `name = value` in `[sections]`; `;` and `#` begin remarks. php.ini, pools, my.cnf,
    /// sysctl.conf, units.
    Ini,
    /// `name value;` in blocks, whose names are the sections.
    Nginx,
    /// `Name value` a line, in `<Sections>`.
    Apache,
}

/// Every line of a file that sets something.
#[must_use]
pub fn lines(dialect: Dialect, text: &str) -> Vec<Line<'_>> {
    let mut section = "";
    let mut found = Vec::new();
    for (index, raw) in text.lines().take(LINES_MAX).enumerate() {
        let raw = raw.trim();
        if raw.is_empty() || raw.starts_with(['#', ';']) {
            continue;
        }
        let number = index + 1;
        match dialect {
            Dialect::Ini => match raw.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
                Some((name, _)) => section = name.trim(),
                None => found.extend(ini_line(section, number, raw)),
            },
            Dialect::Apache => match raw.strip_prefix('<') {
                Some(rest) => section = rest.trim_end_matches('>').trim(),
                None => found.extend(words_line(section, number, raw)),
            },
            Dialect::Nginx => {
                for part in without_remark(raw).split_inclusive([';', '{', '}']) {
                    let rest = part.trim_end_matches([';', '{', '}']).trim();
                    if part.ends_with('{') {
                        section = rest;
                    } else {
                        found.extend(words_line(section, number, rest));
                    }
                }
            }
        }
    }
    found
}

/// A my.cnf writes `-` and `_` as it likes, and values with units; this is the name that the
/// server knows.
#[must_use]
pub fn database_name(name: &str) -> String {
    name.trim_start_matches("loose").trim_start_matches(['-', '_']).replace('-', "_")
}

fn ini_line<'a>(section: &'a str, number: usize, raw: &'a str) -> Option<Line<'a>> {
    let (name, value) = raw.split_once('=').unwrap_or((raw, ""));
    // sysctl ignores an error of a line that begins with "-".
    let name = name.trim().trim_start_matches('-').trim();
    let value = value.trim();
    let value = match value.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
        Some((quoted, _)) => quoted,
        None => value.split([';', '#']).next().unwrap_or(value).trim(),
    };
    (!name.is_empty()).then_some(Line { section, number, name, value })
}

fn words_line<'a>(section: &'a str, number: usize, raw: &'a str) -> Option<Line<'a>> {
    let (name, value) = raw.split_once(char::is_whitespace).unwrap_or((raw, ""));
    let value = value.trim().trim_matches(['"', '\'']);
    (!name.is_empty()).then_some(Line { section, number, name, value })
}

fn without_remark(raw: &str) -> &str {
    raw.split(" #").next().unwrap_or(raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dialect: Dialect, text: &str, expected: &[(&str, usize, &str, &str)]) {
        let found: Vec<_> = lines(dialect, text)
            .iter()
            .map(|line| (line.section, line.number, line.name, line.value))
            .collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn a_pool_is_read() {
        check(
            Dialect::Ini,
            "; a remark\n[www]\npm = dynamic\npm.max_children = 5 ; five\n\
             php_admin_value[error_log] = \"/var/log/a;b.log\"\nalone\n= 5\n",
            &[
                ("www", 3, "pm", "dynamic"),
                ("www", 4, "pm.max_children", "5"),
                ("www", 5, "php_admin_value[error_log]", "/var/log/a;b.log"),
                ("www", 6, "alone", ""),
            ],
        );
    }

    #[test]
    fn sysctl_and_cnf_are_read() {
        check(
            Dialect::Ini,
            "net.ipv4.tcp_sack=0\n-vm.swappiness = 1\n",
            &[("", 1, "net.ipv4.tcp_sack", "0"), ("", 2, "vm.swappiness", "1")],
        );
        assert_eq!(database_name("innodb-buffer-pool-size"), "innodb_buffer_pool_size");
        assert_eq!(database_name("loose-query_cache_size"), "query_cache_size");
    }

    #[test]
    fn nginx_and_apache_are_read() {
        check(
            Dialect::Nginx,
            "events { worker_connections 768; }\nserver {\n  root \"/srv/a\"; # here\n}\n",
            &[("events", 1, "worker_connections", "768"), ("server", 3, "root", "/srv/a")],
        );
        check(
            Dialect::Apache,
            "<IfModule mpm_prefork_module>\n\tMaxRequestWorkers\t 150\n</IfModule>\n",
            &[("IfModule mpm_prefork_module", 2, "MaxRequestWorkers", "150")],
        );
    }

    #[test]
    fn anything_is_read_without_a_panic() {
        for text in ["[", "]", "[]", "=", "\"", "a=\"", "<", ">", "{;}", "\u{1f600}=\u{1f600}", "-"]
        {
            for dialect in [Dialect::Ini, Dialect::Nginx, Dialect::Apache] {
                let found = lines(dialect, text);
                assert!(found.iter().all(|line| !line.name.is_empty()), "{text:?}");
            }
        }
    }
}
