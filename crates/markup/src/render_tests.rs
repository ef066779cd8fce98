//! What becomes of what somebody wrote, in tables: a dialect's line and its HTML.

use crate::{Dialect, Form, Options, Renderer, Scratch};

fn render(dialect: &str, options: Options, text: &[u8]) -> String {
    let renderer = Renderer::new(Dialect::built_in(dialect).unwrap(), options);
    let mut out = Vec::new();
    renderer.render(text, &mut out);
    String::from_utf8(out).unwrap()
}

fn check(dialect: &str, text: &str, expected: &str) {
    assert_eq!(render(dialect, Options::default(), text.as_bytes()), expected, "{text}");
}

/// A line of vBulletin's, whose HTML is the shortest.
fn line(text: &str, expected: &str) {
    check("vbulletin", text, expected);
}

#[test]
fn text_is_text() {
    line("", "");
    line("plain", "plain");
    line("a < b & \"c\"", "a &lt; b &amp; &quot;c&quot;");
    line("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;");
    line("&lt;b&gt;", "&amp;lt;b&amp;gt;");
    line("one\ntwo\r\nthree\rfour", "one<br>two<br>three<br>four");
    line("a\0b\x08c", "abc");
    line("Привет, 世界", "Привет, 世界");
    line("[nothing] [] [/] [/b] [b", "[nothing] [] [/] [/b] [b");
    assert_eq!(render("vbulletin", Options::default(), b"a\xffb\xc3["), "a?b?[");
}

#[test]
fn tags_wrap_what_is_between() {
    line("[b]a[/b]", "<b>a</b>");
    line("[B]a[/b]", "<b>a</b>");
    line("[b][i]a[/i][/b]", "<b><i>a</i></b>");
    line("[b=1]a[/b]", "[b=1]a[/b]");
    line("[color=red]a[/color]", "<span style=\"color: red\">a</span>");
    line("[color=\"#f00\"]a[/color]", "<span style=\"color: #f00\">a</span>");
    line("[color=red;x:y]a[/color]", "[color=red;x:y]a[/color]");
    line("[size=3]a[/size]", "<span style=\"font-size: medium\">a</span>");
    line("[size=99px]a[/size]", "<span style=\"font-size: 64px\">a</span>");
    line("[font=Arial]a[/font]", "<span style=\"font-family: Arial\">a</span>");
    line("[center]a[/center]\nb", "<div style=\"text-align: center\">a</div>b");
    line("[hr]", "<hr>");
}

#[test]
fn what_nothing_closes_is_text() {
    line("a[i] = b[i]", "a[i] = b[i]");
    line("[b]a", "[b]a");
    line("[b][b]a[/b]", "<b>[b]a</b>");
    line("[code]a", "[code]a");
    line(
        "[quote]a[quote]b[/quote]",
        "<div class=\"bbcode_quote\"><div class=\"quote_container\">a[quote]b</div></div>",
    );
    line(
        "[url=http://a.test]a",
        "[url=<a href=\"http://a.test\" target=\"_blank\" rel=\"nofollow ugc noopener\">http://a.test</a>]a",
    );
}

#[test]
fn misnested_tags_are_closed_and_opened_again() {
    line("[b]a[i]b[/b]c[/i]", "<b>a<i>b</i></b><i>c</i>");
    line("[b]a[i]b[u]c[/b]d[/u]e[/i]", "<b>a<i>b<u>c</u></i></b><i><u>d</u>e</i>");
    line(
        "[center]a[b]b[/center]c[/b]",
        "<div style=\"text-align: center\">a<b>b</b></div><b>c</b>",
    );
    line("[b]a[center]b[/b]c[/center]d", "<b>a<div style=\"text-align: center\">bc</div></b>d");
    line(
        "[b]a[center][b]b[/b]c[/center]d[/b]",
        "<b>a<div style=\"text-align: center\"><b>b</b>c</div>d</b>",
    );
}

#[test]
fn quotes_have_names() {
    let open = "<div class=\"bbcode_quote\"><div class=\"bbcode_postedby\">Originally Posted by ";
    let middle = "</div><div class=\"message\">";
    let check = |tag: &str, name: &str| {
        line(&format!("{tag}x[/quote]"), &format!("{open}{name}{middle}x</div></div>"));
    };
    check("[quote=me]", "me");
    check("[quote=me;123]", "me");
    check("[quote=\"a ] b\"]", "a ] b");
    check("[quote='me' pid='1' dateline='2']", "me");
    check("[quote=a b post_id=1 time=2]", "a b");
    check("[quote author=A B link=topic=1.msg2#msg2 date=3]", "A B");
    check("[quote=\"<b onclick='x'>\"]", "&lt;b onclick=&#39;x&#39;&gt;");
    check("[quote=\"[b]bold[/b]\"]", "[b]bold[/b]");
}

