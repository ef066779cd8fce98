//! Names of languages as `hreflang` takes them: a language, perhaps a script, perhaps a region
//! (RFC 5646 §2.1; ISO 639-1, ISO 15924, ISO 3166-1).
//!
//! Of two letters only what the standards have is right; of three letters there are too many to
//! be told apart, so any three are.

const LANGUAGES: &str = " aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce \
    ch co cr cs cu cv cy da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv \
    ha he hi ho hr ht hu hy hz ia id ie ig ii ik in io is it iu iw ja ji jv jw ka kg ki kj kk kl \
    km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mo mr ms mt my na nb \
    nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh \
    si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz \
    ve vi vo wa wo xh yi yo za zh zu ";
const REGIONS: &str = " ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj \
    bl bm bn bo bq br bs bt bv bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz \
    de dj dk dm do dz ec ee eg eh er es et fi fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp \
    gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki \
    km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mf mg mh mk ml mm mn mo mp \
    mq mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm \
    pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st sv sx \
    sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug um us uy uz va vc ve vg vi vn vu \
    wf ws xk ye yt za zm zw ";
/// What is often written for another, and what was meant.
const MEANT: [(&str, &str); 8] = [
    ("jp", "ja"),
    ("cn", "zh"),
    ("cz", "cs"),
    ("gr", "el"),
    ("ua", "uk"),
    ("dk", "da"),
    ("us", "en-US"),
    ("gb", "en-GB"),
];

fn has(list: &str, name: &str) -> bool {
    name.len() == 2 && list.split_whitespace().any(|own| own == name)
}

/// What is wrong with the name of a language.
pub(super) fn fault(written: &str) -> Option<String> {
    let lower = written.to_ascii_lowercase();
    let mut parts = lower.split('-');
    let language = parts.next().unwrap_or("");
    let is_letters = |part: &str| part.bytes().all(|letter| letter.is_ascii_lowercase());
    let is_language = has(LANGUAGES, language) || language.len() == 3 && is_letters(language);
    if !is_language {
        let meant = MEANT.iter().find(|(wrong, _)| *wrong == language);
        return Some(match meant {
            Some((_, meant)) => format!("{language} is no language; {meant} may be meant"),
            None if lower.contains('_') => "parts are separated by hyphens".to_owned(),
            None => format!("{language:?} is no language"),
        });
    }
    let rest: Vec<&str> = parts.collect();
    let is_script = |part: &str| part.len() == 4 && is_letters(part);
    let region = match rest[..] {
        [] => return None,
        [script] if is_script(script) => return None,
        [script, region] if is_script(script) => region,
        [region] => region,
        // Variants and extensions are seldom, and nobody is kept from them.
        _ => return None,
    };
    let is_number = region.len() == 3 && region.bytes().all(|it| it.is_ascii_digit());
    match region {
        "uk" => Some("uk is no region; gb is meant".to_owned()),
        _ if has(REGIONS, region) || is_number || region.len() > 3 => None,
        _ => Some(format!("{region:?} is no region")),
    }
}

#[cfg(test)]
mod cases {
    use super::*;

    #[test]
    fn languages_that_there_are_are_told_from_others() {
        for right in
            ["en", "EN-gb", "zh-Hant", "zh-hans-cn", "es-419", "gsw-CH", "sr-Latn", "de-1996"]
        {
            assert_eq!(fault(right), None, "{right}");
        }
        for (wrong, expected) in [
            ("jp", "jp is no language; ja may be meant"),
            ("en-UK", "uk is no region; gb is meant"),
            ("en_US", "parts are separated by hyphens"),
            ("xx", "\"xx\" is no language"),
            ("english", "\"english\" is no language"),
            ("fr-zz", "\"zz\" is no region"),
            ("es-lat", "\"lat\" is no region"),
        ] {
            assert_eq!(fault(wrong).as_deref(), Some(expected), "{wrong}");
        }
    }
}
