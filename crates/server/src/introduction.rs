//! Who is at the other end, where proxies stand between: told once for a connection, in the
//! header that it begins with, or for each request in its fields.
//!
//! Invariants: 1. only proxies that the owner names are believed; from anybody else the same
//! bytes are a bad request and the same fields are dropped. 2. a proxy that shall introduce
//! its connections and doesn't is not served. 3. what is told of an address never makes
//! somebody a program on this machine.

use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use base::network::Network;
use policy::claims::{self, TrustedField};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use wire::Fields;
use wire::proxy::{self, Introduction, NoHeader, Read};

use crate::Server;
use crate::connection;
use crate::journey::Peers;
use crate::request_id::RequestId;
use crate::tls::{self, Tls};

/// The proxies before us that the owner names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    /// Those whose connections begin with a header of the PROXY protocol.
    pub introducing: Vec<Network>,
    /// Those whose fields tell the visitor's address and scheme.
    pub trusted: Vec<Network>,
    /// Which fields.
    pub field: TrustedField,
}

impl Proxies {
    /// Whether connections from this address begin with a header.
    pub(crate) fn introduces(&self, peer: IpAddr) -> bool {
        self.introducing.iter().any(|network| network.holds(peer))
    }

    pub(crate) fn trusts(&self, peer: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.holds(peer))
    }
}

impl Peers {
    /// Both ends of a connection as the system tells them.
    pub(crate) fn new(peer: SocketAddr, local: SocketAddr, scheme: &'static str) -> Self {
        let is_here = peer.ip().to_canonical().is_loopback();
        Self { peer, local, scheme, is_here, http3_port: 0 }
    }

    /// The ends of a request, which a trusted proxy may have sent on for somebody.
    pub(crate) fn of_request(self, proxies: &Proxies, fields: &Fields) -> Self {
        if proxies.trusted.is_empty() || !proxies.trusts(self.peer.ip()) {
            return self;
        }
        let told = claims::told(fields, proxies.field, |address| proxies.trusts(address));
        Self {
            // If it can't say for whom, it is asked by the proxy, which is nobody's program.
            peer: told.visitor.unwrap_or(self.peer),
            scheme: told.scheme.unwrap_or(self.scheme),
            is_here: self.is_here && !told.is_told,
            ..self
        }
    }
}

impl Server {
    /// Names a request, where the owner wants that: as a trusted proxy did, or anew.
    pub(crate) fn name_request(&self, peers: Peers, fields: &mut Fields) -> Option<RequestId> {
        if !self.request_ids {
            return None;
        }
        let is_trusted = self.proxies.trusts(peers.peer.ip());
        let told = RequestId::told(fields).filter(|_| is_trusted);
        let id = told.unwrap_or_else(RequestId::new);
        id.put(fields);
        Some(id)
    }

    /// Serves a connection that begins with a header, before TLS where that is spoken, if its
    /// visitor has not too many already.
    pub(crate) async fn serve_introduced<S>(
        self: Arc<Self>,
        mut io: S,
        peers: Peers,
        tls: Option<Arc<Tls>>,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Some(peers) = self.introduced(&mut io, peers).await else {
            self.counters.introductions_refused.bump();
            return;
        };
        let Ok(_seat) = self.seat(peers) else { return };
        match tls {
            Some(tls) => tls::serve(self, tls, io, peers).await,
            None => connection::serve(self, io, peers).await,
        }
    }

    /// Reads the header and not a byte more; none if there is none, or not in time.
    async fn introduced<S: AsyncRead + Unpin>(&self, io: &mut S, peers: Peers) -> Option<Peers> {
        let place = self.watches.enter();
        let within_ms = self.limits().head_timeout.as_millis() as u64;
        place.set(self.clock.now().ticks_ms + within_ms);
        let mut bytes = Vec::new();
        loop {
            let missing = match proxy::read(&bytes) {
                Ok(Read::Missing(missing)) => missing,
                Ok(Read::Whole(Introduction::Itself, _)) => return Some(peers),
                Ok(Read::Whole(Introduction::For { source, destination }, _)) => {
                    let (peer, local) = (source, destination);
                    return Some(Peers { peer, local, is_here: false, ..peers });
                }
                Err(NoHeader) => return None,
            };
            let mut more = (&mut *io).take(missing as u64);
            let mut read = pin!(more.read_buf(&mut bytes));
            let count = poll_fn(|context| match read.as_mut().poll(context) {
                Poll::Ready(result) => Poll::Ready(result.ok()),
                Poll::Pending => place.poll_fired(context).map(|()| None),
            })
            .await?;
            if count == 0 {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies() -> Proxies {
        let networks = |texts: &[&str]| {
            texts.iter().map(|text| text.parse().expect("a network")).collect::<Vec<Network>>()
        };
        Proxies {
            introducing: networks(&["10.1.0.0/16"]),
            trusted: networks(&["10.0.0.0/8", "127.0.0.1", "::1"]),
            field: TrustedField::XForwarded,
        }
    }

    /// Who asks, by which scheme, and whether that is a program on this machine.
    fn asks(peer: &str, fields: &str) -> String {
        let peer = SocketAddr::new(peer.parse().expect("an address"), 5000);
        let peers = Peers::new(peer, peer, "http");
        let fields = Fields::parse(fields.as_bytes()).expect("valid fields");
        let Peers { peer, scheme, is_here, .. } = peers.of_request(&proxies(), &fields);
        format!("{} {scheme}{}", peer.ip(), if is_here { " here" } else { "" })
    }

    #[test]
    fn only_trusted_proxies_tell_who_asks() {
        let claim = "X-Forwarded-For: 192.0.2.1\nX-Forwarded-Proto: https";
        for (peer, fields, expected) in [
            ("10.0.0.1", claim, "192.0.2.1 https"),
            ("::ffff:10.0.0.1", claim, "192.0.2.1 https"),
            ("127.0.0.1", claim, "192.0.2.1 https"),
            ("10.0.0.1", "", "10.0.0.1 http"),
            ("127.0.0.1", "", "127.0.0.1 http here"),
            ("203.0.113.9", claim, "203.0.113.9 http"),
            ("127.0.0.2", claim, "127.0.0.2 http here"),
        ] {
            assert_eq!(asks(peer, fields), expected, "{peer} {fields}");
        }
    }

    #[test]
    fn no_field_makes_somebody_a_program_on_this_machine() {
        for (peer, claim, expected) in [
            ("10.0.0.1", "127.0.0.1", "127.0.0.1 http"),
            ("127.0.0.1", "127.0.0.1", "127.0.0.1 http"),
            ("127.0.0.1", "unknown", "127.0.0.1 http"),
            ("::1", "::1", "::1 http"),
        ] {
            assert_eq!(asks(peer, &format!("X-Forwarded-For: {claim}")), expected);
        }
    }
}
