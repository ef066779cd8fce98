//! Which text is wanted: read from what a client accepts.
//!
//! Law: RFC 9110 §12.5.1. Who names OpenMetrics and no type that it likes better gets it; anybody
//! else gets the text that every reader of such numbers has understood since 2014.

/// A form of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus' text, version 0.0.4.
    Prometheus,
}

impl Format {
    /// What such a text is declared as.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// What a client wants that sends this `Accept`; empty: it sends none.
    #[must_use]
    pub fn wanted(accept: &str) -> Self {
        let (mut open, mut plain) = (0, 0);
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
            let parameters: Vec<(String, &str)> = parts
                .filter_map(|part| part.split_once('='))
                .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim()))
                .collect();
            let of = |name: &str| parameters.iter().find(|(known, _)| known == name).map(|it| it.1);
            let weight = of("q").map_or(1000, thousandths);
            let version = of("version").map(|version| version.trim_matches('"'));
            match media_type.as_str() {
                "application/openmetrics-text" if matches!(version, None | Some("1.0.0")) => {
                    open = open.max(weight);
                }
                "text/plain" if matches!(version, None | Some("0.0.4")) => {
                    plain = plain.max(weight);
                }
                _ => {}
            }
        }
        if open > 0 && open >= plain { Self::OpenMetrics } else { Self::Prometheus }
    }
}

/// A weight, from 0 to 1000; what is none counts as nothing.
fn thousandths(text: &str) -> u32 {
    let weight = text.parse::<f32>().ok().filter(|weight| (0.0..=1.0).contains(weight));
    weight.map_or(0, |weight| (weight * 1000.0) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_for_open_metrics_gets_it_and_anybody_else_the_older_text() {
        use Format::{OpenMetrics, Prometheus};
        for (accept, expected) in [
            ("", Prometheus),
            ("*/*", Prometheus),
            ("text/html,application/xhtml+xml,*/*;q=0.8", Prometheus),
            ("application/openmetrics-text", OpenMetrics),
            ("Application/OpenMetrics-Text; Version=1.0.0", OpenMetrics),
            // Prometheus 2.42, and 3.
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;\
                 version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                OpenMetrics,
            ),
            (
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
                 text/plain;version=1.0.0;escaping=allow-utf-8;q=0.6,*/*;q=0.1",
                OpenMetrics,
            ),
            ("application/openmetrics-text; version=0.0.1", Prometheus),
            ("application/openmetrics-text;q=0.4,text/plain;version=0.0.4;q=0.5", Prometheus),
            ("application/openmetrics-text;q=0", Prometheus),
            ("application/openmetrics-text;q=nan,;;=,q", Prometheus),
        ] {
            assert_eq!(Format::wanted(accept), expected, "{accept}");
        }
    }
}