#[test]
fn links_lead_where_they_say() {
    let link = |address: &str, shown: &str| {
        format!("<a href=\"{address}\" target=\"_blank\" rel=\"nofollow ugc noopener\">{shown}</a>")
    };
    line("[url=http://a.test/?b&c]x[/url]", &link("http://a.test/?b&amp;c", "x"));
    line("[url]http://a.test[/url]", &link("http://a.test", "http://a.test"));
    line("[url=a.test]x[/url]", &link("http://a.test", "x"));
    line("[url]http://a.test/?b[]=c[/url]", &link("http://a.test/?b[]=c", "http://a.test/?b[]=c"));
    line("[url=javascript:alert(1)]x[/url]", "[url=javascript:alert(1)]x[/url]");
    line("[url]javascript:alert(1)[/url]", "[url]javascript:alert(1)[/url]");
    line("[email]a@b.test[/email]", &link("mailto:a@b.test", "a@b.test"));
    line("[email=a@b.test]x[/email]", &link("mailto:a@b.test", "x"));
    line(
        "[url=http://a.test][url=http://b.test]x[/url][/url]",
        &format!("{}{}", link("http://a.test", "[url=http://b.test]x[/url]"), ""),
    );
    line(
        "[img]https://a.test/b.png[/img]",
        "<img src=\"https://a.test/b.png\" alt=\"\" loading=\"lazy\">"
            .replace(" alt=\"\" loading=\"lazy\"", " loading=\"lazy\" alt=\"\"")
            .as_str(),
    );
    line("[img]/b.png[/img]", "[img]/b.png[/img]");
    line(
        "[video]https://youtu.be/dQw4w9WgXcQ[/video]",
        "<iframe class=\"restrain\" src=\"https://www.youtube-nocookie.com/embed/dQw4w9WgXcQ\" \
         width=\"640\" height=\"390\" loading=\"lazy\"></iframe>",
    );
    line(
        "[video]https://evil.test/[/video]",
        &format!("[video]{}[/video]", link("https://evil.test/", "https://evil.test/")),
    );
}

#[test]
fn images_stand_where_they_are_put() {
    let image = |class: &str| {
        format!(
            "<img class=\"postImg{class}\" src=\"http://a.test/b.png\" loading=\"lazy\" alt=\"pic\">"
        )
    };
    let tag = |value: &str| format!("[img{value}]http://a.test/b.png[/img]");
    check("torrentpier", &tag(""), &image(""));
    check("torrentpier", &tag("=right"), &image(" postImgAligned img-right"));
    check("torrentpier", &tag("=100x50"), &image(""));
    check("torrentpier", &tag("=\"LEFT\""), &image(" postImgAligned img-left"));
    check("torrentpier", "[clear]", "<div class=\"clear\"></div>");
}

#[test]
fn addresses_in_the_text_become_links() {
    let link = |address: &str, shown: &str| {
        format!("<a href=\"{address}\" target=\"_blank\" rel=\"nofollow ugc noopener\">{shown}</a>")
    };
    line("see http://a.test/b.", &format!("see {}.", link("http://a.test/b", "http://a.test/b")));
    line(
        "(http://a.test/b_(c))",
        &format!("({})", link("http://a.test/b_(c)", "http://a.test/b_(c)")),
    );
    line("www.a.test, ok", &format!("{}, ok", link("http://www.a.test", "www.a.test")));
    line("xhttp://a.test", "xhttp://a.test");
    line("javascript://a.test", "javascript://a.test");
    line("http:// a", "http:// a");
    line("\"http://a.test\"", &format!("&quot;{}&quot;", link("http://a.test", "http://a.test")));
    let long = format!("http://a.test/{}", "x".repeat(80));
    line(&long, &link(&long, &format!("http://a.test/{}…{}", "x".repeat(27), "x".repeat(13))));
    check(
        "mybb",
        "me@a.test.",
        "<a href=\"mailto:me@a.test\" class=\"mycode_url\" target=\"_blank\" \
        rel=\"nofollow ugc noopener\">me@a.test</a>.",
    );
}

