//! Tables for shapes, verbs, preferences and sessions in URLs, as real apps write them.

use super::*;

#[test]
fn pages_of_one_kind_have_one_shape() {
    for (targets, expected) in [
        (&["/", "/?"][..], "/"),
        (&["/login"], "/login"),
        (&["/user/register"], "/user/register"),
        (&["/post/1", "/post/2", "/post/9999"], "/post/*"),
        (&["/wiki/Some_Page", "/wiki/Other", "/wiki/%C3%9Cber"], "/wiki/*"),
        (&["/topic/my-first-post", "/topic/12-a-title"], "/topic/*"),
        (&["/2024/05/hello-world/", "/2023/12/a-title/"], "/*/*/*/"),
        (&["/node/5/edit"], "/node/*/edit"),
        (&["/u/a1b2c3d4/posts"], "/u/*/posts"),
        (&["/v2/docs", "/v2/docs?"], "/v2/docs"),
        (&["/category/News%20Stuff/page/2"], "/category/*/page/*"),
        (&["/my-first-post"], "/my-first-post"),
        (&["/a-title-of-more-than-24-letters"], "/*"),
        (&["/style/main.css"], "/style/main.css"),
        (&["/img/photo-12345.jpg", "/img/20240501.png"], "/img/*"),
        (&["/index.php/topic/12", "/index.php/topic/13"], "/index.php/topic/*"),
        (&["/index2.php", "/index3.php"], "/index*.php"),
        (&["/list;jsessionid=0123456789ABCDEF"], "/list;*"),
        (&["//a//"], "//a//"),
        (&["", "?"], ""),
        (&["*"], "*"),
    ] {
        for target in targets {
            assert_eq!(shape(target), expected, "{target:?}");
        }
    }
}

#[test]
fn parameters_are_sorted_and_keep_verbs_and_routes() {
    for (target, expected) in [
        ("/viewtopic.php?t=5&f=2", "/viewtopic.php?f=*&t=*"),
        ("/viewtopic.php?f=3&t=77", "/viewtopic.php?f=*&t=*"),
        ("/index.php?action=profile;u=5", "/index.php?action=profile&u=*"),
        (
            "/index.php?route=product/product&product_id=40",
            "/index.php?product_id=*&route=product/product",
        ),
        ("/index.php?route=product%2Fproduct", "/index.php?route=product/product"),
        ("/index.php?title=Main_Page&action=history", "/index.php?action=history&title=*"),
        ("/index.php?title=main", "/index.php?title=*"),
        ("/doku.php?id=start&do=edit", "/doku.php?do=edit&id=*"),
        ("/?q=delete&Search=x&S=1", "/?S=*&Search=*&q=*"),
        ("/?do=Edit", "/?do=*"),
        ("/?do=x", "/?do=*"),
        ("/?do=aaaaaaaaaaaaaaaaaaaaaaaaa", "/?do=*"),
        ("/?a=", "/?a=*"),
        ("/?a", "/?a"),
        ("/?a&a&b=1&b=2", "/?a&b=*"),
        ("/?f[12]=x&f[13]=yy", "/?f[*]=*&f[*]=yy"),
        ("/?1700000000", "/?*"),
        ("/?0123456789abcdef0123456789abcdef=1", "/?*=*"),
        ("/?post/delete/5", "/?post/delete/*"),
        ("/?%22%3E=1", "/?*=*"),
    ] {
        assert_eq!(shape(target), expected, "{target:?}");
    }
}

#[test]
fn a_shape_is_never_long() {
    let many: String = (0..200).map(|at| format!("&{}=x", "a".repeat(at % 20 + 1))).collect();
    assert!(shape(&format!("/x?{many}")).len() <= 512);
    let many: String =
        ('a'..='z').map(|letter| format!("&{letter}=some_long_route/value")).collect();
    assert_eq!(shape(&format!("/x/5?{many}")), "/x/*?…");
    for segment in ["/a", "/é", "/", "/…"] {
        let long = shape(&format!("{}?a=b", segment.repeat(3_000)));
        assert!(long.len() <= 512 && long.contains('…'), "{long}");
    }
}

fn check_verbs(table: &[(&str, &str)]) {
    for (target, verb) in table {
        assert_eq!(forbidden_verb(target), Some(*verb), "{target:?}");
    }
}

