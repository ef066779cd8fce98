//! Pages and what they come to: a line of input, a line of expected output.

use std::fmt::Write as _;

use wire::{Fields, RequestHead};

use super::*;

fn request(target: &str, fields: &str) -> RequestHead {
    RequestHead {
        target: target.to_owned(),
        host: "a.test".to_owned(),
        fields: Fields::parse(fields.as_bytes()).expect("valid fields"),
        ..RequestHead::default()
    }
}

fn visitor() -> RequestHead {
    request(
        "/page?q=a%20b&lang=de&x=<i>",
        "cookie: user=ann; group=7; sid=0123456789abcdef0123456789\n\
         user-agent: Mozilla/5.0 (X11; Linux)\naccept-language: de-AT, en;q=0.5\n\
         referer: http://a.test/\nx-plan: gold\nauthorization: Basic secret",
    )
}

/// The page as the plan has it: includes in brackets, tries in braces.
fn told(page: &[u8], plan: &[Part]) -> String {
    let mut out = String::new();
    for part in plan {
        match part {
            Part::Text(range) => out += &String::from_utf8_lossy(&page[range.clone()]),
            Part::Made(bytes) => out += &String::from_utf8_lossy(bytes),
            Part::Include(include) => {
                let Include { source, alternative, goes_on, keeping } = include;
                let _ = write!(out, "[{source}");
                if let Some(alternative) = alternative {
                    let _ = write!(out, " or {alternative}");
                }
                out += if *goes_on { " or nothing" } else { "" };
                out += if keeping.is_private { " private" } else { "" };
                out += if keeping.is_forbidden { " not kept" } else { "" };
                if let Some(seconds) = keeping.seconds {
                    let _ = write!(out, " {seconds}s");
                }
                out.push(']');
            }
            Part::Try(attempt, except) => {
                let _ = write!(out, "{{{}|{}}}", told(page, attempt), told(page, except));
            }
        }
    }
    out
}

fn check(page: &str, expected: &str) {
    let bytes = page.as_bytes();
    let whole = Compiler::compile(bytes);
    for cut in [1, 2, 3, 7] {
        let mut compiler = Compiler::new();
        bytes.chunks(cut).for_each(|piece| compiler.write(piece));
        assert_eq!(compiler.finish(), whole, "{page} in pieces of {cut}");
    }
    assert_eq!(told(bytes, &whole.plan(bytes, &visitor())), expected, "{page}");
}

#[test]
fn what_is_no_tag_of_ours_stays_as_it_is() {
    for page in [
        "",
        "<p>a</p>",
        "a < b <<",
        "<!-- a comment -- -->",
        "<esi",
        "<esi:include src=\"/never-closed",
        "<<e<es<esi<!--es",
        "$(HTTP_HOST)",
        "<![CDATA[<esi:include src=\"/a\"/>]]>",
        "<![CDATA[]<esi:remove>]]]>b",
        "<![CDATA[ never closed <esi:include src='/a'/>",
    ] {
        check(page, page);
        assert!(Compiler::compile(page.as_bytes()).is_plain(page.len()), "{page}");
    }
}

#[test]
fn includes_are_holes() {
    check("a<esi:include src=\"/b\"/>c", "a[/b]c");
    check("a<ESI:INCLUDE SRC='/b' ALT='/c' OnError='Continue' />d", "a[/b or /c or nothing]d");
    check("<<esi:include src=/b/>>", "<[/b]>");
    check("<esi:include src=\"/b\"></esi:include>c", "[/b]c");
    check("<esi:include src=\"/b?c=1&amp;d=2\"/>", "[/b?c=1&d=2]");
    check("<esi:include src=\"/b\" ttl=\"5m\"/>", "[/b 300s]");
    check("<esi:include src=\"/b\" cache-control=\"private, max-age=9\"/>", "[/b private 9s]");
    check("<esi:include src=\"/b\" cache-control=\"no-cache\"/>", "[/b not kept]");
    check("<esi:include src=\"/b\" ttl=\"99999999d\"/>", "[/b]");
    check("a<esi:include />b<esi:include src='  '/>c", "abc");
    check("<!-- <esi:include src='/b'/> -->", "<!-- [/b] -->");
    check("<p class=\"<esi:include src='/b'/>\">", "<p class=\"[/b]\">");
}