#[test]
fn lists_and_tables_hold_their_parts() {
    line("[list][*]a[*]b[/list]", "<ul><li>a</li><li>b</li></ul>");
    line("[list]\n[*]a\n[*]b\n[/list]", "<ul><li>a<br></li><li>b<br></li></ul>");
    line("[list=1][*]a[/list]", "<ol style=\"list-style-type: decimal\"><li>a</li></ol>");
    line("[list=A][*]a[/list]", "<ol style=\"list-style-type: upper-alpha\"><li>a</li></ol>");
    line("[list=x][*]a[/list]", "<ul><li>a</li></ul>");
    line("[list]a[/list]", "<ul><li>a</li></ul>");
    line("[list][*]a[list][*]b[/list]c[/list]", "<ul><li>a<ul><li>b</li></ul>c</li></ul>");
    line("[list][*][b]a[*]b[/b][/list]", "<ul><li><b>a</b></li><li>b[/b]</li></ul>");
    line("[*]a", "[*]a");
    let table = "<table class=\"cms_table\">";
    line(
        "[table][tr][td]a[/td][td]b[/td][/tr][/table]",
        &format!("{table}<tr><td>a</td><td>b</td></tr></table>"),
    );
    line(
        "[table]\n[tr] [td]a\n[td]b[/tr]x[/table]",
        &format!("{table}<tr><td>a<br></td><td>b</td></tr><tr><td>x</td></tr></table>"),
    );
    line("[table]a[/table]", &format!("{table}<tr><td>a</td></tr></table>"));
    line("[table][td]a[/table]", &format!("{table}<tr><td>a</td></tr></table>"));
    line("[tr]a[/tr]", "[tr]a[/tr]");
}

#[test]
fn code_is_shown_as_it_was_written() {
    let code = |content: &str| {
        format!("<div class=\"bbcode_container\"><pre class=\"bbcode_code\">{content}</pre></div>")
    };
    line("[code][b]a[/b] :) http://a.test[/code]", &code("[b]a[/b] :) http://a.test"));
    line("[code]\na\n b[/code]", &code("a\n b"));
    line("[code]\n\na[/code]", &code("\n\na"));
    line("[code]<b>[/code]", &code("&lt;b&gt;"));
    line("[code]a[code]b[/code]c[/code]", &format!("{}c[/code]", code("a[code]b")));
    line("[b][code][/b][/code]x[/b]", &format!("<b>{}x</b>", code("[/b]")));
    line("[noparse][b]a[/b]\nb[/noparse]", "[b]a[/b]<br>b");
}

#[test]
fn what_depends_on_the_viewer_is_left_to_the_site() {
    line(
        "[hide]secret[/hide]a[hide=5]more[/hide]",
        "<span data-bbcode=\"hide\" data-number=\"0\"></span>a\
         <span data-bbcode=\"hide\" data-value=\"5\" data-number=\"1\"></span>",
    );
    line(
        "[attach=12]a.txt[/attach]",
        "<span data-bbcode=\"attach\" data-value=\"12\">a.txt</span>",
    );
    line("[mention=\"5\" x]a[/mention]", "<span data-bbcode=\"mention\" data-value=\"5\">a</span>");
}

#[test]
fn smilies_stand_where_they_are_meant() {
    let smiley = "<img class=\"inlineimg\" src=\"/images/smilies/smile.png\" alt=\":)\">";
    line("a :) b", &format!("a {smiley} b"));
    line(":)", smiley);
    line("a:)", "a:)");
    line("[b]:)[/b]", &format!("<b>{smiley}</b>"));
    let off = Options { smilies: false, ..Options::default() };
    assert_eq!(render("vbulletin", off, b":)"), ":)");
}

#[test]
fn newlines_beside_blocks() {
    check(
        "torrentpier",
        "a\n\n[quote]\nb\n[/quote]\n\nc\n\n\nd\ne",
        "a<div class=\"q-wrap\"><div class=\"q\">b</div></div>c\
         <span class=\"post-br\"><br></span>d<br>e",
    );
    check("mybb", "[hr]\n\na", "<hr class=\"mycode_hr\"><br>a");
    check("phpbb3", "a\nb", "a<br>b");
    check("torrentpier", "[pre]\na\n  b[/pre]", "<pre class=\"post-pre\">\na\n  b</pre>");
}

