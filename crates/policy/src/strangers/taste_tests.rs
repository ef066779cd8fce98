//! Tables of user agents and languages as they are really sent.

use super::*;

fn fields(agent: &str, languages: &str) -> Fields {
    let mut fields = Fields::new();
    fields.put(Name::UserAgent, agent);
    fields.put(Name::AcceptLanguage, languages);
    fields
}

#[test]
fn devices_are_told_as_apps_tell_them() {
    use Device::{Desktop, Mobile, Tablet};
    for (agent, device) in [
        ("", Desktop),
        ("curl/8.5.0", Desktop),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", Desktop),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like \
          Gecko) Version/17.6 Safari/605.1.15",
            Desktop,
        ),
        ("Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0; Tablet PC 2.0)", Desktop),
        ("Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 Chrome/140.0.0.0", Desktop),
        (
            "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) \
          Chrome/140.0.0.0 Mobile Safari/537.36",
            Mobile,
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, \
          like Gecko) Version/17.6 Mobile/15E148 Safari/604.1",
            Mobile,
        ),
        ("Mozilla/5.0 (Android 14; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0", Mobile),
        ("Opera/9.80 (J2ME/MIDP; Opera Mini/9.80 (S60; SymbOS) Presto/2.5.25", Mobile),
        ("Mozilla/5.0 (Windows Phone 10.0; Android 6.0.1; Microsoft; Lumia 950)", Mobile),
        ("Mozilla/5.0 (BB10; Touch) AppleWebKit/537.10+ Version/10.0.9 Safari/537.10+", Mobile),
        ("BlackBerry9700/5.0.0.351 Profile/MIDP-2.1", Mobile),
        (
            "Mozilla/5.0 (iPad; CPU OS 17_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like \
          Gecko) Version/17.6 Mobile/15E148 Safari/604.1",
            Tablet,
        ),
        (
            "Mozilla/5.0 (Linux; Android 13; SM-X200) AppleWebKit/537.36 (KHTML, like Gecko) \
          Chrome/140.0.0.0 Safari/537.36",
            Tablet,
        ),
        ("Mozilla/5.0 (Android 14; Tablet; rv:140.0) Gecko/140.0 Firefox/140.0", Tablet),
        (
            "Mozilla/5.0 (Linux; Android 9; KFMAWI) AppleWebKit/537.36 Silk/120.1 like Chrome/120 \
          Safari/537.36",
            Tablet,
        ),
        ("MOZILLA/5.0 (IPHONE)", Mobile),
    ] {
        assert_eq!(taste(&fields(agent, "")).device(), device, "{agent:?}");
    }
}

#[test]
fn robots_are_those_that_say_so() {
    for agent in [
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
        "Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)",
        "Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)",
        "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)",
        "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
        "ia_archiver (+http://www.alexa.com/site/help/webmasters)",
        "Mediapartners-Google",
        "SomeCRAWLER/1",
        "Feedfetcher-Google",
        "robot",
    ] {
        assert!(taste(&fields(agent, "")).is_bot(), "{agent:?}");
    }
    for agent in [
        "",
        "Mozilla/5.0 (Linux; Android 11; CUBOT KING KONG) AppleWebKit/537.36 Chrome/100 Mobile",
        "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
        "bo t",
        "bo",
    ] {
        assert!(!taste(&fields(agent, "")).is_bot(), "{agent:?}");
    }
    let phone = "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X) Mobile Safari/537.36 (compatible; \
                 Googlebot/2.1; +http://www.google.com/bot.html)";
    let taste = taste(&fields(phone, ""));
    assert!(taste.is_bot() && taste.device() == Device::Mobile);
}

#[test]
fn the_user_agent_of_a_taste_has_that_taste() {
    for device in [Device::Desktop, Device::Mobile, Device::Tablet] {
        for is_bot in [false, true] {
            let wanted = Taste { device, is_bot, ..Taste::default() };
            assert_eq!(taste(&fields(user_agent(&wanted), "")), wanted);
        }
    }
    let program = Taste { is_program: true, ..Taste::default() };
    assert_eq!(taste(&fields(user_agent(&program), "")), program);
}

