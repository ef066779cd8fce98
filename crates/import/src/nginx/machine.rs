//! Directives that hold for the whole machine in Wick, and those that set a site's times.
//!
//! Where nginx has a limit for each server or address, Wick has one: the largest.

use super::{Directive, Reader, amount, time};
use crate::draft::Draft;
use crate::found::{Value, Why};
use crate::tls;

/// What `head` is if nobody says otherwise.
const HEAD_BYTES: u64 = 64 << 10;
/// nginx's "no limit" for a body.
const BODY_BYTES: u64 = 1 << 40;

impl Reader {
    /// Takes a directive that is about all sites; says whether it was one.
    pub(super) fn machine(&mut self, directive: &Directive) -> bool {
        match directive.name.as_str() {
            "client_max_body_size" => match amount::nginx_bytes(directive.word(0)) {
                Some(0) => self.limit("body", Value::Bytes(BODY_BYTES), directive),
                Some(bytes) => self.limit("body", Value::Bytes(bytes), directive),
                None => self.unclear(directive),
            },
            "client_header_timeout" => self.timeout("head_timeout", directive),
            "client_body_timeout" => self.timeout("body_timeout", directive),
            "keepalive_timeout" => self.timeout("idle_timeout", directive),
            "send_timeout" => self.timeout("write_timeout", directive),
            "large_client_header_buffers" => {
                let number = directive.word(0).parse::<u64>().ok();
                let bytes = number.zip(amount::nginx_bytes(directive.word(1)));
                match bytes.and_then(|(number, bytes)| number.checked_mul(bytes)) {
                    Some(bytes) if bytes > HEAD_BYTES && bytes <= 1 << 24 => {
                        self.limit("head", Value::Bytes(bytes), directive);
                    }
                    _ => {
                        let advice = "a request's head may have 64 KiB, or what head under \
                                      [limits] says";
                        self.leave(directive, Why::NotNeeded, advice);
                    }
                }
            }
            "set_real_ip_from" => self.trusted(directive),
            "access_log" => self.access_log(directive),
            _ => return false,
        }
        true
    }

    /// Takes a directive that sets one of a site's times; says whether it was one.
    pub(super) fn site_setting(&mut self, directive: &Directive, draft: &mut Draft) -> bool {
        if directive.name == "add_header" {
            let (name, value) = (directive.word(0), directive.word(1));
            return tls::hsts(&mut draft.section, name, value, &directive.place);
        }
        let names: &[&'static str] = match directive.name.as_str() {
            "fastcgi_connect_timeout" | "proxy_connect_timeout" => &["connect_timeout"],
            "fastcgi_read_timeout" | "proxy_read_timeout" => {
                &["first_byte_timeout", "origin_idle_timeout"]
            }
            "fastcgi_send_timeout" | "proxy_send_timeout" => &[],
            _ => return false,
        };
        match time(directive) {
            Some(time) => {
                for name in names {
                    draft.section.raise(name, Value::Time(time), &directive.place);
                    draft.section.note(name, "for the whole site");
                }
            }
            None => self.unclear(directive),
        }
        if names.is_empty() {
            let advice = "an origin that takes nothing is given up after origin_idle_timeout";
            self.leave(directive, Why::NotNeeded, advice);
        }
        true
    }

    /// A proxy whose word about visitors is believed.
    fn trusted(&mut self, directive: &Directive) {
        match crate::address::network(directive.word(0)) {
            Some(network) => self.imported.top.add("trusted_proxies", &network, &directive.place),
            None => {
                let advice = "write the network as trusted_proxies = [\"10.0.0.0/8\"]";
                self.leave(directive, Why::Cannot, advice);
            }
        }
    }

    /// Those whose connections begin with a header of the PROXY protocol, instead.
    pub(super) fn introducing(&mut self, directive: &Directive) {
        if self.introducing.is_none() {
            self.introducing = Some(directive.clone());
        }
    }

    /// What the PROXY protocol tells needs no field.
    pub(super) fn settle_proxies(&mut self) {
        let Some(directive) = self.introducing.take() else { return };
        let settings = &mut self.imported.top.settings;
        match settings.iter_mut().find(|setting| setting.name == "trusted_proxies") {
            Some(setting) => setting.name = "proxy_protocol",
            None => {
                let advice = "name the proxies, as in proxy_protocol = [\"10.0.0.0/8\"]";
                self.leave(&directive, Why::Cannot, advice);
            }
        }
    }

    fn unclear(&mut self, directive: &Directive) {
        self.leave(directive, Why::Unknown, "it names no amount that Wick takes");
    }

    fn limit(&mut self, name: &'static str, value: Value, directive: &Directive) {
        self.imported.limits.raise(name, value, &directive.place);
    }

    fn timeout(&mut self, name: &'static str, directive: &Directive) {
        match time(directive) {
            Some(time) => self.limit(name, Value::Time(time), directive),
            None => self.unclear(directive),
        }
    }

    fn access_log(&mut self, directive: &Directive) {
        let path = directive.word(0);
        if path == "off" {
            let advice = "Wick's log has a line for every answer, or there is none";
            self.leave(directive, Why::NotNeeded, advice);
            return;
        }
        let is_stream = ["/dev/stdout", "/dev/stderr"].contains(&path);
        if !is_stream && !crate::address::is_plain_path(path) {
            let advice = "write the log's whole path as access_log, or \"-\" for standard error";
            self.leave(directive, Why::Cannot, advice);
            return;
        }
        let path = if is_stream { "-" } else { path };
        let top = &mut self.imported.top;
        if !top.set("access_log", Value::Text(path.to_owned()), &directive.place) {
            let advice = "Wick has one log for all sites: the first that is named";
            self.leave(directive, Why::Cannot, advice);
            return;
        }
        let named = directive.word(1);
        let format = match named.is_empty() || named.contains('=') {
            true => "combined",
            false => self
                .formats
                .iter()
                .find(|(name, _)| name == named)
                .map_or("combined", |(_, format)| format),
        };
        top.set("access_log_format", Value::Text(format.to_owned()), &directive.place);
    }
}