#[test]
fn what_phpbb_stores_is_read() {
    check(
        "phpbb3",
        "[b:1a2b3c4d]a[/b:1a2b3c4d] [i]b[/i]",
        "<strong class=\"text-strong\">a</strong> [i]b[/i]",
    );
    check(
        "phpbb3",
        "[quote=&quot;A &amp; B&quot;:1a2b3c4d]x[/quote:1a2b3c4d]",
        "<blockquote><div><cite>A &amp; B wrote:</cite>x</div></blockquote>",
    );
    check(
        "phpbb3",
        "[list=1:1a2b3c4d][*:1a2b3c4d]a[/*:m:1a2b3c4d][*:1a2b3c4d]b[/*:m:1a2b3c4d][/list:o:1a2b3c4d]",
        "<ol style=\"list-style-type: decimal\"><li>a</li><li>b</li></ol>",
    );
    check(
        "phpbb3",
        "[url=http&#58;//a&#46;test/:1a2b3c4d]x[/url:1a2b3c4d]",
        "<a href=\"http://a.test/\" class=\"postlink\" rel=\"nofollow ugc noopener\">x</a>",
    );
    check(
        "phpbb3",
        "<!-- s:D --><img src=\"{SMILIES_PATH}/icon_e_biggrin.gif\" alt=\":D\" title=\"x\" /><!-- s:D -->",
        "<img class=\"smilies\" src=\"/images/smilies/icon_e_biggrin.gif\" alt=\":D\">",
    );
    check(
        "phpbb3",
        "<!-- m --><a class=\"postlink\" href=\"http://a.test/?b&amp;c\">http://a.test/</a><!-- m -->",
        "<a href=\"http://a.test/?b&amp;c\" class=\"postlink\" rel=\"nofollow ugc noopener\">http://a.test/</a>",
    );
    check(
        "phpbb3",
        "<!-- e --><a href=\"mailto:a@b.test\">a@b.test</a><!-- e -->",
        "<a href=\"mailto:a@b.test\" class=\"postlink\" rel=\"nofollow ugc noopener\">a@b.test</a>",
    );
    check("phpbb3", "<!-- m --><a href=\"javascript:alert(1)\">x</a><!-- m -->", "x");
    check("phpbb3", "&lt;script&gt; &amp;lt; &copy;", "&lt;script&gt; &amp;lt; &amp;copy;");
    check("phpbb3", "<script>", "&lt;script&gt;");
    check(
        "phpbb2",
        "[code:1:1a2b3c4d5e]&lt;[b][/code:1:1a2b3c4d5e]",
        "<div class=\"codebox\"><b class=\"genmed\">Code:</b><pre class=\"code\">&lt;[b]</pre></div>",
    );
    check(
        "phpbb2",
        "[quote:1a2b3c4d5e=\"me\"]x[/quote:1a2b3c4d5e][url]a.test[/url]",
        "<div class=\"quotebox\"><b class=\"genmed\">me wrote:</b><div class=\"quote\">x</div></div>\
         <a href=\"http://a.test\" class=\"postlink\" target=\"_blank\" rel=\"nofollow ugc noopener\">a.test</a>",
    );
    let typed = Options { form: Some(Form::Typed), ..Options::default() };
    assert_eq!(render("phpbb3", typed, b"[s]a&amp;[/s]"), "<s>a&amp;amp;</s>");
    check(
        "smf",
        "[url=http://a.test/?b&amp;c]&quot;x&quot;[/url]",
        "<a href=\"http://a.test/?b&amp;c\" class=\"bbc_link\" target=\"_blank\" \
         rel=\"nofollow ugc noopener\">&quot;x&quot;</a>",
    );
    check(
        "smf",
        "[list][li]a[/li]\n[li]b[/li][/list]",
        "<ul class=\"bbc_list\"><li>a</li><li>b</li></ul>",
    );
}

#[test]
fn what_smf_stores_is_read() {
    check("smf", "a<br />b<br>c\nd", "a<br>b<br>c<br>d");
    check(
        "smf",
        "[code]a<br />&lt;b[/code]",
        "<div class=\"codeheader\">Code</div><pre class=\"bbc_code\">a\n&lt;b</pre>",
    );
    check("smf", "a<br /onclick=x>", "a&lt;br /onclick=x&gt;");
    check("vbulletin", "a<br />b", "a&lt;br /&gt;b");
    check(
        "phpbb3",
        "[attachment=0:1a2b3c4d]<!-- ia0 -->a.txt<!-- ia0 -->[/attachment:1a2b3c4d]",
        "<span data-bbcode=\"attachment\" data-value=\"0\">a.txt</span>",
    );
}