#[test]
fn programs_are_those_that_say_nothing_of_a_browser() {
    for agent in ["", "curl/8.5.0", "Wget/1.21", "python-requests/2.31", "check_http/v2.3", "x"] {
        let taste = taste(&fields(agent, ""));
        assert!(taste.is_program && !taste.is_bot() && !taste.is_browser(), "{agent:?}");
    }
    for agent in [
        "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
        "MOZILLA/4.0",
        "Opera/9.80 (X11; Linux x86_64) Presto/2.12.388 Version/12.16",
        "BlackBerry9700/5.0.0.351 Profile/MIDP-2.1",
    ] {
        assert!(taste(&fields(agent, "")).is_browser(), "{agent:?}");
    }
    assert!(!taste(&fields("Feedfetcher-Google", "")).is_browser());
}

#[test]
fn languages_are_ordered_by_weight_and_cut() {
    for (sent, expected) in [
        ("", ""),
        ("*", ""),
        ("de", "de"),
        ("de-DE,de;q=0.9,en;q=0.8", "de-de,de,en"),
        ("en;q=0.5, de;q=0.9, fr", "fr,de,en"),
        ("en;q=0.5,de;q=0.5,fr;q=0.50", "en,de,fr"),
        ("en , de ; q=0.3 ,\tfr ;\tq=0.4", "en,fr,de"),
        ("en;q=0,de", "de"),
        ("en;q=0.000,de;q=0.001", "de"),
        ("en;q=1.000,de;Q=1", "en,de"),
        ("*;q=0.1,ko-KR", "ko-kr"),
        ("EN,en;q=0.3", "en"),
        ("zh-Hant-TW", "zh-hant-tw"),
        ("a,b,c,d,e,f", "a,b,c,d"),
        ("a;q=0.1,b;q=0.2,c;q=0.3,d;q=0.4,e;q=0.5,f;q=0.6", "f,e,d,c"),
        ("a,b,c,d;q=0.1,e", "a,b,c,e"),
        ("en_US,de", "de"),
        ("en;q=2,en;q=x,en;q=0.1234,en;q=,en;q=1.5,en;x=1,en;q=1;q=1,de", "de"),
        ("e\"n,de", ""),
        ("abcdefghi,de", "de"),
        ("../../etc/passwd,de", "de"),
        ("<script>,de;q=0.7", "de"),
        ("1a,-,a-,-a,é,de", "de"),
        ("aaaaaaaa-bbbbbbbb-cccccccc-dddddddd-eeee", "aaaaaaaa-bbbbbbbb-cccccccc-dddddddd-eeee"),
        ("aaaaaaaa-bbbbbbbb-cccccccc-dddddddd-eeeee", ""),
        ("aaaaaaaa-bbbbbbbb-cccccccc-dddddddd,en,b", "aaaaaaaa-bbbbbbbb-cccccccc-dddddddd,en,b"),
        ("aaaaaaaa-bbbbbbbb-cccccccc-dddddddd,enx,b,c", "aaaaaaaa-bbbbbbbb-cccccccc-dddddddd,enx"),
    ] {
        let read = languages(&fields("", sent));
        assert_eq!(read, expected, "{sent:?}");
        assert_eq!(languages(&fields("", &read)), expected, "{sent:?} again");
    }
}

#[test]
fn one_taste_for_languages_that_come_to_the_same() {
    let of = |sent: &str| taste(&fields("", sent));
    for (left, right, same) in [
        ("de-DE,de;q=0.9", "de-de, de;q=0.5", true),
        ("de,en;q=0", "de", true),
        ("", "*", true),
        ("de", "en", false),
        ("de,en", "en,de", false),
        ("de", "", false),
        ("de-en", "de,en", false),
    ] {
        assert_eq!(of(left) == of(right), same, "{left:?} {right:?}");
    }
    assert_eq!(of(""), taste(&Fields::new()));
    assert!(!of("*").has_languages() && of("de").has_languages());
}

#[test]
fn every_word_is_found_by_its_first_letter() {
    for (word, _) in WORDS {
        for text in [word.to_string(), word.to_ascii_uppercase()] {
            let of_letter = WORDS_OF[text.as_bytes()[0] as usize];
            assert!(of_letter.seconds & (1 << (text.as_bytes()[1] & 31)) != 0, "{text}");
            let found = of_letter.word_at(text.as_bytes());
            assert_eq!(found.map(|(other, _)| other), Some(word));
        }
    }
    assert!(WORDS_OF[b'z' as usize].word_at(b"zzz").is_none());
}