#[test]
fn a_verb_in_the_path_forbids_the_page() {
    check_verbs(&[
        ("/delete", "delete"),
        ("/delete.php", "delete"),
        ("/delete.php?id=5", "delete"),
        ("/delete_post.php", "delete"),
        ("/d%65lete/5", "delete"),
        ("/user/edit", "edit"),
        ("/edit/Some_Page", "edit"),
        ("/node/5/edit", "edit"),
        ("/node/add", "add"),
        ("/post/5/Delete", "delete"),
        ("/post/5/delete?x=1", "delete"),
        ("/post/5/like", "like"),
        ("/like/5", "like"),
        ("/comment/7/report", "report"),
        ("/user/logout", "logout"),
        ("/user/log_out", "logout"),
        ("/user/sign-out", "signout"),
        ("/vote.php?id=1", "vote"),
        ("/rate.php", "rate"),
        ("/install.php", "install"),
        ("/wp-cron.php", "cron"),
        ("/cron.php", "cron"),
        ("/lib/exe/taskrunner.php?id=start", "taskrunner"),
        ("/bbs/logout.php", "logout"),
        ("/unsubscribe/abc", "unsubscribe"),
        ("/delete.html", "delete"),
        ("/delete;x=1", "delete"),
    ]);
}

#[test]
fn a_verb_in_the_query_forbids_the_page() {
    check_verbs(&[
        ("/index.php?action=logout;sesc=1", "logout"),
        ("/index.php?action=markasread;sa=board", "markasread"),
        ("/misc.php?action=markread", "markread"),
        ("/member.php?action=logout&logoutkey=1", "logout"),
        ("/login.php?action=out&id=2", "logout"),
        ("/login.php?logout=1", "logout"),
        ("/index.php?page=logout", "logout"),
        ("/index.php?page=delete_user", "delete"),
        ("/misc.php?report=5", "report"),
        ("/?what=like&id=5", "like"),
        ("/?kind=like&id=5", "like"),
        ("/?do=edit", "edit"),
        ("/?do=EDIT", "edit"),
        ("/?do=e%64it", "edit"),
        ("/doku.php?id=start&do=edit", "edit"),
        ("/index.php?title=Delete&action=purge", "purge"),
        ("/?action=delete_post", "delete"),
        ("/?action=delete-post", "delete"),
        ("/?action=post_delete", "delete"),
        ("/?action=deletePost", "delete"),
        ("/picture.php?/5/category/3&action=add_to_favorites", "add"),
        ("/?act=dispMemberLogout", "logout"),
        ("/?act=procBoardVoteDocument", "proc"),
        ("/?delete=5", "delete"),
        ("/?delete[]=5", "delete"),
        ("/?add-to-cart=7", "addtocart"),
        ("/?remove_item=0a1b", "removeitem"),
        ("/?wc-ajax=add_to_cart", "addtocart"),
        ("/viewtopic.php?t=5&watch=topic", "watch"),
        ("/index.php?mark=forums", "mark"),
        ("/index.php?route=account/logout", "logout"),
        ("/index.php?route=account%2Flogout", "logout"),
        ("/index.php?route=checkout/cart.add", "add"),
        ("/index.php?route=checkout/checkout", "checkout"),
        ("/index.php?task=article.edit", "edit"),
        ("/?r=post/delete/5", "delete"),
        ("/?post/delete/5", "delete"),
        ("/?logout", "logout"),
        ("/?doing_wp_cron=1", "doingwpcron"),
    ]);
}

#[test]
fn a_word_that_is_a_topic_forbids_nothing() {
    for target in [
        "/",
        "",
        "*",
        "/add-ons",
        "/addons/list",
        "/wiki/Delete",
        "/wiki/Edit",
        "/wiki/Edit_war",
        "/category/edit-wars",
        "/category/Delete",
        "/blog/how-to-delete-a-file",
        "/docs/install",
        "/docs/v2/install",
        "/docs/upgrade/",
        "/annual/report",
        "/report",
        "/buy",
        "/buy/houses",
        "/watch?v=abc",
        "/checkout/cart",
        "/updates",
        "/editor",
        "/deleted-scenes",
        "/topic/12/some-title",
        "/login.php",
        "/register",
        "/install.txt",
        "/style/edit.css",
        "/search?q=delete",
        "/search?query=edit&s=remove",
        "/index.php?title=Delete",
        "/doku.php?id=delete",
        "/?tag=logout",
        "/?sort=update",
        "/?order=vote",
        "/?orderby=add_date",
        "/?page=install",
        "/?page=add-ons",
        "/?category=edit-wars",
        "/?kind=edit-wars",
        "/?act=search",
        "/?action=post",
        "/?action=new",
        "/?do=print",
        "/?view=last_update",
        "/?action=register",
        "/?replytocom=5",
        "/index.php?route=checkout/cart",
        "/index.php?route=product/product&product_id=5",
        "/?act=dispBoardContent&document_srl=5",
        "/?kind=annual_report",
        "/?text=please+delete",
        "/?x=how_to_delete_my_old_account_quickly",
        "/?submit=Search&q=x",
    ] {
        assert_eq!(forbidden_verb(target), None, "{target:?}");
    }
}

