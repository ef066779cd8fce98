//! Structured data: whether what a page says of itself in JSON-LD has what its type needs to be
//! used by anybody.
//!
//! Judged are the things that a page says on their own, in schema.org's words: what stands within
//! another thing is judged by few rules, and what merely names something by its `@id` by none.
//! What is needed is what search engines need to show it, not all that may be said.

use serde_json::{Map, Value};

/// Things that are judged on one page.
const THINGS_MAX: usize = 200;

/// What a type needs: of each row one.
struct Need {
    kinds: &'static [&'static str],
    one_of: &'static [&'static [&'static str]],
}

const NEEDS: &[Need] = &[
    Need {
        kinds: &["Article", "NewsArticle", "BlogPosting", "TechArticle", "Report"],
        one_of: &[&["headline", "name"]],
    },
    Need { kinds: &["Product"], one_of: &[&["name"], &["offers", "review", "aggregateRating"]] },
    Need { kinds: &["BreadcrumbList", "ItemList"], one_of: &[&["itemListElement"]] },
    Need {
        kinds: &["Event", "MusicEvent", "SportsEvent", "TheaterEvent", "BusinessEvent", "Festival"],
        one_of: &[&["name"], &["startDate"], &["location"]],
    },
    Need { kinds: &["Recipe"], one_of: &[&["name"], &["image"]] },
    Need { kinds: &["FAQPage", "QAPage"], one_of: &[&["mainEntity"]] },
    Need {
        kinds: &["Organization", "Corporation", "NewsMediaOrganization", "Person"],
        one_of: &[&["name"]],
    },
    Need { kinds: &["LocalBusiness", "Restaurant", "Store"], one_of: &[&["name"], &["address"]] },
    Need { kinds: &["WebSite"], one_of: &[&["name"], &["url"]] },
    Need {
        kinds: &["VideoObject"],
        one_of: &[&["name"], &["thumbnailUrl", "thumbnail"], &["uploadDate"]],
    },
    Need {
        kinds: &["JobPosting"],
        one_of: &[
            &["title"],
            &["description"],
            &["datePosted"],
            &["hiringOrganization"],
            &["jobLocation", "applicantLocationRequirements"],
        ],
    },
    Need {
        kinds: &["AggregateRating"],
        one_of: &[&["ratingValue"], &["ratingCount", "reviewCount"]],
    },
    Need { kinds: &["Review"], one_of: &[&["author"], &["reviewRating", "reviewBody"]] },
    Need { kinds: &["Offer"], one_of: &[&["price", "priceSpecification"]] },
    Need { kinds: &["AggregateOffer"], one_of: &[&["lowPrice"], &["priceCurrency"]] },
    Need { kinds: &["Course"], one_of: &[&["name"], &["description"]] },
    Need { kinds: &["SoftwareApplication", "MobileApplication"], one_of: &[&["name"]] },
    Need { kinds: &["Book"], one_of: &[&["name"]] },
];

/// What its things lack, each told in one sentence.
pub(super) fn lacks(data: &Value) -> Vec<String> {
    let mut told = Vec::new();
    let roots = match data {
        Value::Array(all) => all.iter().collect(),
        other => vec![other],
    };
    let mut left = THINGS_MAX;
    for root in roots.into_iter().filter_map(Value::as_object).filter(|root| is_of_schema(root)) {
        match root.get("@graph") {
            Some(graph) => {
                each(graph).take(left).for_each(|thing| judge(thing, &mut told));
                left = left.saturating_sub(each(graph).count());
            }
            None if left > 0 => {
                judge(root, &mut told);
                left -= 1;
            }
            None => {}
        }
    }
    told.sort();
    told.dedup();
    told
}

/// Whether it speaks schema.org's words.
fn is_of_schema(root: &Map<String, Value>) -> bool {
    let names = |value: &Value| value.as_str().is_some_and(|text| text.contains("schema.org"));
    match root.get("@context") {
        Some(Value::Array(all)) => all.iter().any(names),
        Some(Value::Object(words)) => words.get("@vocab").is_some_and(names),
        Some(one) => names(one),
        None => false,
    }
}

/// The things of a value that may be one of them or several.
fn each(value: &Value) -> impl Iterator<Item = &Map<String, Value>> {
    let all = match value {
        Value::Array(all) => &all[..],
        one => std::slice::from_ref(one),
    };
    all.iter().filter_map(Value::as_object)
}

fn kinds(thing: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let all = match thing.get("@type") {
        Some(Value::Array(all)) => &all[..],
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    // Some write the whole address, or a prefix of their own.
    all.iter().filter_map(Value::as_str).map(|kind| kind.rsplit(['/', ':']).next().unwrap_or(kind))
}

/// Whether it says something by this name.
fn says(thing: &Map<String, Value>, name: &str) -> bool {
    match thing.get(name) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.trim().is_empty(),
        Some(Value::Array(all)) => !all.is_empty(),
        Some(_) => true,
    }
}

fn judge(thing: &Map<String, Value>, told: &mut Vec<String>) {
    // What is only named is said elsewhere.
    if thing.keys().all(|key| matches!(key.as_str(), "@id" | "@type" | "@context")) {
        return;
    }
    for kind in kinds(thing) {
        let needs = NEEDS.iter().find(|need| need.kinds.contains(&kind));
        for one_of in needs.into_iter().flat_map(|need| need.one_of) {
            if !one_of.iter().any(|name| says(thing, name)) {
                told.push(format!("{kind} lacks {}", one_of.join(" or ")));
            }
        }
        match kind {
            "BreadcrumbList" => steps(thing, told),
            "FAQPage" => questions(thing, told),
            "Product" | "Recipe" | "SoftwareApplication" => {
                for within in ["offers", "aggregateRating"] {
                    thing.get(within).into_iter().flat_map(each).for_each(|one| judge(one, told));
                }
            }
            _ => {}
        }
    }
}