#[test]
fn what_is_for_others_is_removed_and_what_is_for_us_is_opened() {
    check("a<esi:remove>b<esi:include src='/c'/></esi:remove>d", "ad");
    check("a<esi:remove>b<esi:remove>c</esi:remove>d", "ad");
    check("a<esi:comment text=\"b\"/>c", "ac");
    check("a<!--esi b<esi:include src='/c'/> -->d", "a b[/c] d");
    check("a<!--esi--b--->c-->d", "a--b-c-->d");
    check("a<!--esi b<!--esi c-->d-->", "a b cd-->");
    check("a<!--esi b", "a b");
    check("a<esi:remove>b", "a");
    check("a</esi:remove></esi:vars>b", "ab");
    check("a<esi:unknown>b</esi:unknown>c", "abc");
    check("a<esi:remove/>b", "ab");
}

#[test]
fn parts_that_a_page_brings_itself_are_not_asked_for() {
    check(
        "<esi:inline name='/b' fetchable='yes'>in<esi:vars></esi:inline>a<esi:include src='/b'/>",
        "ain<esi:vars>",
    );
    check("a<esi:include src='/b'/><esi:inline name='/b'>never closed", "a[/b]");
    check("a<esi:inline>b</esi:inline>c", "ac");
}

#[test]
fn variables_are_shown_where_they_may_be() {
    let vars = |inner: &str, expected: &str| {
        check(&format!("<esi:vars>{inner}</esi:vars>"), expected);
    };
    vars("$(HTTP_HOST) $(http_referer)", "a.test http://a.test/");
    vars("$(QUERY_STRING{q})$(QUERY_STRING{x})", "a b&lt;i&gt;");
    vars("$(QUERY_STRING)", "q=a%20b&amp;lang=de&amp;x=&lt;i&gt;");
    vars("$(HTTP_COOKIE{user}) $(HTTP_COOKIE{no}|guest)", "ann guest");
    vars("$(HTTP_COOKIE{no}|'a)b')$(HTTP_COOKIE{no})", "a)b");
    vars("$(HTTP_COOKIE)$(HTTP_COOKIE{sid})$(HTTP_AUTHORIZATION)", "");
    vars("$(HTTP_USER_AGENT{browser})/$(HTTP_USER_AGENT{os})", "MOZILLA/UNIX");
    vars("$(HTTP_USER_AGENT{version})", "5.0");
    vars("$(HTTP_ACCEPT_LANGUAGE{EN}) $(HTTP_ACCEPT_LANGUAGE{fr}|no)", "true no");
    vars("$(HTTP_X_PLAN) $(HTTP_X_OTHER|none)", "gold none");
    vars("$ $( $(HTTP_HOST $(HTTP_COOKIE{a $()", "$ $( $(HTTP_HOST $(HTTP_COOKIE{a $()");
    vars(
        "<esi:include src='/b?u=$(HTTP_COOKIE{user})&q=$(QUERY_STRING{q})'/>",
        "[/b?u=ann&q=a%20b]",
    );
    check("<esi:include src='/b?u=$(HTTP_REFERER)'/>", "[/b?u=http%3A%2F%2Fa.test%2F]");
    check("<esi:include src='/b?s=$(HTTP_COOKIE{sid})'/>", "[/b?s=0123456789abcdef0123456789]");
}

#[test]
fn one_branch_of_a_choice_is_taken() {
    let choose = |first: &str, second: &str, expected: &str| {
        let when = |test: &str, then: &str| format!("<esi:when test=\"{test}\">{then}</esi:when> ");
        let page = format!(
            "<esi:choose>x{}{}<esi:otherwise>other</esi:otherwise></esi:choose>!",
            when(first, "one"),
            when(second, "two")
        );
        check(&page, expected);
    };
    let (yes, no) = ("$(HTTP_COOKIE{user})=='ann'", "$(HTTP_COOKIE{user})=='bob'");
    choose(yes, yes, "one!");
    choose(no, yes, "two!");
    choose(no, no, "other!");
    choose("what?", "", "other!");
    check("<esi:choose><esi:when test=\"1==2\">a</esi:when></esi:choose>b", "b");
    check("<esi:choose><esi:when test='1==1'>a<esi:vars>$(HTTP_HOST)</esi:when>b", "aa.test");
    check("<esi:when test=\"1==2\">a</esi:when><esi:otherwise>b</esi:otherwise>", "ab");
    check(
        "<esi:choose><esi:when test='1==1'><esi:choose><esi:when test='1==2'>a</esi:when>\
         <esi:otherwise>b</esi:otherwise></esi:choose>c</esi:when></esi:choose>d",
        "bcd",
    );
}