#[test]
fn parameters_that_choose_how_the_site_is_shown_are_known() {
    for (target, expected) in [
        ("/?lang=de", true),
        ("/a?x=1&Language=de", true),
        ("/a?x=1;theme=dark", true),
        ("/?device=mobile", true),
        ("/?mobile", true),
        ("/?setlang=de", true),
        ("/?set_lang=de", true),
        ("/?uselang=de", true),
        ("/?change-language=de", true),
        ("/?l%61ng=de", true),
        ("/?currency=EUR", true),
        ("/", false),
        ("/lang=de", false),
        ("/?sort=up", false),
        ("/?per_page=50", false),
        ("/?slang=x", false),
        ("/?x=lang", false),
        ("/?languages=x", false),
        ("/?set=1", false),
    ] {
        assert_eq!(may_set_preference(target), expected, "{target:?}");
    }
}

#[test]
fn a_list_is_where_something_was_chosen_from() {
    for (target, expected) in [
        ("/issues?sort=id", Some("/issues")),
        (
            "/projects/p/issues?utf8=%E2%9C%93&set_filter=1&f%5B%5D=status",
            Some("/projects/p/issues"),
        ),
        ("/shop?page=2&items_per_page=50", Some("/shop")),
        ("/?OrderBy=price", Some("/")),
        ("/issues?page=2", None),
        ("/issues?q=sort", None),
        ("/resort?assorted=1", None),
        ("/sort", None),
    ] {
        assert_eq!(list_chosen_from(target), expected, "{target}");
    }
}

#[test]
fn a_session_in_a_url_is_seen() {
    let cookies: [&[u8]; 2] = [b"forum_token", b"OCSESSID"];
    let is_app = |name: &[u8]| cookies.iter().any(|cookie| is_named_after(name, cookie));
    for (target, expected) in [
        ("/?PHPSESSID=0123456789abcdef", true),
        ("/?phpsessid=0123456789abcdef", true),
        ("/x?a=1&sid=01234567", true),
        ("/x?a=1;PHPSESSID=01234567", true),
        ("/list;jsessionid=0123456789ABCDEF", true),
        ("/list;jsessionid=0123456789ABCDEF?x=1", true),
        ("/list;jsessionid=0123456789ABCDEF/more", true),
        ("/?forum_token=01234567", true),
        ("/?token=01234567", true),
        ("/?OCSESSID=01234567", true),
        ("/?ocsessid=01234567", false),
        ("/?forum=01234567", false),
        ("/?sid=0123456", false),
        ("/?sid=12", false),
        ("/?sid", false),
        ("/?x=sid=0123456789", false),
        ("/?xsid=0123456789", false),
        ("/?=0123456789", false),
        ("/", false),
    ] {
        assert_eq!(names_session(target, is_app), expected, "{target:?}");
    }
    assert!(!is_named_after(b"", b"x_") && !is_named_after(b"b", b"a_b_c"));
}

#[test]
fn what_looks_like_one_persons_secret_is_told_from_titles_and_numbers() {
    for (target, names, bears) in [
        ("/members/?token=KQwJ8n3pX2vR5tY7&action=signin", true, true),
        ("/login?login_token=0123456789abcdef0123456789abcdef", true, true),
        ("/callback?code=4/0AX4XfWh8kZ2m1n3b5v7c9&state=x", true, true),
        ("/r/cafe?m=550e8400-e29b-41d4-a716-446655440000", false, true),
        ("/reset/MQ/c8x3a5-0123456789abcdef0123456789abcdef/", false, true),
        ("/topic/10-ways-to-win-in-2024-and-beyond", false, false),
        ("/topic?code=the-code-of-conduct-of-2024", false, false),
        ("/item?key=00001234567890123456", false, false),
        ("/item?key=short1", false, false),
        ("/search?q=0123456789abcdef0123456789abcdef", false, true),
        ("/?token", false, false),
        ("/", false, false),
    ] {
        assert_eq!((names_secret(target), bears_drawn(target)), (names, bears), "{target:?}");
    }
}
