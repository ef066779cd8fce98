//! Lines as apps ship them, and what is said of them.

use super::*;
use crate::{report, write};

fn import(text: &str) -> Imported {
    read(&Source { name: "/srv/.htaccess".into(), text: text.into() })
}

#[test]
fn each_line_is_told_for_what_it_is() {
    for (text, why, advice) in [
        ("RewriteRule . /index.php [L]", Why::NotNeeded, "so does Wick"),
        ("RewriteRule ^(.*)$ index.php?q=$1 [L,QSA]", Why::NotNeeded, "so does Wick"),
        ("RewriteRule ^index\\.php$ - [L]", Why::NotNeeded, "so does Wick"),
        (
            "RewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]",
            Why::NotNeeded,
            "Authorization",
        ),
        (
            "RewriteCond %{HTTPS} off\nRewriteRule ^ https://%{HTTP_HOST}%{REQUEST_URI} [R=301,L]",
            Why::NotNeeded,
            "to HTTPS by itself",
        ),
        ("RewriteRule ^(.*)$ http://www.a.test/$1 [R]", Why::Cannot, "nobody elsewhere"),
        ("RewriteRule ^old/(.*) /new/$1", Why::Cannot, "rewrites no addresses"),
        ("RewriteRule ^data/ - [F]", Why::Protection, "Require all denied"),
        ("RewriteRule (^|/)\\. - [F]", Why::NotNeeded, "begins with a dot"),
        ("Deny from all", Why::NotNeeded, "obeys it"),
        ("Require all denied", Why::NotNeeded, "obeys it"),
        ("Require ip 10.0.0.0/8", Why::Protection, "lets everybody in"),
        ("Allow from 10.0.0.1", Why::Protection, "lets everybody in"),
        ("AuthType Basic", Why::Protection, "no password"),
        ("Require valid-user", Why::Protection, "no password"),
        ("Options -Indexes +FollowSymLinks", Why::NotNeeded, "no listings"),
        ("Options +ExecCGI", Why::Cannot, "nothing but PHP"),
        ("DirectoryIndex index.php index.html", Why::NotNeeded, "are looked for"),
        ("DirectoryIndex app.php", Why::Cannot, "only index.php"),
        ("php_value upload_max_filesize 64M", Why::Cannot, ".user.ini"),
        (
            "ExpiresByType text/css \"access plus 1 month\"",
            Why::Cannot,
            "let the app send these fields",
        ),
        ("Header set X-A \"b c\"", Why::Cannot, "let the app send these fields"),
        ("Redirect 301 /a /b", Why::Cannot, "nobody elsewhere"),
        ("ErrorDocument 404 /404.php", Why::Cannot, "error pages"),
        ("AddOutputFilterByType DEFLATE text/html", Why::NotNeeded, "compresses by itself"),
        ("<If \"%{HTTP_HOST} == 'a'\">", Why::Unknown, "no such questions"),
        ("Frobnicate on", Why::Unknown, "means nothing"),
        ("Options \\\n  -Indexes", Why::NotNeeded, "no listings"),
    ] {
        let imported = import(text);
        let [left] = imported.left.as_slice() else { panic!("{text}: {:?}", imported.left) };
        assert!(left.why == why && left.advice.contains(advice), "{text}: {left:?}");
    }
    for text in ["", "# a", "<IfModule mod_rewrite.c>\n</IfModule>", "\\", "\"", "\\\n\\\n"] {
        let left = import(text).left;
        assert!(left.is_empty() || text == "\"", "{text:?}: {left:?}");
    }
}

#[test]
fn the_folder_is_the_site_and_values_stay_secret() {
    let imported = import("LimitRequestBody 1048576\n\n\nSetEnv DB_PASSWORD hush\n");
    let told = format!("{}{}", write(&imported), report(&imported));
    assert!(told.contains("[limits]\n# /srv/.htaccess:1") && told.contains("origin = \"/srv\""));
    assert!(told.contains("/srv/.htaccess:4: SetEnv DB_PASSWORD …"), "{told}");
    assert!(!told.contains("hush"));
}