#[test]
fn tests_hold_or_do_not() {
    for (test, expected) in [
        ("$(HTTP_COOKIE{user})", true),
        ("$(HTTP_COOKIE{none})", false),
        ("!$(HTTP_COOKIE{none})", true),
        ("$(HTTP_COOKIE{none})==''", true),
        ("$(HTTP_COOKIE{none}|'ann') == $(HTTP_COOKIE{user})", true),
        ("$(HTTP_COOKIE{group})>10", false),
        ("$(HTTP_COOKIE{group})<10", true),
        ("'7a'>'10'", true),
        ("7>=7 & 7<=7", true),
        ("1==1&&1==2", false),
        ("1==1 || 1==2", true),
        ("1==2|1==2|1==1", true),
        ("1==1|1==1&1==2", true),
        ("(1==1|1==1)&1==2", false),
        ("!1==2", true),
        ("!(1==1)", false),
        ("!!(1==1)", true),
        ("1!=2", true),
        ("$(HTTP_ACCEPT_LANGUAGE{de-at})", true),
        ("$(HTTP_USER_AGENT{os})=='UNIX'", true),
        ("'a'=='a", false),
        ("(1==1", false),
        ("1==1)", false),
        ("==1", false),
        ("1==", false),
        ("1 1", false),
        ("1 ! 1", false),
        ("", false),
        ("$(", false),
    ] {
        let page = format!(
            "<esi:choose><esi:when test=\"{test}\">yes</esi:when>\
             <esi:otherwise>no</esi:otherwise></esi:choose>"
        );
        check(&page, if expected { "yes" } else { "no" });
    }
    let long = format!("1{}", "&1".repeat(40));
    check(&format!("<esi:choose><esi:when test='{long}'>a</esi:when></esi:choose>"), "");
}

#[test]
fn a_try_has_two_ways() {
    check(
        "a<esi:try> <esi:attempt>b<esi:include src='/c'/></esi:attempt> \
         <esi:except>d</esi:except> </esi:try>e",
        "a{b[/c]|d}e",
    );
    check("<esi:try><esi:attempt>a", "{a|}");
    check("<esi:attempt>a</esi:attempt>", "a");
    check(
        "<esi:try><esi:attempt><esi:try><esi:attempt>a</esi:attempt></esi:try></esi:attempt>\
         <esi:except>b</esi:except></esi:try>",
        "{{a|}|b}",
    );
}

#[test]
fn what_is_too_much_is_left_out_or_left_alone() {
    let (open, close) = ("<esi:vars>".repeat(20), "</esi:vars>".repeat(20));
    check(&format!("a{open}b{close}c"), "ac");
    let page = "<esi:include src='/b'/>,".repeat(5000);
    let template = Compiler::compile(page.as_bytes());
    assert!(template.is_cut() && template.has_includes());
    let plan = told(page.as_bytes(), &template.plan(page.as_bytes(), &visitor()));
    assert!(plan.ends_with("<esi:include src='/b'/>,") && plan.starts_with("[/b],"));
    let long = format!("<esi:include src='/{}'/>", "b".repeat(9000));
    check(&long, &long);
}

#[test]
fn a_template_says_what_it_needs() {
    for (page, includes, reads) in [
        ("a", false, false),
        ("<esi:remove>a</esi:remove>", false, false),
        ("<esi:include src='/a'/>", true, false),
        ("<esi:include src='/a?$(HTTP_HOST)'/>", true, true),
        ("<esi:vars>a</esi:vars>", false, true),
        ("<esi:choose><esi:when test='1==1'>a</esi:when></esi:choose>", false, true),
    ] {
        let template = Compiler::compile(page.as_bytes());
        assert_eq!(
            (template.has_includes(), template.reads_request()),
            (includes, reads),
            "{page}"
        );
        assert_eq!(template.bytes() > 0, !page.contains("remove"), "{page}");
    }
}