#[test]
fn a_text_that_is_too_long_is_escaped_and_nothing_else() {
    let renderer = Renderer::new(Dialect::built_in("vbulletin").unwrap(), Options::default());
    let mut out = Vec::new();
    let text = "[b]<[/b]".repeat(crate::TEXT_BYTES_MAX / 8 + 1);
    assert_eq!(renderer.render(text.as_bytes(), &mut out).too_much, 1);
    assert!(out.starts_with(b"[b]&lt;[/b][b]") && out.ends_with(b"[b]&lt;[/b]"));
}

#[test]
fn what_goes_too_deep_is_text() {
    let renderer = Renderer::new(Dialect::built_in("vbulletin").unwrap(), Options::default());
    let text = format!("{}x{}", "[b]".repeat(40), "[/b]".repeat(40));
    let mut out = Vec::new();
    let rendered = renderer.render(text.as_bytes(), &mut out);
    let expected = format!(
        "{}{}x{}{}",
        "<b>".repeat(32),
        "[b]".repeat(8),
        "[/b]".repeat(8),
        "</b>".repeat(32)
    );
    assert_eq!(String::from_utf8(out).unwrap(), expected);
    assert_eq!(rendered.too_deep, 8);
}

#[test]
fn a_rendering_is_appended_and_buffers_are_used_again() {
    let renderer = Renderer::new(Dialect::built_in("torrentpier").unwrap(), Options::default());
    let mut scratch = crate::Scratch::default();
    let mut out = b"<p>".to_vec();
    for text in ["[b]a[/b][quote=x]", "[list][*]b[/list]"] {
        renderer.render_with(&mut scratch, text.as_bytes(), &mut out);
    }
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "<p><span class=\"post-b\">a</span>[quote=x]<ul><li>b</li></ul>"
    );
}

#[test]
fn a_key_is_another_for_whatever_changes_the_html() {
    let key = |dialect: &str, options, text: &[u8]| {
        Renderer::new(Dialect::read(dialect).unwrap(), options).key(text)
    };
    let mybb = crate::BUILT_IN[0].1;
    let first = key(mybb, Options::default(), b"a");
    assert_eq!(first, key(mybb, Options::default(), b"a"));
    let pack = mybb.replace("smile.png", "grin.png");
    let version = mybb.replace("[smilies]", "[smilies]\nversion = 2");
    let others = [
        key(mybb, Options::default(), b"b"),
        key(mybb, Options { smilies: false, ..Options::default() }, b"a"),
        key(mybb, Options { links: false, ..Options::default() }, b"a"),
        key(mybb, Options { images: false, ..Options::default() }, b"a"),
        key(mybb, Options { form: Some(Form::Escaped), ..Options::default() }, b"a"),
        key(&pack, Options::default(), b"a"),
        key(&version, Options::default(), b"a"),
        key(crate::BUILT_IN[1].1, Options::default(), b"a"),
    ];
    let mut all = others.map(|key| key.0).to_vec();
    all.push(first.0);
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), others.len() + 1);
}

#[test]
fn what_was_rendered_before_makes_no_difference() {
    let texts = [
        "[quote=\"a\"][b]c[/quote][/b] [hide]x[/hide]",
        "[img]javascript:x[/img] [b=1]x[/b]",
        "[list][*]a[/list] www.a.test :) [url]http://b.test[/url]",
        "[b][i][u]never closed",
        "[b=1] [code][/b][/code]",
        "",
        "[/b][/quote] & < > \" '",
        "[img]javascript:x[/img] [img]http://a.test/b[/img] [b=1]x[/b] [b]x[/b]",
    ];
    let renderer = Renderer::new(Dialect::built_in("torrentpier").unwrap(), Options::default());
    let mut scratch = Scratch::default();
    for before in texts {
        for text in texts {
            renderer.render_with(&mut scratch, before, &mut Vec::new());
            let (mut fresh, mut again, mut unread) = (Vec::new(), Vec::new(), Vec::new());
            let rendered = renderer.render(text, &mut fresh);
            assert_eq!(renderer.render_with(&mut scratch, text, &mut again), rendered, "{text}");
            renderer.render(text.as_bytes(), &mut unread);
            assert_eq!((&again, &unread), (&fresh, &fresh), "{before} {text}");
        }
    }
}
