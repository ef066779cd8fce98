//! The texts of `/proc`, and what php-fpm says of itself: nothing in them ends the watch.

use observe::machine::disk::DiskTraffic;
use observe::machine::memory::{Memory, Pressure};
use observe::machine::network::{self, NetworkTraffic};
use observe::machine::php::{Opcache, Pool};
use observe::machine::process::{self, ProcessTimes};
use observe::machine::processor;

pub(crate) fn run(input: &[u8]) {
    let told = (Pool::parse(input), Opcache::parse(input));
    assert!(told.0.is_none_or(|pool| pool.children.iter().all(|child| child.pid > 0)));
    let text = String::from_utf8_lossy(input);
    let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    let (before, now) = (processor::cores(&text[..half]), processor::cores(&text));
    let shares = processor::use_between(&before, &now);
    assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{shares:?}");
    assert!(processor::load(&text).is_none_or(f64::is_finite));
    if let Some(pressure) = Pressure::parse(&text) {
        let ratios = [pressure.some_ratio, pressure.full_ratio];
        assert!(ratios.iter().all(|ratio| (0.0..=1.0).contains(ratio)), "{pressure:?}");
    }
    // Whatever they say, they come back.
    let _ = (Memory::parse(&text), DiskTraffic::parse(&text), NetworkTraffic::parse(&text));
    let _ = (ProcessTimes::parse(&text), process::resident_pages(&text));
    let _ = network::listen_overflows(&text);
    assert_eq!(network::waiting(&text, &[]), 0, "none of these is ours");
}
