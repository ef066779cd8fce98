//! Copies that one node lays down and another finds, on a shelf that stands for NATS.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::*;
use crate::fellows::tests::{Told, node_with};
use crate::strangers::copies::NewCopy;

/// A shelf that all nodes of a test share.
#[derive(Default)]
pub(in crate::fellows) struct Shelf {
    pub(in crate::fellows) lies: Mutex<HashMap<Vec<u8>, Vec<u8>>>,
    /// How often something was looked for.
    pub(in crate::fellows) looks: AtomicUsize,
    pub(in crate::fellows) is_out_of_reach: AtomicBool,
}

impl Deposits for Shelf {
    fn lay_down(&self, name: &[u8], content: &[u8]) {
        self.lies.lock().insert(name.to_vec(), content.to_vec());
    }

    fn seal(&self, content: &[u8]) -> Option<String> {
        Some(format!("sealed {}", String::from_utf8_lossy(content)))
    }

    fn open(&self, sealed: &str) -> Option<Vec<u8>> {
        Some(sealed.strip_prefix("sealed ")?.as_bytes().to_vec())
    }

    fn lay_down_surely<'a>(
        &'a self,
        name: &'a [u8],
        content: &'a [u8],
    ) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>> {
        let is_laid = !self.is_out_of_reach.load(Ordering::SeqCst);
        if is_laid {
            self.lay_down(name, content);
        }
        Box::pin(std::future::ready(is_laid))
    }

    fn find<'a>(&'a self, name: &'a [u8]) -> Looking<'a> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        let found = match self.is_out_of_reach.load(Ordering::SeqCst) {
            true => Err(Untold),
            false => Ok(self.lies.lock().get(name).cloned()),
        };
        Box::pin(std::future::ready(found))
    }
}

fn node(shelf: Option<Arc<Shelf>>) -> (Arc<Server>, Arc<Site>) {
    let (server, site, _) = node_that_tells(shelf);
    (server, site)
}

/// A node, and what it tells the others.
pub(in crate::fellows) fn node_that_tells(
    shelf: Option<Arc<Shelf>>,
) -> (Arc<Server>, Arc<Site>, Arc<Told>) {
    let deposits = shelf.map(|shelf| shelf as Arc<dyn Deposits>);
    let (server, told) = node_with(&[("site", &[])], None, deposits);
    let site = server.sites().only().cloned().expect("there is one");
    (server, site, told)
}

fn lay_down((server, site): &(Arc<Server>, Arc<Site>), target: &str, known: &[&str]) {
    let body = format!("<p>{target} {known:?}");
    let new = NewCopy {
        host: "a.test",
        target,
        request: Fields::new(),
        fields: &Fields::parse(b"content-type: text/html").expect("valid"),
        body: body.as_bytes(),
        known: vec![known[0].as_bytes().to_vec()],
        tells_time: false,
        is_settled: true,
        is_part: false,
    };
    let strangers = site.strangers.as_ref().expect("there are");
    let copy = strangers.copies.keep(Copy::new(new));
    let late: Vec<_> = known[1..].iter().map(|value| value.as_bytes().to_vec()).collect();
    server.lay_down_copy(site, &copy, &late);
}

async fn found((server, site): &(Arc<Server>, Arc<Site>), host: &str, body: &str) -> Vec<String> {
    let fields = Fields::parse(b"content-type: application/x-www-form-urlencoded");
    let head = RequestHead {
        method: Method::POST,
        target: "/comment".to_owned(),
        host: host.to_owned(),
        version: wire::Version::Http11,
        fields: fields.expect("valid"),
    };
    let copies = server.laid_down(site, &head, body.as_bytes()).await;
    let mut targets: Vec<_> = copies.iter().map(|copy| copy.target.clone()).collect();
    targets.sort_unstable();
    targets
}

#[tokio::test]
async fn a_copy_of_one_node_is_found_by_another_by_each_of_its_values() {
    let shelf = Arc::<Shelf>::default();
    let (first, second) = (node(Some(shelf.clone())), node(Some(shelf.clone())));
    lay_down(&first, "/one", &["9f86d081884c7d65", "60303ae22b998861"]);
    lay_down(&first, "/two", &["a3f1c7d2e9b40417"]);
    for (host, body, expected) in [
        ("a.test", "token=9f86d081884c7d65&text=x", &["/one"][..]),
        ("a.test", "token=60303ae22b998861&text=x", &["/one"]),
        ("a.test", "a=60303ae22b998861&b=a3f1c7d2e9b40417", &["/one", "/two"]),
        ("a.test", "token=0000aaaa1111bbbb&text=x", &[]),
        ("a.test", "text=9f86", &[]),
        ("b.test", "token=9f86d081884c7d65&text=x", &[]),
    ] {
        assert_eq!(found(&second, host, body).await, expected, "{host} {body}");
    }
    let strangers = second.1.strangers.as_ref().expect("there are");
    assert_eq!(strangers.copies.size().0, 2, "each is kept once, and known from then on");
    let alone = node(None);
    lay_down(&alone, "/one", &["9f86d081884c7d65"]);
    assert!(found(&alone, "a.test", "token=9f86d081884c7d65").await.is_empty());
}

#[tokio::test]
async fn what_cannot_be_read_or_is_of_another_host_is_no_copy() {
    let shelf = Arc::<Shelf>::default();
    let (first, second) = (node(Some(shelf.clone())), node(Some(shelf.clone())));
    let value = "9f86d081884c7d65";
    lay_down(&first, "/one", &[value]);
    let whole = shelf.lies.lock().clone();
    for (name, content) in &whole {
        for end in 0..content.len() {
            shelf.lies.lock().insert(name.clone(), content[..end].to_vec());
            assert!(found(&second, "a.test", &format!("t={value}")).await.len() < 2);
        }
        shelf.lies.lock().insert(name.clone(), content.clone());
    }
    let mark: Mark =
        whole[&value_name("a.test", value.as_bytes())].clone().try_into().expect("a mark");
    let copy = whole[&copy_name("a.test", mark)].clone();
    shelf.lay_down(&value_name("b.test", value.as_bytes()), &mark);
    shelf.lay_down(&copy_name("b.test", mark), &copy);
    assert!(found(&second, "b.test", &format!("t={value}")).await.is_empty());
}

#[test]
fn a_page_of_many_values_lays_down_so_many() {
    let shelf = Arc::<Shelf>::default();
    let values: Vec<_> = (0..1000).map(|at| format!("9f86d081884c{at:04}")).collect();
    let values: Vec<_> = values.iter().map(String::as_str).collect();
    lay_down(&node(Some(shelf.clone())), "/many", &values);
    assert_eq!(shelf.lies.lock().len(), 1 + VALUES_MAX);
    lay_down(&node(Some(shelf.clone())), "/none", &["short"]);
    assert_eq!(shelf.lies.lock().len(), 1 + VALUES_MAX, "nobody could find it");
}
