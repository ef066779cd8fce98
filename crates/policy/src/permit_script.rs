//! Leave for one inline script in a response's content security policies.
//!
//! In: the policies as they came, and the script's hash. Out: policies that let it run, and are
//! otherwise as they were. Every policy of a response has to allow it (CSP level 3 §4.2.3).
//! A policy that lets every inline script run stays as it is, since naming a hash would end
//! that. What a `<meta>` element demands isn't seen here.
//! Law: Content Security Policy Level 3 §6.7.1.1 (fallback), §6.7.3.2 (inline checks).

use wire::Fields;

/// The fields that bear policies; the second only reports.
const FIELDS: [&str; 2] = ["content-security-policy", "content-security-policy-report-only"];

/// Lets the script with this hash (`'sha256-…'`) run.
pub fn permit_script(response: &mut Fields, hash: &str) {
    for name in FIELDS {
        let lines: Vec<Vec<u8>> = response.all_named(name).map(<[u8]>::to_vec).collect();
        if lines.is_empty() {
            continue;
        }
        response.retain(|_, other, _| !other.eq_ignore_ascii_case(name.as_bytes()));
        for line in lines {
            response.push(name, permitted(&String::from_utf8_lossy(&line), hash));
        }
    }
}

/// A field's value, which is a list of policies.
fn permitted(line: &str, hash: &str) -> String {
    let policies: Vec<String> = line.split(',').map(|policy| permit(policy, hash)).collect();
    policies.join(",")
}

fn permit(policy: &str, hash: &str) -> String {
    let mut directives: Vec<String> = policy.split(';').map(str::to_owned).collect();
    // The first of a name counts.
    let find = |name: &str| {
        directives.iter().position(|directive| {
            directive
                .split_ascii_whitespace()
                .next()
                .is_some_and(|own| own.eq_ignore_ascii_case(name))
        })
    };
    let own = find("script-src-elem").or_else(|| find("script-src"));
    let Some(place) = own.or_else(|| find("default-src")) else { return policy.to_owned() };
    let sources: Vec<&str> = directives[place].split_ascii_whitespace().skip(1).collect();
    if runs_all(&sources) || sources.contains(&hash) {
        return policy.to_owned();
    }
    let is_none = |source: &&str| !source.eq_ignore_ascii_case("'none'");
    let kept: Vec<&str> = sources.into_iter().filter(is_none).chain([hash]).collect();
    if own.is_some() {
        let old = &directives[place];
        let before = &old[..old.len() - old.trim_start().len()];
        let name = old.split_ascii_whitespace().next().unwrap_or_default();
        directives[place] = format!("{before}{name} {}", kept.join(" "));
    } else {
        directives.insert(place + 1, format!(" script-src {}", kept.join(" ")));
    }
    directives.join(";")
}

/// Whether any inline script may run: `'unsafe-inline'` counts only where nothing narrower is
/// named.
fn runs_all(sources: &[&str]) -> bool {
    let is = |source: &str, word: &str| source.eq_ignore_ascii_case(word);
    let begins = |source: &str, start: &str| {
        source.get(..start.len()).is_some_and(|front| front.eq_ignore_ascii_case(start))
    };
    const NARROWER: [&str; 4] = ["'nonce-", "'sha256-", "'sha384-", "'sha512-"];
    sources.iter().any(|source| is(source, "'unsafe-inline'"))
        && !sources.iter().any(|source| {
            is(source, "'strict-dynamic'") || NARROWER.iter().any(|start| begins(source, start))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_lets_the_script_run_and_nothing_else_that_it_did_not() {
        for (policy, expected) in [
            ("script-src 'self'", "script-src 'self' 'sha256-x'"),
            ("Script-Src 'none'", "Script-Src 'sha256-x'"),
            ("script-src", "script-src 'sha256-x'"),
            ("script-src 'self' 'sha256-x'", "script-src 'self' 'sha256-x'"),
            ("script-src 'unsafe-inline'", "script-src 'unsafe-inline'"),
            (
                "script-src 'unsafe-inline' 'nonce-abc'",
                "script-src 'unsafe-inline' 'nonce-abc' 'sha256-x'",
            ),
            (
                "script-src 'unsafe-inline' 'strict-dynamic'",
                "script-src 'unsafe-inline' 'strict-dynamic' 'sha256-x'",
            ),
            (
                "default-src 'self' https:; img-src *",
                "default-src 'self' https:; script-src 'self' https: 'sha256-x'; img-src *",
            ),
            ("default-src 'none'", "default-src 'none'; script-src 'sha256-x'"),
            ("default-src 'self' 'unsafe-inline'", "default-src 'self' 'unsafe-inline'"),
            (
                "default-src a.test; script-src b.test; script-src-elem c.test",
                "default-src a.test; script-src b.test; script-src-elem c.test 'sha256-x'",
            ),
            (
                "img-src *; script-src a.test; script-src b.test",
                "img-src *; script-src a.test 'sha256-x'; script-src b.test",
            ),
            ("frame-ancestors 'self'", "frame-ancestors 'self'"),
            ("", ""),
            (
                "frame-ancestors 'self', script-src 'self'",
                "frame-ancestors 'self', script-src 'self' 'sha256-x'",
            ),
        ] {
            assert_eq!(permitted(policy, "'sha256-x'"), expected, "{policy}");
        }
    }

    #[test]
    fn every_policy_of_a_response_is_seen_to() {
        let said = "Content-Security-Policy: script-src 'self'\nX-Own: 1\n\
                    content-security-policy: default-src *\n\
                    Content-Security-Policy-Report-Only: script-src 'none'";
        let mut fields = Fields::parse(said.as_bytes()).expect("valid fields");
        permit_script(&mut fields, "'sha256-x'");
        let all = |name| -> Vec<String> {
            fields.all_named(name).map(|line| String::from_utf8_lossy(line).into_owned()).collect()
        };
        let enforced = ["script-src 'self' 'sha256-x'", "default-src *; script-src * 'sha256-x'"];
        assert_eq!(all(FIELDS[0]), enforced);
        assert_eq!(all(FIELDS[1]), ["script-src 'sha256-x'"]);
        assert_eq!(all("x-own"), ["1"]);
    }
}
