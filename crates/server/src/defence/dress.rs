//! What the owner has put on answers: a page of its own where the origin is out or busy, and
//! fields that tell browsers to be careful.

use policy::{FailReason, Verdict};
use wire::{Fields, Name, ResponseHead};

use super::Defence;
use crate::reply::{Head, Payload, Reply};
use crate::request_id;

/// When somebody who found an origin out may try again.
const RETRY_SECONDS: &str = "5";

/// What browsers are told, unless the app tells them something else.
const CAREFUL: [(&str, &str); 3] = [
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "strict-origin-when-cross-origin"),
    ("x-frame-options", "SAMEORIGIN"),
];

impl Defence {
    /// The owner's page in the place of our sentence, where no answer was to be had for
    /// reasons that will pass.
    pub(crate) fn dress(&self, mut reply: Reply) -> Reply {
        let will_pass = matches!(
            reply.verdict,
            Verdict::Failed(
                FailReason::QueueFull | FailReason::OriginUnreachable | FailReason::OriginTimeout
            )
        );
        let Some(page) = self.rules.load().busy_page.clone().filter(|_| will_pass) else {
            return reply;
        };
        if let Head::Ready(head) = &mut reply.head {
            // 504 is what the law wants where a page had to be validated.
            if head.status == 502 {
                head.status = 503;
            }
            head.fields.set(Name::ContentLength, page.len().to_string());
            if !head.fields.has(Name::RetryAfter) {
                head.fields.put(Name::RetryAfter, RETRY_SECONDS);
            }
            reply.payload = Payload::Whole(page);
        }
        reply
    }

    /// An origin's answer as the owner wants it to go out, and be stored.
    pub(crate) fn finish(&self, answer: &mut ResponseHead) {
        let rules = self.rules.load();
        // What a 304 says takes the place of what is stored, which may be the app's own.
        if rules.security_headers && answer.status != 304 {
            be_careful(&mut answer.fields);
        }
        if rules.request_id {
            request_id::remove(&mut answer.fields);
        }
    }
}

fn be_careful(fields: &mut Fields) {
    let frames_are_told = fields
        .all_named("content-security-policy")
        .any(|policy| memchr::memmem::find(policy, b"frame-ancestors").is_some());
    for (name, value) in CAREFUL {
        let is_told = fields.all_named(name).next().is_some()
            || (frames_are_told && name == "x-frame-options");
        if !is_told {
            fields.push(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_are_told_what_the_app_does_not_tell_them() {
        let all = "x-content-type-options: nosniff\n\
                   referrer-policy: strict-origin-when-cross-origin\nx-frame-options: SAMEORIGIN";
        for (said, expected) in [
            ("", all.to_owned()),
            ("X-Own: 1", format!("X-Own: 1\n{all}")),
            (
                "X-Frame-Options: DENY\nReferrer-Policy: no-referrer",
                "X-Frame-Options: DENY\nReferrer-Policy: no-referrer\n\
                 x-content-type-options: nosniff"
                    .to_owned(),
            ),
            (
                "Content-Security-Policy: default-src *; frame-ancestors https://a.test",
                "Content-Security-Policy: default-src *; frame-ancestors https://a.test\n\
                 x-content-type-options: nosniff\n\
                 referrer-policy: strict-origin-when-cross-origin"
                    .to_owned(),
            ),
        ] {
            let mut fields = Fields::parse(said.as_bytes()).expect("valid fields");
            be_careful(&mut fields);
            let expected = Fields::parse(expected.as_bytes()).expect("valid fields");
            assert_eq!(fields, expected, "{said}");
        }
    }
}
