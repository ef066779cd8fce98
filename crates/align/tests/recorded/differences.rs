//! Where we answer otherwise than the record, and why that is better.

/// For a pair: the reason, then the lines that only the record has (`-`) and that only we
/// have (`+`).
pub(crate) struct Otherwise {
    pub(crate) name: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) lines: &'static [&'static str],
}

/// All differences.
pub(crate) const OTHERWISE: &[Otherwise] = &[
    Otherwise {
        name: "base64-token",
        reason: "a token with slashes is a parameter's value, not a reason to take the whole \
            address for one value, which no request would ever hold",
        lines: &[
            "- href: /index.php?route=checkout/cart&t=F4tQuCgrahFOoh+Dpsn/E4fJ5r+BMBDIjq7Ode9ctZQh&x=1 \
                -> /index.php?route=checkout/cart&t=nYsiqlmKhK3cg/t/vgz7ycR7e4ktYXqDT90n8D+Zs765&x=1",
            "+ t: F4tQuCgrahFOoh+Dpsn/E4fJ5r+BMBDIjq7Ode9ctZQh \
                -> nYsiqlmKhK3cg/t/vgz7ycR7e4ktYXqDT90n8D+Zs765",
        ],
    },
    Otherwise {
        name: "brackets-in-attributes",
        reason: "a bracket in quotes does not end a tag, so what follows is not text",
        lines: &[
            "- reads ' src=\"/i?k=58b8198263a83f65f266\"> -> ' src=\"/i?k=d1d422669435b99049ed\">",
            "- reads 2 & rising\" data-key=\"58b8198263a83f65f266\">News \
                -> 2 & rising\" data-key=\"d1d422669435b99049ed\">News",
            "+ data-key: 58b8198263a83f65f266 -> d1d422669435b99049ed",
            "+ k: 58b8198263a83f65f266 -> d1d422669435b99049ed",
        ],
    },
    Otherwise {
        name: "comments",
        reason: "a comment without a counterpart is as invisible as one that differs",
        lines: &["- left 2", "+ left 0"],
    },
    Otherwise {
        name: "fragment-in-data",
        reason: "only the key differs, and neither is the field's name; the token is strong \
            and is found anywhere",
        lines: &[
            "- value: 050c168227a0bd5c4542e57d79810a9e -> bc5eca6b9e90b3f4f9ecd9891ec6a426",
            "+ html: 050c168227a0bd5c4542e57d79810a9e -> bc5eca6b9e90b3f4f9ecd9891ec6a426",
        ],
    },
    Otherwise {
        name: "greeting",
        reason: "a title is read by people; a name in it must speak against sharing",
        lines: &[
            "- title: Wanderer -> Stranger",
            "+ reads Signed in as Wanderer -> Signed in as Stranger",
        ],
    },
    Otherwise {
        name: "handlers",
        reason: "a handler is a program, so its parts are keyed as in scripts",
        lines: &["- onclick: f5e6df202 -> b1ed7ac3f", "+ reqWin: f5e6df202 -> b1ed7ac3f"],
    },
    Otherwise {
        name: "inserted-block",
        reason: "white space is not counted",
        lines: &["- left 7", "+ left 6"],
    },
    Otherwise {
        name: "mixed",
        reason: "words and numbers of any length have one skeleton, so the line is paired",
        lines: &[
            "- left 2",
            "+ left 0",
            "+ reads Time: 0.13s | Queries: 14 | Peak Memory Usage: 2.60 MiB \
                -> Time: 0.14s | Queries: 15 | Peak Memory Usage: 2.61 MiB",
        ],
    },
    Otherwise {
        name: "row-order",
        reason: "white space is not counted",
        lines: &["- left 130", "+ left 66"],
    },
];
