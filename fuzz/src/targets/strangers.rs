//! Strangers: what is decided by a target, a request's fields and an answer's.

use policy::strangers::constancy::{Constancy, Wish};
use policy::strangers::shape::is_named_after;
use policy::strangers::{
    Errand, Jar, Origin, SetCookie, Standing, Visitor, errand, forbidden_verb, head_for_strangers,
    impossible, is_known_foreign, languages, may_set_preference, names_session, origin_of,
    own_referer, pairs, remove_cookies, set_cookies, shape, strip_own_etags, taste, user_agent,
    visitor, without_sessions, write_background_key,
};
use wire::{Fields, Name, ResponseHead};

use crate::sections::{fields, sections};

const HOST: &str = "a.test";
const UNIX_SECONDS: u64 = 784_111_777;

pub(crate) fn run(input: &[u8]) {
    let [target, request, answer] = sections(input);
    if let Ok(target) = std::str::from_utf8(target) {
        of_target(target);
    }
    let (request, answer) = (fields(request), fields(answer));
    of_request(&request);
    of_cookies(&request, &answer);
    of_answer(answer);
}

fn of_target(target: &str) {
    let class = shape(target);
    assert!(class.len() <= 512);
    assert_eq!(class, shape(target));
    let _ = may_set_preference(target);
    // Whatever the app calls its cookies, a session that has a usual name is seen.
    let unknown = names_session(target, |_| false);
    let named = names_session(target, |parameter| is_named_after(parameter, b"app_key"));
    assert!(named || !unknown);
    if let Some(other) = impossible(target) {
        assert_ne!(other, target);
        let is_harmless = |target: &str| forbidden_verb(target).is_none();
        assert!(!is_harmless(target) || is_harmless(&other), "{other}");
    }
}

fn of_request(request: &Fields) {
    // A request that bears anything of the app's is no stranger's, whatever else it bears.
    assert_eq!(
        visitor(request, |_| Standing::Foreign) == Visitor::Stranger,
        !request.has(Name::Authorization)
    );
    let mut member = request.clone();
    member.push("cookie", "app_key=1");
    let standing = |name: &[u8]| match name {
        b"app_key" => Standing::App,
        _ => Standing::Foreign,
    };
    assert_eq!(visitor(&member, standing), Visitor::Holder);

    let mut key = Vec::new();
    let has_key = write_background_key(&mut key, request, HOST);
    assert!(has_key != key.is_empty() && key.len() < 4096);
    if errand(request) == Errand::Navigation {
        assert!(!request.has(Name::XRequestedWith));
    }
    let taste = taste(request);
    assert!(!user_agent(&taste).is_empty() && languages(request).len() <= 40);
    // Who asks in another's name is told from who asks in one's own.
    let mut crossed = request.clone();
    crossed.push("origin", "http://evil.test");
    assert_eq!(origin_of(&crossed, "http", HOST), Origin::Cross);
    assert!(own_referer(request, HOST).is_none_or(|target| target.starts_with('/')));
    let mut to_origin = request.clone();
    strip_own_etags(&mut to_origin);
    let left = to_origin.clone();
    strip_own_etags(&mut to_origin);
    assert_eq!(to_origin, left);
}

fn of_cookies(request: &Fields, answer: &Fields) {
    let mut kept = request.clone();
    remove_cookies(&mut kept, is_known_foreign);
    assert!(!pairs(&kept).any(|(name, _)| is_known_foreign(name)));
    let mut jar = Jar::default();
    jar.absorb(answer, UNIX_SECONDS);
    for (name, value) in jar.iter() {
        assert!(jar.contains_name(name));
        let is_set = |cookie: SetCookie<'_>| cookie.name == name && cookie.value == value;
        assert!(set_cookies(answer).any(is_set));
    }
    let mut written = Vec::new();
    jar.write(&mut written);
    let mut sent = Fields::new();
    if !jar.is_empty() && sent.try_push(b"cookie", &written).is_ok() {
        assert!(pairs(&sent).eq(jar.iter()));
    }
}

fn of_answer(answer: Fields) {
    let wish = Wish::of(&answer);
    let mut constancy = Constancy::default();
    constancy.note(1, wish);
    assert!(!constancy.is_obeyed(wish));
    let head = ResponseHead { status: 200, fields: answer };
    let told = [head_for_strangers(&head, b"W/\"wk-1\""), without_sessions(&head.fields)];
    for told in told {
        assert!(!told.has(Name::SetCookie) && told.has(Name::Vary));
        let control: Vec<&[u8]> = told.all(Name::CacheControl).collect();
        assert!(control == [&b"no-store"[..]] || control == [&b"private, no-cache"[..]]);
        assert!(wish != Wish::NoStore || control == [&b"no-store"[..]]);
    }
}
