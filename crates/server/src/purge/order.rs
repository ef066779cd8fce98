//! Purges by the owner, through the control socket: of any site, and without a token.

use std::sync::Arc;

use policy::purge::{Mode, Purge, Scope, What, split_address};
use serde::{Deserialize, Serialize};

use crate::Server;
use crate::explain::Line;
use crate::site::{Site, Sites};

/// What the owner wants purged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct PurgeOrder {
    /// Whole addresses, as in `http://example.org/page?id=1`.
    pub urls: Vec<String>,
    /// Tags, on every site.
    pub tags: Vec<String>,
    /// Hosts, with all their pages.
    pub hosts: Vec<String>,
    /// Everything.
    pub all: bool,
    /// Whether pages may be served once more, while newer ones are made.
    pub soft: bool,
}

impl Server {
    /// Carries an order out and says what was done, a line each.
    ///
    /// # Errors
    /// What is wrong with the order, and what to do; then nothing was purged.
    pub fn purge(&self, order: &PurgeOrder) -> Result<Vec<Line>, String> {
        let mode = if order.soft { Mode::Soft } else { Mode::Hard };
        let sites = self.sites();
        let mut planned = Vec::new();
        for url in &order.urls {
            let (host, target) = split_address(url).map_err(|error| error.to_string())?;
            let site = site_of(&sites, &host)?;
            planned.push((site, Purge { scope: Scope::Host(host), what: What::Url(target), mode }));
        }
        for host in &order.hosts {
            let host = host.to_ascii_lowercase();
            let site = site_of(&sites, &host)?;
            planned.push((site, Purge { scope: Scope::Host(host), what: What::Everything, mode }));
        }
        let mut of_all = Vec::new();
        if !order.tags.is_empty() {
            of_all.push(What::Tags(order.tags.clone()));
        }
        if order.all {
            of_all.push(What::Everything);
        }
        for site in sites.each() {
            let purges = of_all.iter().cloned();
            planned.extend(purges.map(|what| (site, Purge { scope: Scope::Site, what, mode })));
        }
        if planned.is_empty() {
            return Err("nothing is named that could be purged: name an address, a tag or a host"
                .to_owned());
        }
        planned.into_iter().map(|(site, purge)| self.carry_out_told(site, &purge)).collect()
    }

    fn carry_out_told(&self, site: &Arc<Site>, purge: &Purge) -> Result<Line, String> {
        let done = self
            .carry_out_all(site, "", std::slice::from_ref(purge))
            .map_err(|wrong| wrong.to_string())?;
        let found = match (&purge.what, done.variants) {
            (What::Url(_), 0) => ": nothing was stored".to_owned(),
            (What::Url(_), 1) => ": a page".to_owned(),
            (What::Url(_), many) => format!(": {many} variants of a page"),
            _ => String::new(),
        };
        Ok(Line { topic: "purged", text: format!("{purge} on {}{found}", site.name) })
    }
}

fn site_of<'a>(sites: &'a Sites, host: &str) -> Result<&'a Arc<Site>, String> {
    sites.find(host).ok_or_else(|| {
        let known = sites.hosts().collect::<Vec<_>>().join(", ");
        format!("no site answers for the host \"{host}\": those here are {known}")
    })
}

#[cfg(test)]
mod tests {
    use base::Clock;
    use origin::{FilesOrigin, Origin};

    use super::*;
    use crate::{ServerConfig, SiteConfig};

    fn check(order: PurgeOrder, expected: &str) {
        let site = |name: &str, host: &str| {
            let mut site = SiteConfig::new(Origin::Files(FilesOrigin::new("/nowhere")));
            (site.name, site.hosts) = (name.into(), vec![host.into()]);
            site
        };
        let sites = vec![site("one", "a.test"), site("two", "b.test")];
        let server =
            Server::new(ServerConfig { sites, ..ServerConfig::default() }, Clock::manual(0));
        let told = match server.purge(&order) {
            Ok(lines) => lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("; "),
            Err(error) => format!("error: {error}"),
        };
        assert_eq!(told, expected, "{order:?}");
    }

    #[test]
    fn an_owner_purges_on_every_site_that_is_meant() {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let order = PurgeOrder::default;
        check(
            PurgeOrder { urls: texts(&["http://A.test/x", "https://b.test"]), ..order() },
            "url /x of a.test on one: nothing was stored; url / of b.test on two: nothing was stored",
        );
        check(
            PurgeOrder { tags: texts(&["a", "b"]), soft: true, ..order() },
            "soft tags a b on one; soft tags a b on two",
        );
        check(PurgeOrder { hosts: texts(&["B.test:80"]), ..order() }, "host of b.test:80 on two");
        check(PurgeOrder { all: true, ..order() }, "all on one; all on two");
        check(
            PurgeOrder { urls: texts(&["http://c.test/"]), all: true, ..order() },
            "error: no site answers for the host \"c.test\": those here are a.test, b.test",
        );
        check(
            PurgeOrder { urls: texts(&["/x"]), ..order() },
            "error: \"/x\" is no address: send a whole one, as in http://example.org/page",
        );
        check(
            order(),
            "error: nothing is named that could be purged: name an address, a tag or a host",
        );
    }
}
