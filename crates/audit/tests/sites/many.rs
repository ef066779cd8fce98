//! Many audits at once: each site whole, none behind the others, and no host asked by more than
//! it would be if there were one.

use std::sync::Mutex;

use crate::server::{Served, Site, audited, page, plan, reply};
use audit::{Live, Plan};
use url::Url;

const SITES: usize = 40;
const PAGES: usize = 12;

/// Other tests' requests would lie between those of this one's sites.
static TURN: Mutex<()> = Mutex::new(());

fn site(links: &str) -> Site {
    let mut site = Site::default();
    let own: String = (0..PAGES).map(|at| format!("<a href=/p/{at}>{at}</a>")).collect();
    site.pages.insert("/".to_owned(), page("Home", &format!("{own}{links}")));
    for at in 0..PAGES {
        site.pages.insert(format!("/p/{at}"), page(&format!("Page {at}"), "<p>x"));
    }
    site
}

fn of_all(all: &[Served], state: &std::path::Path) -> Plan {
    let sites = all.iter().map(|served| Url::parse(&served.url()).expect("an address"));
    Plan { sites: sites.collect(), probes: 0, ..plan(&all[0], state) }
}

#[test]
fn forty_sites_are_audited_at_once_all_whole_and_none_waits_for_anothers_end() {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let all: Vec<Served> = (0..SITES).map(|_| Served::begin(site(""))).collect();
    let state = tempfile::tempdir().expect("a folder");
    let report = audited(&of_all(&all, state.path()), &Live::default());
    assert_eq!(report.sites.len(), SITES);
    for site in &report.sites {
        assert_eq!((site.error.as_deref(), site.is_whole), (None, true), "{}", site.site);
        assert_eq!(site.pages, PAGES + 1, "{}", site.site);
    }
    for served in &all {
        let asked = served.asked();
        let pages = asked.iter().filter(|target| target.starts_with("/p/")).count();
        assert_eq!(pages, PAGES, "each once: {asked:?}");
    }
    let last_beginning = all.iter().map(|served| served.moments()[0]).max();
    let first_end = all.iter().filter_map(|served| served.moments().last().copied()).min();
    assert!(last_beginning < first_end, "{last_beginning:?} {first_end:?}");
}

#[test]
fn two_audits_of_one_host_ask_it_no_more_at_once_than_one() {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut held = site("");
    held.pages.insert("/robots.txt".to_owned(), reply(404, "", ""));
    // Beside robots.txt, sitemap and home of both.
    held.holds_after = Some(6);
    let served = Served::begin(held);
    let state = tempfile::tempdir().expect("a folder");
    let live = Live::default();
    let plan = Plan {
        sites: ["", "p/0"]
            .map(|path| Url::parse(&format!("{}{path}", served.url())).expect("an address"))
            .to_vec(),
        probes: 0,
        ..plan(&served, state.path())
    };
    let report = std::thread::scope(|scope| {
        scope.spawn(|| {
            // All that may come at once has come when nothing came for a while.
            let (mut count, mut quiet) = (0, 0);
            served.wait_for(7, || {});
            while quiet < 5 {
                std::thread::sleep(std::time::Duration::from_millis(100));
                let now = served.asked().len();
                quiet = if now == count { quiet + 1 } else { 0 };
                count = now;
            }
            served.release();
            // A host of this machine is asked by eight at most.
            assert!((7..=6 + 8).contains(&count), "{count}");
        });
        audited(&plan, &live)
    });
    assert!(report.sites.iter().all(|site| site.is_whole), "{:#?}", report.sites);
}

#[test]
fn sites_that_link_to_one_other_host_ask_it_one_after_the_other() {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut other = Site { holds_after: Some(0), ..Site::default() };
    for at in 0..4 {
        other.pages.insert(format!("/{at}"), reply(200, "", ""));
    }
    let other = Served::begin(other);
    let all: Vec<Served> = (0..4)
        .map(|at| Served::begin(site(&format!("<a href=\"{}{at}\">Other</a>", other.url()))))
        .collect();
    let state = tempfile::tempdir().expect("a folder");
    let plan = Plan { external: 9, ..of_all(&all, state.path()) };
    let report = std::thread::scope(|scope| {
        scope.spawn(|| {
            other.wait_for(1, || {});
            // The others come to it as well, and wait.
            for served in &all {
                served.wait_for(PAGES + 3, || {});
            }
            std::thread::sleep(std::time::Duration::from_millis(200));
            let count = other.asked().len();
            other.release();
            assert_eq!(count, 1);
        });
        audited(&plan, &Live::default())
    });
    assert!(report.sites.iter().all(|site| site.is_whole && site.outside_tried == 1));
    let mut asked = other.asked();
    asked.sort();
    assert_eq!(asked, ["/0", "/1", "/2", "/3"]);
}
