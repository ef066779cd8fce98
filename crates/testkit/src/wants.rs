//! Fields that a message must bear, compared with those it bears.

use wire::Fields;

use crate::message::Received;
use crate::scene::{Position, Want};
use crate::story::Failure;
use crate::visitors::as_wanted;
use crate::world::World;

/// A running server's seconds may tick between what is compared.
const REAL_TOLERANCE_SECONDS: i64 = 2;

/// Finds the first want that a message does not fulfil.
pub(crate) fn check(
    world: &World,
    at: Position,
    wants: &[Want],
    message: &Received,
) -> Result<(), Failure> {
    for want in wants {
        match want {
            Want::Absent(name) => {
                if let Some(value) = joined(&message.fields, name) {
                    let what = format!("the field {name} should not be there");
                    return Err(Failure::differs(at, what, format!("!{name}"), value));
                }
            }
            Want::Field(name, value) => {
                check_value(world, at, "field", name, value, joined(&message.fields, name))?;
            }
            Want::Trailer(name, value) => {
                check_value(world, at, "trailer", name, value, joined(&message.trailers, name))?;
            }
        }
    }
    Ok(())
}

fn check_value(
    world: &World,
    at: Position,
    kind: &str,
    name: &str,
    wanted: &str,
    received: Option<String>,
) -> Result<(), Failure> {
    let wanted_now = world.render(wanted);
    let received = received.map(|received| {
        let seen = as_wanted(wanted.as_bytes(), received.as_bytes());
        String::from_utf8_lossy(&seen).into_owned()
    });
    let fits = received.as_deref().is_some_and(|received| {
        fits(&wanted_now, received) || (world.is_real && nearly(&wanted_now, received))
    });
    if fits {
        return Ok(());
    }
    let received = received.map_or("(absent)".into(), |value| format!("{name}: {value}"));
    let what = format!("the {kind} {name} is not what was expected");
    Err(Failure::differs(at, what, format!("{name}: {wanted_now}"), received))
}

/// All lines of a name, joined as RFC 9110 §5.3 allows; `None` if there is none.
pub(crate) fn joined(fields: &Fields, name: &str) -> Option<String> {
    let lines: Vec<_> = fields.all_named(name).map(String::from_utf8_lossy).collect();
    (!lines.is_empty()).then(|| lines.join(", "))
}

/// Whether a value is the wanted one; `...` at either end stands for anything.
fn fits(wanted: &str, received: &str) -> bool {
    match (wanted.strip_prefix("..."), wanted.strip_suffix("...")) {
        _ if wanted == "..." => true,
        (Some(_), Some(_)) => wanted.len() >= 6 && received.contains(&wanted[3..wanted.len() - 3]),
        (Some(end), None) => received.ends_with(end),
        (None, Some(start)) => received.starts_with(start),
        (None, None) => received == wanted,
    }
}

/// Whether two numbers or dates lie as near as two clocks may.
fn nearly(wanted: &str, received: &str) -> bool {
    let number = |text: &str| text.parse::<i64>().ok();
    let date = |text: &str| {
        let time = httpdate::parse_http_date(text).ok()?;
        let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
        i64::try_from(since.as_secs()).ok()
    };
    let read = |text: &str| number(text).or_else(|| date(text));
    match (read(wanted), read(received)) {
        (Some(wanted), Some(received)) => {
            (wanted - received).unsigned_abs() <= REAL_TOLERANCE_SECONDS as u64
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_may_be_open_at_either_end() {
        for (wanted, received, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a...", "ab", true),
            ("...b", "ab", true),
            ("...b", "ba", false),
            ("...fwd=miss...", "wick; fwd=miss; stored", true),
            ("...hit...", "wick; fwd=miss", false),
            ("...", "", true),
        ] {
            assert_eq!(fits(wanted, received), expected, "{wanted} {received}");
        }
    }

    #[test]
    fn two_clocks_may_differ_a_little() {
        assert!(nearly("11", "12") && !nearly("11", "15") && !nearly("a", "a b"));
        assert!(nearly("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:38 GMT"));
    }
}
