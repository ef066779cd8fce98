//! The timeline as a log of histograms, in the format that `HdrHistogram`'s tools read.

use std::io;
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;

use crate::tally::Timeline;

/// Writes one line for each point: latencies in microseconds, to two digits.
///
/// # Errors
/// `out` can't be written.
pub fn hdr(timeline: &Timeline, start: SystemTime, out: &mut impl io::Write) -> io::Result<()> {
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment("latency from the intended moment, in microseconds; by wick bench")
        .with_start_time(start)
        .with_base_time(start)
        .with_max_value_divisor(1_000_000.0)
        .begin_log_with(out, &mut serializer)?;
    let width = Duration::from_secs(timeline.width_seconds);
    let mut begin = Duration::ZERO;
    for point in &timeline.points {
        log.write_histogram(&point.latency, begin, width, None)
            .map_err(|error| io::Error::other(format!("{error:?}")))?;
        begin += width;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    use super::*;
    use crate::report::samples;

    #[test]
    fn what_is_written_reads_the_same() {
        let timeline = samples::outcome().tally.timeline;
        let mut log = Vec::new();
        hdr(&timeline, SystemTime::UNIX_EPOCH, &mut log).expect("memory can be written");
        let mut read = Vec::new();
        for entry in IntervalLogIterator::new(&log) {
            if let LogEntry::Interval(interval) = entry.expect("a log") {
                let coded = interval.encoded_histogram().as_bytes();
                let bytes = base64::engine::general_purpose::STANDARD.decode(coded);
                let bytes = bytes.expect("base64");
                let times: Histogram<u64> =
                    Deserializer::new().deserialize(&mut bytes.as_slice()).expect("a histogram");
                read.push((interval.start_timestamp().as_secs(), times.len()));
            }
        }
        let expected: Vec<_> =
            (0..).zip(timeline.points.iter().map(|point| point.latency.len())).collect();
        assert_eq!(read, expected);
        assert!(read.len() == 10 && read[0].1 > 0);
    }
}
