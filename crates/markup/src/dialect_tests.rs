//! Dialects' files: all that are built in are read; what one can't ask for is told.

use crate::{BUILT_IN, Dialect};

const HEAD: &str = "name = \"x\"\nform = \"typed\"\n";

fn check(rest: &str, expected: &str) {
    let told = Dialect::read(&format!("{HEAD}{rest}")).map(|_| ()).unwrap_err().to_string();
    assert!(told.contains(expected), "{rest}\n{told}");
}

#[test]
fn all_that_are_built_in_are_read() {
    for (name, text) in BUILT_IN {
        let dialect = Dialect::built_in(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(dialect.tags.len() > 10, "{name}");
        assert!(text.starts_with("# "), "{name} doesn't say what it is");
    }
    let told = Dialect::built_in("ubb").map(|_| ()).unwrap_err().to_string();
    assert!(told.contains("torrentpier"), "{told}");
}

#[test]
fn what_could_open_a_hole_is_no_dialect() {
    let tag = |html: &str| format!("[tag.x]\ndoes = \"wrap\"\nhtml = [{html}]\n");
    check(&tag("{ element = \"script\" }"), "line 5, column 21: unknown variant `script`");
    check(&tag("{ element = \"b\", onclick = \"x\" }"), "unknown field `onclick`");
    check(&tag("{ element = \"b\", class = \"a\\\" onclick=x\" }"), "can't be a class");
    check(&tag("{ element = \"b\", style = { behavior = \"x\" } }"), "unknown variant `behavior`");
    check(&tag("{ element = \"b\", style = { color = \"url(x)\" } }"), "can't be a style");
    check(&tag("{ element = \"b\", style = { color = \"{value}\" } }"), "value can't be a `color`");
    check(&tag("{ element = \"a\", href = \"javascript:{value}\" }"), "unknown variant");
    check(&tag("{ element = \"a\", href = \"{value}\" }"), "`href` belongs to");
    check(&tag("{ element = \"img\" }"), "`src = \"{value}\"` belongs to");
    check(&tag("{ element = \"iframe\" }"), "`src = \"{value}\"` belongs to");
    check(&tag("{ element = \"hr\", text = \"x\" }"), "takes no `text`");
    check(
        "[tag.x]\ndoes = \"image\"\nhtml = [{ element = \"iframe\", src = \"{value}\" }]\n",
        "belongs to",
    );
    check("[links]\nschemes = [\"javascript\"]\n[tag]\n", "unknown variant `javascript`");
    check("[links]\nrel = [\"a b\"]\n[tag]\n", "unknown variant");
    let smilies = |folder: &str, code: &str| {
        format!("[smilies]\nfolder = \"{folder}\"\nimages = {{ \"{code}\" = \"a.png\" }}\n[tag]\n")
    };
    check(&smilies("javascript:", ":)"), "can't be an image");
    check(&smilies("//evil.test/", ":)"), "can't be an image");
    check(&smilies("/", "a b"), "can't be a smiley");
    check(&smilies("/", "x"), "can't be a smiley");
}

#[test]
fn mistakes_are_told_with_what_to_write() {
    check("[tag.X]\ndoes = \"wrap\"\nhtml = []\n", "can't be a tag's name");
    check("[tag.x]\ndoes = \"bold\"\n", "unknown variant `bold`");
    check("[tag.x]\ndoes = \"wrap\"\n", "[tag.x]: write `html`");
    check("[tag.x]\ndoes = \"colour\"\nhtml = []\n", "[tag.x]: write `valued`");
    check("[tag.x]\ndoes = \"size\"\nvalued = []\n", "[tag.x]: write `sizes`");
    check(
        "[tag.x]\ndoes = \"wrap\"\nhtml = []\n[tag.y]\ndoes = \"wrap\"\naliases = [\"x\"]\nhtml = []\n",
        "twice",
    );
    let sides = "[tag.x]\ndoes = \"wrap\"\nhtml = []\nsides = { left = [] }\n";
    check(sides, "`sides` belongs to");
    check("[newlines]\naround = \"one\"\n[tag]\n", "unknown field `around`");
    let many: String =
        (0..120).map(|n| format!("[tag.x{n}]\ndoes = \"wrap\"\nhtml = []\n")).collect();
    check(&many, "there are more than 96 tags");
}