/// Each step has a place and a name, and each but the last an address.
fn steps(list: &Map<String, Value>, told: &mut Vec<String>) {
    let steps: Vec<_> = list.get("itemListElement").into_iter().flat_map(each).collect();
    for (at, step) in steps.iter().enumerate() {
        let item = step.get("item").and_then(Value::as_object);
        let has_name = says(step, "name") || item.is_some_and(|item| says(item, "name"));
        let mut lacks = Vec::new();
        if !says(step, "position") {
            lacks.push("position");
        }
        if !has_name {
            lacks.push("name");
        }
        if at + 1 < steps.len() && !says(step, "item") {
            lacks.push("item");
        }
        if !lacks.is_empty() {
            told.push(format!("step {} of BreadcrumbList lacks {}", at + 1, lacks.join(" and ")));
        }
    }
}

/// Each question has an answer with a text.
fn questions(page: &Map<String, Value>, told: &mut Vec<String>) {
    for (at, question) in page.get("mainEntity").into_iter().flat_map(each).enumerate() {
        let mut answers = question.get("acceptedAnswer").into_iter().flat_map(each);
        let mut lacks = Vec::new();
        if !says(question, "name") {
            lacks.push("name");
        }
        if !answers.any(|answer| says(answer, "text")) {
            lacks.push("acceptedAnswer with text");
        }
        if !lacks.is_empty() {
            told.push(format!("question {} of FAQPage lacks {}", at + 1, lacks.join(" and ")));
        }
    }
}

#[cfg(test)]
mod cases {
    use super::*;

    #[track_caller]
    fn check(thing: &str, expected: &[&str]) {
        let text = format!("{{\"@context\": \"https://schema.org\", {thing}}}");
        let data: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(lacks(&data), expected, "{thing}");
    }

    #[test]
    fn what_each_type_needs_is_looked_for() {
        for (thing, expected) in [
            (r#""@type": "Article", "headline": "A""#, &[][..]),
            (
                r#""@type": "NewsArticle", "headline": " ", "author": "B""#,
                &["NewsArticle lacks headline or name"],
            ),
            (
                r#""@type": ["Product", "Thing"], "name": "A", "offers": {"@type": "Offer", "price": 0}"#,
                &[],
            ),
            (
                r#""@type": "http://schema.org/Product", "name": "A", "offers": [{"@type": "Offer", "url": "/"}]"#,
                &["Offer lacks price or priceSpecification"],
            ),
            (
                r#""@type": "Product", "image": "a""#,
                &["Product lacks name", "Product lacks offers or review or aggregateRating"],
            ),
            (r#""@type": "Event", "name": "A", "startDate": "2026-01-01", "location": {}"#, &[]),
            (
                r#""@type": "Event", "name": "A", "location": null"#,
                &["Event lacks location", "Event lacks startDate"],
            ),
            (r#""@type": "Recipe", "name": "A", "image": []"#, &["Recipe lacks image"]),
            (r#""@type": "Organization", "url": "/""#, &["Organization lacks name"]),
            (r##""@type": "Organization", "@id": "#own""##, &[]),
            (r#""@type": "WebSite", "name": "A", "url": "/""#, &[]),
            (
                r#""@type": "VideoObject", "name": "A", "thumbnailUrl": ["a"]"#,
                &["VideoObject lacks uploadDate"],
            ),
            (
                r#""@type": "BreadcrumbList", "itemListElement": [
                {"@type": "ListItem", "position": 1, "name": "A", "item": "/"},
                {"@type": "ListItem", "position": 2, "item": {"@id": "/b", "name": "B"}},
                {"@type": "ListItem", "position": 3, "name": "C"}]"#,
                &[],
            ),
            (
                r#""@type": "BreadcrumbList", "itemListElement": [{"name": "A"}, {"position": 2}]"#,
                &[
                    "step 1 of BreadcrumbList lacks position and item",
                    "step 2 of BreadcrumbList lacks name",
                ],
            ),
            (
                r#""@type": "FAQPage", "mainEntity": [
                {"name": "A?", "acceptedAnswer": {"text": "B"}}, {"acceptedAnswer": {}}]"#,
                &["question 2 of FAQPage lacks name and acceptedAnswer with text"],
            ),
            (r#""@type": "AggregateRating", "ratingValue": 4, "reviewCount": 2"#, &[]),
            (r#""@type": "Thing", "url": "/""#, &[]),
            (
                r#""@graph": [{"@type": "WebSite", "name": "A"}, {"@type": "Article", "name": "B"}]"#,
                &["WebSite lacks url"],
            ),
        ] {
            check(thing, expected);
        }
    }

    #[test]
    fn other_words_are_nobodys_business_and_many_things_are_bounded() {
        let other: Value =
            serde_json::from_str(r#"{"@context": "https://a.test", "@type": "Product"}"#).unwrap();
        assert_eq!(lacks(&other), [""; 0]);
        let bare: Value =
            serde_json::from_str(r#"[{"@type": "Product", "x": 1}, 7, null]"#).unwrap();
        assert_eq!(lacks(&bare), [""; 0]);
        let one =
            r#"{"@context": {"@vocab": "https://schema.org/"}, "@type": "Recipe", "name": "N"}"#;
        let many = format!("[{}]", vec![one; 1_000].join(","));
        let many: Value = serde_json::from_str(&many).unwrap();
        assert_eq!(lacks(&many), ["Recipe lacks image"], "each is told once");
    }
}
